//! Newton directions of several problems: conjugate gradients in step, so that every product with X serves all of them.

use rayon::prelude::*;

use super::Shared;
use super::inverse::{Common, Inverse, Plan};
use super::products::Products;
use super::side::Side;
use crate::kernel::{axpy, dot};
use crate::solver::system::ROUNDING;

/// Most products per direction; a truncated one still descends.
const MOST: usize = 250;

/// One system on its way.
struct System<'s> {
    side: &'s mut Side,
    inverse: Inverse,
    residual: Vec<f64>,
    scaled: Vec<f64>,
    direction: Vec<f64>,
    rho: f64,
    goal: f64,
    /// Below this `rho` is rounding.
    rounding: f64,
    /// Goal for the square of what is left of the gradient in w.
    most_left: f64,
    features: usize,
}

/// Solves the systems of all `sides` and leaves the steps in them; `false` if `go_on` has said no before that.
pub(super) fn directions(
    shared: &Shared<'_>,
    products: &Products<'_>,
    common: &mut Common<'_>,
    small: bool,
    sides: &mut [&mut Side],
    go_on: &mut dyn FnMut() -> bool,
) -> bool {
    let problems = sides.len();
    let plan = |side: &&mut Side| common.plan(side, problems);
    let plans: Vec<Plan> = if small { sides.iter().map(plan).collect() } else { sides.par_iter().map(plan).collect() };
    common.prepare(&plans);
    let common = &*common;
    let begin = |(side, plan)| System::begin(common, side, plan);
    let mut open: Vec<System<'_>> = if small {
        sides.iter_mut().zip(&plans).map(begin).collect()
    } else {
        sides.par_iter_mut().zip(&plans).map(begin).collect()
    };
    open.retain(|system| !system.is_done());
    for _ in 0..MOST {
        if open.is_empty() {
            return true;
        }
        if !go_on() {
            return false;
        }
        let weights: Vec<&[f64]> = open.iter().map(|system| &system.side.h[..]).collect();
        let vectors: Vec<&[f64]> = open.iter().map(|system| &system.direction[..]).collect();
        let bends = products.bend(&weights, &vectors);
        let advance = |(system, bend): (&mut System<'_>, Vec<f64>)| system.advance(shared, bend);
        if small {
            open.iter_mut().zip(bends).for_each(advance);
        } else {
            open.par_iter_mut().zip(bends).for_each(advance);
        }
        open.retain(|system| !system.is_done());
    }
    true
}

impl<'s> System<'s> {
    fn begin(common: &Common<'_>, side: &'s mut &mut Side, plan: &Plan) -> Self {
        let inverse = common.invert(side, plan);
        let residual: Vec<f64> = side.grad.iter().map(|g| -g).collect();
        let mut scaled = vec![0.0; residual.len()];
        inverse.apply(&residual, &mut scaled);
        let rho = dot(&residual, &scaled);
        let (forcing, most_left) = (side.forcing(), side.most_left(common.shared));
        let exact = inverse.exact && most_left.is_infinite() && rho > 0.0 && scaled.iter().all(|s| s.is_finite());
        if exact {
            side.step.copy_from_slice(&scaled);
        } else {
            side.step.fill(0.0);
        }
        let goal = if exact { f64::INFINITY } else { rho * forcing * forcing };
        let features = common.shared.x.cols();
        let (rounding, direction) = (ROUNDING * rho, scaled.clone());
        Self { side, inverse, residual, direction, scaled, rho, goal, rounding, most_left, features }
    }

    fn is_done(&self) -> bool {
        let residual = &self.residual[..self.features];
        let small = || self.rho <= self.rounding || dot(residual, residual) <= self.most_left;
        let good_enough = || self.rho <= self.goal && small();
        self.goal.is_infinite() || !(self.rho > 0.0) || good_enough()
    }

    /// One step of conjugate gradients, given the loss's part of the product with the direction.
    fn advance(&mut self, shared: &Shared<'_>, mut product: Vec<f64>) {
        self.side.evaluations += 1;
        shared.terms.add_bend(&self.direction, &mut product);
        let bend = dot(&self.direction, &product);
        if bend <= 0.0 || bend.is_nan() {
            // Rounding has eaten the curvature: keep what there is, or go along the preconditioned gradient.
            if self.side.step.iter().all(|s| *s == 0.0) {
                self.side.step.copy_from_slice(&self.scaled);
            }
            self.rho = 0.0;
            return;
        }
        let t = self.rho / bend;
        axpy(t, &self.direction, &mut self.side.step);
        axpy(-t, &product, &mut self.residual);
        self.inverse.apply(&self.residual, &mut self.scaled);
        let next = dot(&self.residual, &self.scaled);
        let keep = next / self.rho;
        self.rho = next;
        self.direction.iter_mut().zip(&self.scaled).for_each(|(d, s)| *d = s + keep * *d);
    }
}
