//! `m3svm man`.

use anyhow::Context;

use crate::{args, print};

pub(crate) fn run(command: Option<&str>) -> anyhow::Result<()> {
    let mut program = args::command();
    // Names of commands become `m3svm train`, and the global options appear everywhere.
    program.build();
    let page = match command {
        None => program,
        Some(name) => program.find_subcommand(name).with_context(|| format!("there is no command `{name}`"))?.clone(),
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    print(&String::from_utf8(text)?)
}
