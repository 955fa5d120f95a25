//! What is attacked: problems that are small enough to be looked at closely, and of every kind of awkwardness.

use m3svm::loss::{PairwiseLogistic, SmoothHinge, TopKHinge};
use m3svm::penalty::{ElasticNet, NoPenalty, Norm, Pairwise};
use m3svm::{AnyLoss, AnyPenalty, AnySolver, Gamma, Kernel, Method, Scaling, Spec};

use crate::common::{Problem, Random};

pub(super) struct Target {
    pub(super) problem: Problem,
    pub(super) spec: Spec,
    pub(super) sparse: bool,
    /// What is awkward about it.
    pub(super) what: &'static str,
}

impl Target {
    pub(super) fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (c, n) = (2 + random.below(3), 4 + random.below(14));
        let d = [1, 2, 3, 5, 8, 20][random.below(6)];
        let distance = [0.0, 0.3, 1.0, 4.0][random.below(4)];
        let mut problem = Problem::clouds(seed, n.max(c), d, c, distance);
        let what = spoil(&mut problem, &mut random);
        if random.below(3) == 0 {
            let weight = |random: &mut Random| [1.0, 0.01, 3.7, 1e4 * random.uniform(), 1e4][random.below(5)];
            problem.weights = Some((0..problem.n).map(|_| weight(&mut random)).collect());
        }
        let mut spec = settings(&problem, &mut random);
        let kernels = spec.penalty.as_dyn().rotation_invariant();
        if kernels && random.below(4) == 0 {
            spec.kernel = kernel(&problem, &mut random);
        }
        if spec.kernel == Kernel::Precomputed {
            precompute(&mut problem);
        }
        Self { problem, spec, sparse: random.below(3) == 0, what }
    }

    pub(super) fn method(&self) -> &'static str {
        Method::of(&self.spec).map_or("nameless", Method::name)
    }
}

/// Makes a problem awkward, and says how.
fn spoil(problem: &mut Problem, random: &mut Random) -> &'static str {
    let (n, d) = (problem.n, problem.d);
    let (from, to) = (random.below(d), random.below(d));
    let x = &mut problem.x;
    match random.below(11) {
        0 => {
            (0..n).for_each(|i| x[i * d + to] = -2.0 * x[i * d + from]);
            "collinear columns"
        }
        1 => {
            (0..n).for_each(|i| x[i * d + to] = 3.0);
            "a constant column"
        }
        2 => {
            (0..n).for_each(|i| x[i * d + to] = 0.0);
            "a column of zeros"
        }
        3 => {
            // The same rows, with other labels.
            let (first, half) = (x[..d].to_vec(), n / 2);
            (0..half).for_each(|i| x[i * d..(i + 1) * d].copy_from_slice(&first));
            "rows alike"
        }
        4 => {
            x[..d].fill(0.0);
            "a row of zeros"
        }
        5 => {
            let scale = 10f64.powf(-2.0 - 6.0 * random.uniform());
            x.iter_mut().for_each(|x| *x *= scale);
            "tiny features"
        }
        6 => {
            let scale = 10f64.powf(2.0 + 4.0 * random.uniform());
            x.iter_mut().for_each(|x| *x *= scale);
            "huge features"
        }
        7 => {
            for j in 0..d {
                let scale = 10f64.powf(-4.0 + 8.0 * random.uniform());
                (0..n).for_each(|i| x[i * d + j] *= scale);
            }
            "features of all scales"
        }
        8 => {
            x.iter_mut().for_each(|x| *x += 1e3);
            "far from the origin"
        }
        _ => "nothing awkward",
    }
}

fn kernel(problem: &Problem, random: &mut Random) -> Kernel {
    // In proportion to what the features are, and wide of it.
    let square = problem.x.iter().map(|x| x * x).sum::<f64>() / problem.n as f64;
    let size = if square > 0.0 { square } else { 1.0 };
    let wide = 10f64.powf(-2.0 + 3.0 * random.uniform());
    match random.below(6) {
        0 | 1 => Kernel::Rbf { gamma: Gamma::Value(wide / size) },
        2 => Kernel::Laplacian { gamma: Gamma::Value(wide / size.sqrt()) },
        3 => {
            let (degree, coef0) = (1 + random.below(4) as u32, [0.0, 1.0, 0.3][random.below(3)]);
            Kernel::Polynomial { degree, gamma: Gamma::Value(wide / size), coef0 }
        }
        4 => Kernel::Cosine,
        _ => Kernel::Precomputed,
    }
}

/// Puts products of rows in the place of the rows: of whole numbers, so that it is a kernel to the last digit.
fn precompute(problem: &mut Problem) {
    let top = problem.x.iter().fold(1e-300f64, |top, x| top.max(x.abs()));
    let whole: Vec<f64> = problem.x.iter().map(|x| (x / top * 64.0).round()).collect();
    let row = |i: usize| &whole[i * problem.d..(i + 1) * problem.d];
    let (n, product) = (problem.n, |i, j| crate::common::dot(row(i), row(j)) + 1.0);
    problem.x = (0..n * n).map(|at| product(at / n, at % n)).collect();
    problem.d = n;
}

fn settings(problem: &Problem, random: &mut Random) -> Spec {
    let method = Method::ALL[random.below(Method::ALL.len())];
    let mut spec = method.spec().with_usual_lambda();
    let lambda = 10f64.powf(-6.0 + 7.0 * random.uniform());
    let delta = [0.0, 0.0, 1e-3, 0.1, 1.0][random.below(5)];
    spec.penalty = match spec.penalty {
        AnyPenalty::Pairwise(_) => {
            let norm = if random.below(4) == 0 { Norm::L1 } else { Norm::L2 };
            let p = [1.0, 1.5, 2.0, 4.0, f64::INFINITY][random.below(if norm == Norm::L1 { 4 } else { 5 })];
            AnyPenalty::Pairwise(Pairwise::new(norm, lambda, p))
        }
        other => other.with_lambda(lambda),
    };
    spec.loss = match spec.loss {
        AnyLoss::SmoothHinge(_) => AnyLoss::SmoothHinge(SmoothHinge { delta }),
        AnyLoss::TopKHinge(top) => {
            let k = if top.k > 1 { 2.min(problem.c - 1) } else { 1 };
            AnyLoss::TopKHinge(TopKHinge { k, delta })
        }
        other => other,
    };
    // Combinations that have no name.
    match random.below(12) {
        0 => spec.penalty = AnyPenalty::None(NoPenalty {}),
        1 if spec.penalty.as_dyn().separable().is_none() => {
            spec.loss = AnyLoss::PairwiseLogistic(PairwiseLogistic {});
        }
        2..=4 if spec.penalty.as_dyn().separable().is_some() => {
            let (lambda, l1_ratio) = (spec.penalty.lambda().unwrap_or(1.0), [0.05, 0.5, 0.95][random.below(3)]);
            spec.penalty = AnyPenalty::ElasticNet(ElasticNet { lambda, l1_ratio });
        }
        _ => {}
    }
    // Now and then by another solver than the usual one.
    let solver = match random.below(12) {
        0 if spec.penalty.as_dyn().separable().is_none() => AnySolver::Lbfgs(m3svm::solver::Lbfgs::default()),
        1 if spec.penalty.as_dyn().separable().is_none() => crate::common::newton(),
        _ => AnySolver::Auto,
    };
    let max_iter = matches!(solver, AnySolver::Lbfgs(_)).then_some(300);
    let epsilon = [1e-6, 1e-6, 1e-3, 1e-1][random.below(4)];
    let intercept = random.below(4) > 0;
    Spec { scaling: Scaling::None, epsilon, intercept, solver, max_iter, ..spec }
}
