//! Options that become a [`Spec`].

use anyhow::bail;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use m3svm::penalty::{Lasso, NoPenalty, Norm, Pairwise, Ridge};
use m3svm::select::{Grid, Values};
use m3svm::solver::Adam;
use m3svm::text::plain;
use m3svm::{AnyLoss, AnyPenalty, AnySolver, ClassWeight, Method, Scaling, Spec};

use super::count;

/// What to train. Options that are not given keep the value of [`Spec::default`].
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct SpecArgs {
    #[arg(long, value_name = "NAME", value_parser = named(Method::ALL.map(|m| (m.name(), m))),
        help = method_help(), hide_possible_values = true)]
    method: Option<Method>,
    #[arg(long, value_name = "P", allow_negative_numbers = true, help = or("Power of the penalty; large P lifts the smallest margin", plain(Pairwise::default().p)))]
    p: Option<Values>,
    #[arg(long, value_name = "L", allow_negative_numbers = true, help = lambda_help())]
    lambda: Option<Values>,
    #[arg(long, value_name = "D", allow_negative_numbers = true, help = delta_help())]
    delta: Option<f64>,
    #[arg(long, value_name = "K", allow_negative_numbers = true, help = or("How many of the best classes count (topk)", 2))]
    k: Option<i128>,
    #[arg(long, value_name = "E", allow_negative_numbers = true, help = or("Tiny quadratic term that makes the optimum unique", plain(Spec::default().epsilon)))]
    epsilon: Option<f64>,
    #[arg(long, value_name = "NAME", value_parser = named(PenaltyName::ALL),
        help = "Penalty, instead of the method's own: distances of class vectors in the norm l2 or l1, plain ridge, lasso, or none")]
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
    #[arg(long, value_name = "T", allow_negative_numbers = true, help = or("Relative duality gap at which to stop", plain(Spec::default().tol)), help_heading = "Solver")]
    tol: Option<f64>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = max_iter_help(), help_heading = "Solver")]
    max_iter: Option<i128>,
    #[arg(long, value_name = "R", allow_negative_numbers = true, help = or("Step size of adam", plain(Adam::default().learning_rate)), help_heading = "Solver")]
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
        for (name, values) in [("p", &self.p), ("lambda", &self.lambda)] {
            if values.as_ref().is_some_and(|values| values.as_slice().len() > 1) {
                bail!("`--{name}` takes one number here; `m3svm tune` tries several");
            }
        }
        let spec = self.with_first_values()?;
        spec.check()?;
        Ok(spec)
    }

    /// The settings and the values of λ and p to try, not checked yet.
    pub(crate) fn searched(&self) -> anyhow::Result<(Spec, Grid)> {
        let spec = self.with_first_values()?;
        let usual = Grid::for_spec(&spec);
        let grid = Grid { lambdas: self.lambda.clone().or(usual.lambdas), ps: self.p.clone().or(usual.ps) };
        Ok((spec, grid))
    }

    fn with_first_values(&self) -> anyhow::Result<Spec> {
        let method = self.method.unwrap_or_default();
        let base = method.spec();
        Ok(Spec {
            scheme: base.scheme,
            loss: self.loss(method, base.loss)?,
            penalty: self.penalty(method, base.penalty)?,
            epsilon: self.epsilon.unwrap_or(base.epsilon),
            intercept: !self.no_intercept,
            scaling: self.scale.unwrap_or(base.scaling),
            class_weight: self.class_weight.clone().unwrap_or(base.class_weight),
            solver: self.solver()?,
            tol: self.tol.unwrap_or(base.tol),
            max_iter: self.max_iter.map(|n| count("max-iter", n)).transpose()?.or(base.max_iter),
            seed: self.seed.map(|n| count("seed", n)).transpose()?.map_or(base.seed, |n| n as u64),
        })
    }

    fn loss(&self, method: Method, mut loss: AnyLoss) -> anyhow::Result<AnyLoss> {
        match (&mut loss, self.delta) {
            (_, None) => {}
            (AnyLoss::SmoothHinge(hinge), Some(delta)) => hinge.delta = delta,
            (AnyLoss::TopKHinge(hinge), Some(delta)) => hinge.delta = delta,
            _ => bail!("`--delta` is the smoothing of a hinge, the method {} has none", method.name()),
        }
        match (method, &mut loss, self.k) {
            (_, _, None) => {}
            (Method::Topk, AnyLoss::TopKHinge(hinge), Some(k)) => hinge.k = count("k", k)?,
            _ => bail!("`--k` belongs to the method topk, the method is {}", method.name()),
        }
        Ok(loss)
    }

    fn penalty(&self, method: Method, own: AnyPenalty) -> anyhow::Result<AnyPenalty> {
        let base = Pairwise::default();
        let first = |values: &Option<Values>| values.as_ref().map(|values| values.as_slice()[0]);
        let lambda = first(&self.lambda).or(own.lambda());
        let mut penalty = match self.penalty {
            None => own,
            Some(PenaltyName::L2) => AnyPenalty::Pairwise(Pairwise::new(Norm::L2, base.lambda, base.p)),
            Some(PenaltyName::L1) => AnyPenalty::Pairwise(Pairwise::new(Norm::L1, base.lambda, base.p)),
            Some(PenaltyName::Ridge) => AnyPenalty::Ridge(Ridge { lambda: base.lambda }),
            Some(PenaltyName::Lasso) => AnyPenalty::Lasso(Lasso { lambda: base.lambda }),
            Some(PenaltyName::None) => AnyPenalty::None(NoPenalty {}),
        };
        if let Some(p) = first(&self.p) {
            if penalty.p().is_none() {
                let of = if self.penalty.is_some() { "this penalty" } else { method.name() };
                bail!("`--p` is the power of distances of class vectors, {of} has none");
            }
            penalty = penalty.with_p(p);
        }
        if self.lambda.is_some() && penalty.lambda().is_none() {
            bail!("`--lambda` is the strength of a penalty, the penalty is none");
        }
        Ok(lambda.map_or(penalty, |lambda| penalty.with_lambda(lambda)))
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
    Lasso,
    None,
}

impl PenaltyName {
    const ALL: [(&'static str, Self); 5] =
        [("l2", Self::L2), ("l1", Self::L1), ("ridge", Self::Ridge), ("lasso", Self::Lasso), ("none", Self::None)];
}

/// Accepts the names of things and gives the things.
pub(super) fn named<T, const N: usize>(all: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.clone().map(|(name, _)| name)).try_map(move |typed| {
        let found = all.iter().find(|(name, _)| *name == typed);
        found.map(|(_, value)| value.clone()).ok_or("unknown name")
    })
}

pub(super) fn class_weight(typed: &str) -> Result<ClassWeight, String> {
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
pub(super) fn or(text: &str, default: impl std::fmt::Display) -> String {
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

fn method_help() -> String {
    let each: Vec<String> = Method::ALL.iter().map(|m| format!("{}: {}", m.name(), m.summary())).collect();
    format!("Method [default: {}]\n{}", Method::default().name(), each.join("\n"))
}

fn lambda_help() -> String {
    default_by_method("Strength of the penalty", |spec| spec.penalty.lambda())
}

fn delta_help() -> String {
    default_by_method("Smoothing of the hinge, 0 for the exact one", |spec| match spec.loss {
        AnyLoss::SmoothHinge(hinge) => Some(hinge.delta),
        AnyLoss::TopKHinge(hinge) => Some(hinge.delta),
        _ => None,
    })
}

/// A help text that ends with the default of the default method and where others have another one.
fn default_by_method(text: &str, of: impl Fn(&Spec) -> Option<f64>) -> String {
    let usual = of(&Method::default().spec());
    let mut others: Vec<(f64, Vec<&str>)> = Vec::new();
    for method in Method::ALL {
        let Some(value) = of(&method.spec()).filter(|value| Some(*value) != usual) else { continue };
        match others.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) => names.push(method.name()),
            None => others.push((value, vec![method.name()])),
        }
    }
    let others: Vec<String> =
        others.into_iter().map(|(value, names)| format!("{} for {}", plain(value), names.join(" "))).collect();
    or(text, [vec![usual.map_or(String::new(), plain)], others].concat().join(", "))
}
