//! `m3svm-deep evaluate`: what a trained network is worth.

use anyhow::{Result, ensure};
use burn_core::tensor::backend::AutodiffBackend;
use m3svm::text::digits;
use m3svm_burn::head_margins;

use crate::args::EvaluateArgs;
use crate::backend::{self, Work};
use crate::checkpoint::{self, Header};
use crate::data::{ImageSet, shape};
use crate::progress::say;
use crate::training::{Loaded, evaluate};

pub(crate) fn run(args: EvaluateArgs) -> Result<()> {
    let set = args.data.read()?;
    backend::with(args.backend, Evaluation { args: &args, set: &set })
}

struct Evaluation<'a> {
    args: &'a EvaluateArgs,
    set: &'a ImageSet,
}

impl Work for Evaluation<'_> {
    fn run<B: AutodiffBackend>(self, device: B::Device) -> Result<()> {
        let (header, network) = checkpoint::load_network::<B::InnerBackend>(&self.args.checkpoint, &device)?;
        suits(&header, self.set)?;
        let data = Loaded::<B>::new(self.set, header.settings.validation, &device);
        let (loss, accuracy) = evaluate(&network, data.test(), &device);
        say(&format!("test accuracy      {accuracy:.4}"));
        say(&format!("mean cross-entropy {loss:.4}"));
        let (c, margins) = (self.set.classes.len(), head_margins(&network.head));
        let smallest = (0..c * c).filter(|at| at / c < at % c).min_by(|a, b| margins[*a].total_cmp(&margins[*b]));
        if let Some(at) = smallest {
            let (k, l) = (&self.set.classes[at / c], &self.set.classes[at % c]);
            say(&format!("smallest margin    {}, between {k} and {l}", digits(margins[at], 4)));
        }
        Ok(())
    }
}

/// Refuses images that the network was not made for.
pub(crate) fn suits(header: &Header, set: &ImageSet) -> Result<()> {
    ensure!(
        header.shape == set.train.shape,
        "the network takes images of {}, not {}",
        shape(header.shape),
        shape(set.train.shape)
    );
    ensure!(header.classes == set.classes, "the network was trained on other classes");
    Ok(())
}
