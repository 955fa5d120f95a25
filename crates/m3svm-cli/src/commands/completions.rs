//! `m3svm completions`.

use crate::{args, print};

pub(crate) fn run(shell: clap_complete::Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "m3svm", &mut script);
    print(&String::from_utf8(script)?)
}
