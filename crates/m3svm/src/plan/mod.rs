//! What a fit is going to do and why, decided in one place from sizes and capabilities, before anything is computed.
//!
//! Solvers ask here and nowhere else; [`Plan`] is the same answers in words. What only shows on the way (that systems are harder than they
//! looked, that single precision does not do) is decided where it shows.

mod system;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
mod tuning;
mod words;

use serde::Serialize;

pub(crate) use system::{SystemPlan, Written, many_rows};
pub(crate) use tuning::PLAN;

use crate::engine::Sizes;
use crate::error::Result;
use crate::interrupt::Heed;
use crate::penalty::Penalty;
use crate::problem::Problem;
use crate::scheme::Scheme;
use crate::solver::dual_coordinate::refused;
use crate::solver::{AnySolver, Lbfgs, Newton, Proximal};
use crate::spec::Spec;

/// Everything that is decided before a fit begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// In the order in which they are taken.
    pub decisions: Vec<Decision>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// What it is about.
    pub about: &'static str,
    /// What has been chosen.
    pub choice: String,
    /// The reason in a few words.
    pub reason: String,
}

/// A choice with its reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice<T> {
    pub(crate) pick: T,
    pub(crate) reason: &'static str,
}

fn choose<T>(pick: T, reason: &'static str) -> Choice<T> {
    Choice { pick, reason }
}

/// Which solver minimises one problem.
pub(crate) fn solver(asked: &AnySolver, problem: &Problem<'_>) -> Choice<AnySolver> {
    let duals = problem.penalty.dual_len(problem.features, problem.classes);
    match asked {
        AnySolver::Auto if problem.penalty.separable().is_some() => {
            choose(AnySolver::Proximal(Proximal {}), "the penalty has a kink where a weight is 0")
        }
        // It takes some 20 systems of 20 products (or a factorisation each), L-BFGS thousands of evaluations, so only memory speaks
        // against it: penalties with kinks keep d numbers per pair of classes.
        AnySolver::Auto if duals < PLAN.most_duals => {
            choose(AnySolver::Newton(Newton {}), "tens of steps where others take thousands")
        }
        AnySolver::Auto => {
            choose(AnySolver::Lbfgs(Lbfgs::default()), "one number per feature and pair of classes is too many")
        }
        asked => choose(*asked, "asked for"),
    }
}

/// Whether the problem is solved in the row space of its features.
pub(crate) fn reduces(penalty: &dyn Penalty, sizes: &Sizes, solver: &AnySolver) -> Choice<bool> {
    if sizes.is_sparse {
        return choose(false, "sparse rows would become dense");
    }
    if sizes.features as f64 <= PLAN.clearly_more * sizes.rows as f64 {
        return choose(false, "there are not clearly more features than rows");
    }
    if matches!(solver, AnySolver::Adam(_)) {
        return choose(false, "adam depends on the axes");
    }
    if !penalty.rotation_invariant() {
        return choose(false, "the penalty sees single features");
    }
    choose(true, "the optimum lies in the span of the rows")
}

/// What dual coordinate ascent cannot minimise, and the same as a reason not to try.
pub(crate) struct Obstacle {
    pub(crate) what: &'static str,
    pub(crate) reason: &'static str,
}

/// Whether dual coordinate ascent, row by row, can solve a joint problem. `Err`: what is in its way.
pub(crate) fn can_ascend(problem: &Problem<'_>) -> std::result::Result<(), Obstacle> {
    if problem.intercept && problem.epsilon <= 0.0 {
        return Err(Obstacle { what: "an intercept without epsilon", reason: "nothing bounds the intercept" });
    }
    if !problem.loss.has_nearest_slopes() {
        return Err(Obstacle { what: "losses other than exact hinges", reason: "it wants an exact hinge" });
    }
    let strength = problem.penalty.ridge(problem.classes).map(|lambda| lambda + problem.epsilon);
    if !strength.is_some_and(|s| s > 0.0) {
        return Err(Obstacle { what: "penalties other than squared lengths", reason: "it wants squared lengths" });
    }
    Ok(())
}

/// Whether it is tried before the solver.
pub(crate) fn ascends(asked: &AnySolver, counts_steps: bool, problem: &Problem<'_>, sizes: &Sizes) -> Choice<bool> {
    if !matches!(asked, AnySolver::Auto) {
        return choose(false, "a solver is asked for");
    }
    if counts_steps {
        return choose(false, "a limit of steps is asked for, which it counts otherwise");
    }
    if let Err(obstacle) = can_ascend(problem) {
        return choose(false, obstacle.reason);
    }
    if problem.classes >= PLAN.crowded {
        return choose(true, "of so many classes few count in a row");
    }
    if !sizes.is_sparse || sizes.stored as f64 > PLAN.sparse * sizes.rows as f64 * sizes.features as f64 {
        return choose(false, "rows are dense, and steps over all of them cheap");
    }
    choose(true, "passes over sparse rows cost as much as one product of a Newton system")
}

/// Refuses dual coordinate ascent where it is asked for and cannot be had.
pub(crate) fn check_dual(spec: &Spec) -> Result<()> {
    if !matches!(spec.solver, AnySolver::Dual(_)) {
        return Ok(());
    }
    let (loss, penalty, heed) = (spec.loss.as_dyn(), spec.penalty.as_dyn(), Heed::default());
    let Spec { epsilon, intercept, .. } = *spec;
    let problem = Problem { loss, penalty, epsilon, intercept, classes: 2, features: 1, heed };
    let obstacle = match spec.scheme {
        Scheme::OneVsOne => Some("one-vs-one problems"),
        Scheme::OneVsRest if !is_exact_hinge(&problem) => Some("anything but an exact hinge with a ridge"),
        Scheme::OneVsRest => None,
        Scheme::Joint => can_ascend(&problem).err().map(|obstacle| obstacle.what),
    };
    obstacle.map_or(Ok(()), |what| Err(refused(what)))
}

/// How problems of two classes are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    /// In step, so that what reads the rows does so once for all.
    InStep,
    /// One after the other, as joint problems of two classes.
    Apart,
}

/// The width of the hinge and λ of the scorer, if a problem of two classes is a hinge with squared lengths.
pub(crate) fn binary_hinge(problem: &Problem<'_>) -> Option<(f64, f64)> {
    // Two columns ±w/2 have half the square of w.
    let lambda = problem.penalty.for_scorer().and_then(|penalty| penalty.ridge(2)).map(|of_two| 0.5 * of_two);
    problem.loss.binary_hinge().zip(lambda)
}

/// Whether it is one that dual coordinate descent can solve: ε must bound an intercept.
fn is_exact_hinge(problem: &Problem<'_>) -> bool {
    let strength = binary_hinge(problem).filter(|(delta, lambda)| *delta == 0.0 && lambda + problem.epsilon > 0.0);
    strength.is_some() && (!problem.intercept || problem.epsilon > 0.0)
}

/// Which way problems of two classes go.
pub(crate) fn binary(asked: &AnySolver, problem: &Problem<'_>) -> Choice<Binary> {
    if !matches!(asked, AnySolver::Auto | AnySolver::Newton(_) | AnySolver::Dual(_)) {
        return choose(Binary::Apart, "a solver of single problems is asked for");
    }
    match binary_hinge(problem) {
        Some(_) => choose(Binary::InStep, "hinges with squared lengths share every pass over the rows"),
        None => choose(Binary::Apart, "only hinges with squared lengths can share their passes"),
    }
}

/// Whether classes against the rest are tried by dual coordinate descent first. `warm`: they begin where others have ended.
pub(crate) fn binary_descends(
    asked: &AnySolver,
    counts_steps: bool,
    warm: bool,
    problem: &Problem<'_>,
    sizes: &Sizes,
) -> Choice<bool> {
    if matches!(asked, AnySolver::Dual(_)) {
        return choose(true, "asked for");
    }
    if !matches!(asked, AnySolver::Auto) || counts_steps {
        return choose(false, "a solver or a limit of its steps is asked for");
    }
    if !is_exact_hinge(problem) {
        return choose(false, "it wants an exact hinge with a ridge, and epsilon for an intercept");
    }
    if !sizes.is_sparse {
        return choose(false, "rows are dense, and steps over all of them cheap");
    }
    if warm {
        return choose(false, "it cannot begin where others have ended");
    }
    choose(true, "passes over sparse rows cost as much as one product of a Newton system")
}

/// Whether pairs of classes with few rows are solved through the inner products of those.
pub(crate) fn pairs_by_products(asked: &AnySolver, counts_steps: bool, problem: &Problem<'_>) -> Choice<bool> {
    if counts_steps && !matches!(asked, AnySolver::Dual(_)) {
        return choose(false, "a limit of steps is asked for");
    }
    match binary_hinge(problem) {
        Some((0.0, _)) => choose(true, "pairs of classes have few rows, whose inner products are kept"),
        _ => choose(false, "it wants an exact hinge with a ridge"),
    }
}
