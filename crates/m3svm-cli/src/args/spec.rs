//! Options that become a [`Spec`].

use anyhow::bail;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use m3svm::penalty::{NoPenalty, Norm, Pairwise, Ridge};
use m3svm::solver::Adam;
use m3svm::{AnyLoss, AnyPenalty, AnySolver, ClassWeight, Method, Scaling, Spec};

use super::count;

/// What to train. Options that are not given keep the value of [`Spec::default`].
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct SpecArgs {
    #[arg(long, value_name = "NAME", value_parser = named(Method::ALL.map(|m| (m.name(), m))),
        help = or("Method: the loss", Method::default().name()))]
    method: Option<Method>,
    #[arg(long, value_name = "P", allow_negative_numbers = true, help = or("Power of the penalty; large P lifts the smallest margin", number(Pairwise::default().p)))]
    p: Option<f64>,
    #[arg(long, value_name = "L", allow_negative_numbers = true, help = or("Strength of the penalty", number(Pairwise::default().lambda)))]
    lambda: Option<f64>,
    #[arg(long, value_name = "D", allow_negative_numbers = true, help = or("Smoothing of the hinge (m3svm), 0 for the exact hinge", number(default_delta())))]
    delta: Option<f64>,
    #[arg(long, value_name = "E", allow_negative_numbers = true, help = or("Tiny quadratic term that makes the optimum unique", number(Spec::default().epsilon)))]
    epsilon: Option<f64>,
    #[arg(long, value_name = "NAME", value_parser = named(PenaltyName::ALL),
        help = or("Penalty: distances of class vectors in this norm, plain ridge, or none", "l2"))]
    penalty: Option<PenaltyName>,
    /// Leave out the intercepts
    #[arg(long)]
    no_intercept: bool,
    #[arg(long, value_name = "NAME", value_parser = named(Scaling::ALL.map(|s| (s.name(), s))),
        help = or("Scaling of the features", Scaling::default().name()))]
    scale: Option<Scaling>,
    /// Weights of classes: `balanced`, or NAME=W,NAME=W where the others count 1
    #[arg(long, value_name = "W", value_parser = class_weight)]
    class_weight: Option<ClassWeight>,
    #[arg(long, value_name = "NAME", value_parser = named(AnySolver::examples().map(|s| (s.name(), s))),
        help = or("Solver", AnySolver::default().name()), help_heading = "Solver")]
    solver: Option<AnySolver>,
    #[arg(long, value_name = "T", allow_negative_numbers = true, help = or("Relative duality gap at which to stop", number(Spec::default().tol)), help_heading = "Solver")]
    tol: Option<f64>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = max_iter_help(), help_heading = "Solver")]
    max_iter: Option<i128>,
    #[arg(long, value_name = "R", allow_negative_numbers = true, help = or("Step size of adam", number(Adam::default().learning_rate)), help_heading = "Solver")]
    learning_rate: Option<f64>,
    /// Rows per step of adam [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Solver")]
    batch: Option<i128>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = or("Seed of the order of rows in adam", Spec::default().seed), help_heading = "Solver")]
    seed: Option<i128>,
}

impl SpecArgs {
    /// The settings, checked.
    pub(crate) fn spec(&self) -> anyhow::Result<Spec> {
        let base = Spec::default();
        let spec = Spec {
            loss: self.loss()?,
            penalty: self.penalty()?,
            epsilon: self.epsilon.unwrap_or(base.epsilon),
            intercept: !self.no_intercept,
            scaling: self.scale.unwrap_or(base.scaling),
            class_weight: self.class_weight.clone().unwrap_or(base.class_weight),
            solver: self.solver()?,
            tol: self.tol.unwrap_or(base.tol),
            max_iter: self.max_iter.map(|n| count("max-iter", n)).transpose()?.or(base.max_iter),
            seed: self.seed.map(|n| count("seed", n)).transpose()?.map_or(base.seed, |n| n as u64),
        };
        spec.check()?;
        Ok(spec)
    }

    fn loss(&self) -> anyhow::Result<AnyLoss> {
        let method = self.method.unwrap_or_default();
        let mut loss = method.loss();
        match (&mut loss, self.delta) {
            (_, None) => {}
            (AnyLoss::SmoothHinge(hinge), Some(delta)) => hinge.delta = delta,
            _ => bail!("`--delta` belongs to the method m3svm, the method is {}", method.name()),
        }
        Ok(loss)
    }

    fn penalty(&self) -> anyhow::Result<AnyPenalty> {
        let base = Pairwise::default();
        let lambda = self.lambda.unwrap_or(base.lambda);
        let pairwise = |norm| AnyPenalty::Pairwise(Pairwise::new(norm, lambda, self.p.unwrap_or(base.p)));
        let name = match self.penalty {
            None => return Ok(pairwise(base.norm)),
            Some(PenaltyName::L2) => return Ok(pairwise(Norm::L2)),
            Some(PenaltyName::L1) => return Ok(pairwise(Norm::L1)),
            Some(name) => name,
        };
        if self.p.is_some() {
            bail!("`--p` belongs to the penalties l2 and l1");
        }
        if name == PenaltyName::Ridge {
            return Ok(AnyPenalty::Ridge(Ridge { lambda }));
        }
        if self.lambda.is_some() {
            bail!("`--lambda` is the strength of a penalty, the penalty is none");
        }
        Ok(AnyPenalty::None(NoPenalty {}))
    }

    fn solver(&self) -> anyhow::Result<AnySolver> {
        let mut solver = self.solver.unwrap_or_default();
        if let AnySolver::Adam(adam) = &mut solver {
            adam.learning_rate = self.learning_rate.unwrap_or(adam.learning_rate);
            adam.batch = self.batch.map(|n| count("batch", n)).transpose()?.or(adam.batch);
        } else if self.learning_rate.is_some() || self.batch.is_some() {
            let option = if self.batch.is_some() { "batch" } else { "learning-rate" };
            bail!("`--{option}` belongs to the solver adam, the solver is {}", solver.name());
        }
        Ok(solver)
    }
}

/// The penalties as they are typed: the pairwise one goes by its norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PenaltyName {
    L2,
    L1,
    Ridge,
    None,
}

impl PenaltyName {
    const ALL: [(&'static str, Self); 4] =
        [("l2", Self::L2), ("l1", Self::L1), ("ridge", Self::Ridge), ("none", Self::None)];
}

/// Accepts the names of things and gives the things.
fn named<T, const N: usize>(all: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.clone().map(|(name, _)| name)).try_map(move |typed| {
        let found = all.iter().find(|(name, _)| *name == typed);
        found.map(|(_, value)| value.clone()).ok_or("unknown name")
    })
}

fn class_weight(typed: &str) -> Result<ClassWeight, String> {
    if typed == "balanced" {
        return Ok(ClassWeight::Balanced);
    }
    let each = typed.split(',').map(|part| {
        let (name, weight) =
            part.rsplit_once('=').ok_or_else(|| format!("expected `balanced` or NAME=WEIGHT, found `{part}`"))?;
        let weight: f64 =
            weight.trim().parse().map_err(|_| format!("the weight of `{name}` is not a number: `{weight}`"))?;
        Ok((m3svm_io::canonical_label(name.trim()), weight))
    });
    each.collect::<Result<_, String>>().map(ClassWeight::Each)
}

/// A help text that ends with the default.
fn or(text: &str, default: impl std::fmt::Display) -> String {
    format!("{text} [default: {default}]")
}

fn max_iter_help() -> String {
    let each = AnySolver::examples()
        .iter()
        .skip(1)
        .map(|s| format!("{} {}", s.default_max_iter(), s.name()))
        .collect::<Vec<_>>();
    or("Most iterations", each.join(", "))
}

fn default_delta() -> f64 {
    m3svm::loss::SmoothHinge::default().delta
}

/// A setting as people write it: 0.001, but 1e-6.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}
