//! `m3svm export`.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, bail};
use m3svm::Model;
use m3svm_export::export;

use crate::args::ExportArgs;
use crate::files::check_outputs;

pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let options = args.options()?;
    check_outputs(&[("export", args.output.as_deref())], &[&args.model], false)?;
    if args.output.is_none() && !args.format.is_text() && io::stdout().is_terminal() {
        bail!("the format {} is not for terminals; name a file with -o", args.format.name());
    }
    let content = export(&Model::load(&args.model)?, args.format, &options)?;
    match &args.output {
        Some(path) => Ok(m3svm::write_file(path, |out| out.write_all(&content))?),
        None => {
            let mut out = io::stdout().lock();
            out.write_all(&content).and_then(|()| out.flush()).context("standard output")
        }
    }
}
