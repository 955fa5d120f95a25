//! Whoever finds a point below a lower bound has broken the certificate. Random problems over all methods, among them degenerate ones, are
//! fitted, and solvers that know nothing of the library's look for such points; what counts is the objective of [`crate::exact`].
//!
//! `make attack COUNT=100000 SEED=1` runs as many as one likes and prints a table.

mod problems;
mod solvers;

use std::collections::BTreeMap;

use m3svm::{Certificate, Spec};
use rayon::prelude::*;
use twofloat::TwoFloat;

use crate::common::{Problem, newton, theta};
use crate::exact::{exact, gram, kernel_objective, objective};
use crate::kernel::{feature_space, jacobi};
use problems::Target;

/// How an attack on one bound went.
struct Outcome {
    method: &'static str,
    kernel: &'static str,
    certificate: Certificate,
    tol: f64,
    /// The lowest point that was found, and whether solvers of our own took part.
    lowest: TwoFloat,
    /// The same without any point that the library has found.
    alone: TwoFloat,
    what: String,
}

impl Outcome {
    fn bound(&self) -> f64 {
        self.certificate.lower_bound.unwrap_or(f64::NEG_INFINITY)
    }

    fn is_broken(&self) -> bool {
        self.lowest < exact(self.bound())
    }

    /// How far above the bound the lowest point is, relative to it.
    fn distance(&self, point: TwoFloat) -> f64 {
        f64::from(point - self.bound()) / self.certificate.objective.max(f64::MIN_POSITIVE)
    }
}

/// Fits a problem and attacks the bounds of the fits.
fn attack(seed: u64) -> Vec<Outcome> {
    let target = Target::random(seed);
    let Target { problem, spec, sparse, what } = &target;
    let data = if *sparse { problem.csr() } else { problem.dense() };
    let fits: Vec<_> = [1e-4, 1e-8, 1e-12].into_iter().filter_map(|tol| fit(spec, tol, &data)).collect();
    // With a kernel a point is a coefficient for every row instead of a weight for every feature.
    let values = (!spec.kernel.is_linear()).then(|| gram(spec.kernel, problem));
    let value = |theta: &[f64]| match &values {
        None => objective(problem, spec, theta),
        Some(values) => kernel_objective(problem, spec, values, theta),
    };
    let lower = |a: TwoFloat, b: TwoFloat| if b < a { b } else { a };
    let m = spec.scheme.scorers(problem.c);
    let size = if values.is_some() { problem.n } else { problem.d };
    let start = vec![0.0; (size + usize::from(spec.intercept)) * m];
    // Models without intercepts have zeros for them, which are none to move.
    let point = |model: &m3svm::Model| match model.expansion() {
        None => theta(model)[..start.len()].to_vec(),
        Some(kept) => {
            let mut point = start.clone();
            for (row, a) in kept.rows().iter().zip(kept.coefficients().chunks_exact(m)) {
                point[*row as usize * m..][..m].copy_from_slice(a);
            }
            if spec.intercept {
                point[size * m..].copy_from_slice(model.intercept());
            }
            point
        }
    };
    let fitted: Vec<Vec<f64>> = fits.iter().map(|(_, model)| point(model)).collect();
    let mut alone = value(&start);
    let best = match &values {
        None => solvers::descend(problem, spec, &start),
        Some(values) => {
            let matrix: Vec<f64> = values.iter().map(|v| v.hi()).collect();
            let (found, to_rows) = feature_space(problem, jacobi(matrix, problem.n));
            to_rows(&solvers::descend(&found, spec, &start), m)
        }
    };
    // Not lower than anything if it is no number.
    alone = lower(alone, value(&best));
    let mut lowest = alone;
    for theta in &fitted {
        lowest = lower(lowest, value(theta));
    }
    // From the best of all points on, in small moves that only the exact objective judges.
    let points = fitted.into_iter().chain([best]).filter(|point| value(point) >= exact(0.0));
    let from = points.min_by(|a, b| value(a).partial_cmp(&value(b)).unwrap()).unwrap_or(start);
    let (polished, _) = solvers::polish(&from, &value, seed);
    lowest = lower(lowest, value(&polished));
    let outcome = |(tol, model): &(f64, m3svm::Model)| Outcome {
        method: target.method(),
        kernel: spec.kernel.name(),
        certificate: *model.certificate(),
        tol: *tol,
        lowest,
        alone,
        what: format!("seed {seed}, {what}, n {}, d {}, c {}: {spec:?}", problem.n, problem.d, problem.c),
    };
    fits.iter().map(outcome).collect()
}

/// A fit at such a tolerance, unless the problem is one that is refused.
fn fit(spec: &Spec, tol: f64, data: &m3svm::Dataset<'_>) -> Option<(f64, m3svm::Model)> {
    Spec { tol, ..spec.clone() }.fit(data).ok().map(|model| (tol, model))
}

/// What became of all attacks on one method.
#[derive(Default)]
struct Row {
    attacks: usize,
    proven: usize,
    broken: usize,
    /// The least distances of the lowest points, with the library's own and without, of fits to twelve digits.
    closest: f64,
    alone: Vec<f64>,
}

/// A line for all attacks of one kind.
fn table(outcomes: &[Outcome], kind: &str, of: fn(&Outcome) -> &'static str) -> String {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for outcome in outcomes {
        let row = rows.entry(of(outcome)).or_insert_with(|| Row { closest: f64::INFINITY, ..Row::default() });
        row.attacks += 1;
        row.broken += usize::from(outcome.is_broken());
        row.proven += usize::from(outcome.certificate.relative_gap().is_some_and(|gap| gap <= outcome.tol));
        row.closest = row.closest.min(outcome.distance(outcome.lowest));
        row.alone.push(outcome.distance(outcome.alone));
    }
    let mut out = format!(
        "{:<12} {:>9} {:>9} {:>7} {:>15} {:>15}\n",
        kind, "attacks", "proven", "broken", "closest", "median, alone"
    );
    for (name, mut row) in rows {
        row.alone.sort_by(f64::total_cmp);
        let median = row.alone[row.alone.len() / 2];
        let Row { attacks, proven, broken, closest, .. } = row;
        out += &format!("{name:<12} {attacks:>9} {proven:>9} {broken:>7} {closest:>15.1e} {median:>15.1e}\n");
    }
    out
}

fn asked(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

#[test]
fn no_attack_gets_below_a_bound() {
    let (count, first) = (asked("M3SVM_ATTACKS", 240), asked("M3SVM_SEED", 1) << 32);
    let mut outcomes = Vec::new();
    // In pieces, to be seen getting on.
    for from in (0..count).step_by(5000) {
        let seeds = first + from..first + count.min(from + 5000);
        outcomes.par_extend(seeds.into_par_iter().flat_map_iter(attack));
        let broken = outcomes.iter().filter(|outcome| outcome.is_broken()).count();
        eprintln!("{} problems, {} bounds, {broken} broken", count.min(from + 5000), outcomes.len());
    }
    eprintln!("{}", table(&outcomes, "method", |it| it.method));
    eprintln!("{}", table(&outcomes, "kernel", |it| it.kernel));
    let broken: Vec<String> = outcomes
        .iter()
        .filter(|outcome| outcome.is_broken())
        .map(|it| format!("{:?} by {:e}, {}", it.certificate, -it.distance(it.lowest), it.what))
        .collect();
    crate::common::none(&broken);
    // An attack that never gets near proves nothing.
    let mut near: Vec<f64> = outcomes.iter().map(|it| it.distance(it.alone)).collect();
    near.sort_by(f64::total_cmp);
    assert!(near[near.len() / 2] < 1e-4, "half of the attacks did not get nearer than {:e}", near[near.len() / 2]);
}

/// Whatever lifts a bound that is tight is found out.
#[test]
fn a_bound_that_is_lifted_by_a_billionth_is_broken() {
    let outcomes: Vec<Outcome> = (7 << 32..(7 << 32) + 60u64).into_par_iter().flat_map_iter(attack).collect();
    let is_tight = |it: &&Outcome| it.certificate.relative_gap().is_some_and(|gap| gap <= 1e-10) && it.bound() > 0.0;
    let tight: Vec<&Outcome> = outcomes.iter().filter(is_tight).collect();
    assert!(tight.len() > 30, "{}", tight.len());
    for it in tight {
        assert!(!it.is_broken() && it.lowest < exact(it.bound() * (1.0 + 1e-9)), "{:?} {}", it.certificate, it.what);
    }
}

/// The solvers of the attack find optima by themselves, so that the library is not its own judge.
#[test]
fn the_attackers_find_the_optimum_of_a_problem_solved_by_hand() {
    // Two rows at ±1, two classes: min over w of 2(1 − 2w)₊ + 2λw² for the weights (−w, w) is at w = ½ for λ < 2.
    let problem = Problem { n: 2, d: 1, c: 2, x: vec![-1.0, 1.0], y: vec![0, 1], weights: None };
    let ridge = m3svm::AnyPenalty::Ridge(m3svm::penalty::Ridge { lambda: 0.5 });
    let spec = Spec {
        solver: newton(),
        epsilon: 1e-12,
        intercept: false,
        ..crate::common::spec(crate::common::hinge(0.0), ridge)
    };
    let found = solvers::descend(&problem, &spec, &[0.3, -0.2]);
    let (found, _) = solvers::polish(&found, &|theta: &[f64]| objective(&problem, &spec, theta), 1);
    let value = f64::from(objective(&problem, &spec, &found));
    assert!((value - 0.25).abs() < 1e-7, "{value}");
}
