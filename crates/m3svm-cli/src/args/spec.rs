//! Options that become a [`Spec`].

use anyhow::bail;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use m3svm::penalty::Pairwise;
use m3svm::select::{Grid, GridValues};
use m3svm::text::plain;
use m3svm::{AnyPenalty, AnySolver, ClassWeight, Gamma, Kernel, Method, Scaling, Spec};

use super::count;
use super::parameters::ParameterArgs;

/// What to train. Options that are not given keep the value of [`Spec::default`].
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct SpecArgs {
    #[arg(long, value_name = "NAME", value_parser = named(Method::ALL.map(|m| (m.name(), m))),
        help = method_help(), hide_possible_values = true)]
    method: Option<Method>,
    #[arg(long, value_name = "P", allow_negative_numbers = true, help = or("Power of the penalty; large P lifts the smallest margin, and inf is about nothing else", plain(Pairwise::default().p)))]
    p: Option<GridValues>,
    #[arg(long, value_name = "L", allow_negative_numbers = true, value_parser = lambda, help = lambda_help())]
    lambda: Option<LambdaValues>,
    #[arg(long, value_name = "E", allow_negative_numbers = true, help = or("Tiny quadratic term that makes the optimum unique", plain(Spec::default().epsilon)))]
    epsilon: Option<f64>,
    #[arg(long, value_name = "NAME", value_parser = named(AnyPenalty::NAMED),
        help = "Penalty, instead of the method's own: distances of class vectors in the norm l2 or l1, plain ridge, lasso, elastic-net, or none")]
    penalty: Option<AnyPenalty>,
    #[arg(long, value_name = "NAME", value_parser = named(KERNELS), hide_possible_values = true, help = kernel_help())]
    kernel: Option<Kernel>,
    /// Gamma of the kernels rbf, polynomial and laplacian: `scale` (1/(features × variance)), `auto` (1/features), or a number
    /// [default: scale]
    #[arg(long, value_name = "G", allow_negative_numbers = true, value_parser = gamma)]
    gamma: Option<GammaValues>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = or("Degree of the polynomial kernel", 3))]
    degree: Option<i128>,
    #[arg(long, value_name = "C", allow_negative_numbers = true, help = or("Constant of the polynomial kernel", 0))]
    coef0: Option<f64>,
    /// Most training rows that the kernel is approximated by [default: exact, while the memory budget has room for it]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    rank: Option<i128>,
    /// Allow no slack: the class vectors nearest to each other that give every row the highest score at its own class. With
    /// `--p inf` their smallest margin is the largest there is
    #[arg(long)]
    hard_margin: bool,
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
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = or("Seed of the order of rows in adam", Spec::default().seed), help_heading = "Solver")]
    seed: Option<i128>,
    #[command(flatten)]
    numbers: ParameterArgs,
}

impl SpecArgs {
    /// The settings, checked.
    pub(crate) fn spec(&self) -> anyhow::Result<Spec> {
        for (name, values) in [("p", self.p.as_ref()), ("lambda", self.lambdas())] {
            if values.is_some_and(|values| values.as_slice().len() > 1) {
                bail!("`--{name}` takes one number here; `m3svm tune` tries several");
            }
        }
        if matches!(&self.gamma, Some(GammaValues::Numbers(values)) if values.as_slice().len() > 1) {
            bail!("`--gamma` takes one value here; `m3svm tune` tries several");
        }
        if self.hard_margin && self.lambda.is_some() {
            bail!("`--lambda` weighs slack against margins, with `--hard-margin` there is none");
        }
        let spec = self.with_first_values()?;
        spec.check()?;
        Ok(spec)
    }

    /// Values of λ, where they are typed.
    fn lambdas(&self) -> Option<&GridValues> {
        match &self.lambda {
            Some(LambdaValues::Numbers(values)) => Some(values),
            Some(LambdaValues::Auto) | None => None,
        }
    }

    /// The settings and the values of λ and p to try, not checked yet.
    pub(crate) fn searched(&self) -> anyhow::Result<(Spec, Grid)> {
        if self.hard_margin {
            bail!("`--hard-margin` leaves no lambda to choose; it goes with `m3svm train`");
        }
        if matches!(self.lambda, Some(LambdaValues::Auto)) {
            bail!("`--lambda auto` is for `m3svm train`; leave `--lambda` out here, or type the values to try");
        }
        let spec = self.with_first_values()?;
        // Settings of the grid take its place; whoever reads the search should see a number.
        let spec = if spec.chooses_lambda() { spec.with_usual_lambda() } else { spec };
        let usual = Grid::for_spec(&spec);
        let gammas = match &self.gamma {
            Some(GammaValues::Numbers(values)) if values.as_slice().len() > 1 => Some(values.clone()),
            _ => None,
        };
        let grid = Grid {
            // Who types values wants those.
            extends: self.lambdas().is_none(),
            lambdas: self.lambdas().cloned().or(usual.lambdas),
            ps: self.p.clone().or(usual.ps),
            gammas,
        };
        Ok((spec, grid))
    }

    fn with_first_values(&self) -> anyhow::Result<Spec> {
        let method = self.method.unwrap_or_default();
        let base = method.spec();
        let (mut loss, mut penalty, mut solver) =
            (base.loss, self.penalty(method, base.penalty)?, self.solver.unwrap_or_default());
        self.numbers.apply(method, &mut loss, &mut penalty, &mut solver)?;
        Ok(Spec {
            scheme: base.scheme,
            loss,
            penalty,
            kernel: self.kernel()?,
            rank: self.rank.map(|n| count("rank", n)).transpose()?,
            hard_margin: self.hard_margin,
            epsilon: self.epsilon.unwrap_or(base.epsilon),
            intercept: !self.no_intercept,
            scaling: self.scale.unwrap_or(base.scaling),
            class_weight: self.class_weight.clone().unwrap_or(base.class_weight),
            solver,
            tol: self.tol.unwrap_or(base.tol),
            max_iter: self.max_iter.map(|n| count("max-iter", n)).transpose()?.or(base.max_iter),
            seed: self.seed.map(|n| count("seed", n)).transpose()?.map_or(base.seed, |n| n as u64),
        })
    }

    fn penalty(&self, method: Method, own: AnyPenalty) -> anyhow::Result<AnyPenalty> {
        let first = |values: Option<&GridValues>| values.map(|values| values.as_slice()[0]);
        let lambda = first(self.lambdas()).or(own.lambda());
        // Another penalty begins with the strength of the method's own.
        let mut penalty = self.penalty.unwrap_or(own);
        if let Some(p) = first(self.p.as_ref()) {
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

    fn kernel(&self) -> anyhow::Result<Kernel> {
        let mut kernel = self.kernel.unwrap_or_default();
        if let Some(gamma) = self.gamma.as_ref().map(GammaValues::first) {
            if kernel.gamma().is_none() {
                bail!(
                    "`--gamma` belongs to the kernels rbf, polynomial and laplacian, the kernel is {}",
                    kernel.name()
                );
            }
            kernel = kernel.with_gamma(gamma);
        }
        match &mut kernel {
            Kernel::Polynomial { degree, coef0, .. } => {
                if let Some(n) = self.degree {
                    *degree = u32::try_from(count("degree", n)?).unwrap_or(u32::MAX);
                }
                *coef0 = self.coef0.unwrap_or(*coef0);
            }
            other if self.degree.is_some() || self.coef0.is_some() => {
                let option = if self.degree.is_some() { "degree" } else { "coef0" };
                bail!("`--{option}` belongs to the kernel polynomial, the kernel is {}", other.name());
            }
            _ => {}
        }
        Ok(kernel)
    }
}

/// Kernels by the names that are typed.
const KERNELS: [(&str, Kernel); 7] = [
    ("linear", Kernel::ALL[0]),
    ("rbf", Kernel::ALL[1]),
    ("polynomial", Kernel::ALL[2]),
    ("poly", Kernel::ALL[2]),
    ("laplacian", Kernel::ALL[3]),
    ("cosine", Kernel::ALL[4]),
    ("precomputed", Kernel::ALL[5]),
];

/// Values of λ as they are typed.
#[derive(Clone, Debug)]
enum LambdaValues {
    Auto,
    Numbers(GridValues),
}

fn lambda(typed: &str) -> Result<LambdaValues, String> {
    match typed {
        "auto" => Ok(LambdaValues::Auto),
        numbers => numbers.parse().map(LambdaValues::Numbers).map_err(|e: m3svm::Error| e.to_string()),
    }
}

/// Values of γ as they are typed.
#[derive(Clone, Debug)]
enum GammaValues {
    Named(Gamma),
    Numbers(GridValues),
}

impl GammaValues {
    fn first(&self) -> Gamma {
        match self {
            Self::Named(gamma) => *gamma,
            Self::Numbers(values) => Gamma::Value(values.as_slice()[0]),
        }
    }
}

fn gamma(typed: &str) -> Result<GammaValues, String> {
    match Gamma::parse(typed) {
        Some(gamma @ (Gamma::Scale | Gamma::Auto)) => Ok(GammaValues::Named(gamma)),
        _ => typed.parse().map(GammaValues::Numbers).map_err(|e: m3svm::Error| format!("{e}, `scale` or `auto`")),
    }
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

fn kernel_help() -> String {
    let names: Vec<&str> = Kernel::ALL.iter().map(|kernel| kernel.name()).collect();
    or(&format!("Kernel, for scores that are not linear: {}", names.join(", ")), Kernel::default().name())
}

fn method_help() -> String {
    let each: Vec<String> = Method::ALL.iter().map(|m| format!("{}: {}", m.name(), m.summary())).collect();
    format!("Method [default: {}]\n{}", Method::default().name(), each.join("\n"))
}

fn lambda_help() -> String {
    or("Strength of the penalty; `auto` chooses it by a short cross-validation", "auto")
}

/// A help text that ends with the default of the default method and where others have another one.
pub(super) fn default_by_method(text: &str, of: impl Fn(&Spec) -> Option<f64>) -> String {
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
