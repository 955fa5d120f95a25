//! Newton directions of several problems: conjugate gradients in step, so that every product with X serves all of them.

use rayon::prelude::*;

use super::SharedTerms;
use super::inverse::{Common, Inverse, InversePlan};
use super::path::BinaryPath;
use super::products::BinaryProducts;
use crate::linalg::dot;
use crate::solver::system::{ConjugateGradients, SYSTEM};

/// One system on its way.
struct BinarySystem<'s> {
    path: &'s mut BinaryPath,
    inverse: Inverse,
    cg: ConjugateGradients,
    /// The inverse has left nothing to do.
    solved: bool,
    /// Goal for the square of what is left of the gradient in w.
    most_left: f64,
    features: usize,
}

/// Solves the systems of all `paths` and leaves the steps in them, unless the fit is interrupted before that.
pub(super) fn directions(
    shared: &SharedTerms<'_>,
    products: &BinaryProducts<'_>,
    common: &mut Common<'_>,
    small: bool,
    paths: &mut [&mut BinaryPath],
) {
    let problems = paths.len();
    let plan = |path: &&mut BinaryPath| common.plan(path, problems);
    let plans: Vec<InversePlan> =
        if small { paths.iter().map(plan).collect() } else { paths.par_iter().map(plan).collect() };
    common.prepare(&plans);
    let common = &*common;
    let begin = |(path, plan)| shared.heed.go_on().then(|| BinarySystem::begin(common, path, plan));
    let mut open: Vec<BinarySystem<'_>> = if small {
        paths.iter_mut().zip(&plans).filter_map(begin).collect()
    } else {
        paths.par_iter_mut().zip(&plans).filter_map(begin).collect()
    };
    open.retain(|system| !system.is_done());
    for _ in 0..SYSTEM.products {
        if open.is_empty() || !shared.heed.go_on() {
            return;
        }
        let weights: Vec<&[f64]> = open.iter().map(|system| &system.path.h[..]).collect();
        let vectors: Vec<&[f64]> = open.iter().map(|system| system.cg.direction()).collect();
        let curved = products.curvature_products(&weights, &vectors);
        let advance = |(system, product): (&mut BinarySystem<'_>, Vec<f64>)| system.advance(shared, product);
        if small {
            open.iter_mut().zip(curved).for_each(advance);
        } else {
            open.par_iter_mut().zip(curved).for_each(advance);
        }
        open.retain(|system| !system.is_done());
    }
}

impl<'s> BinarySystem<'s> {
    fn begin(common: &Common<'_>, path: &'s mut &mut BinaryPath, plan: &InversePlan) -> Self {
        let mut inverse = common.invert(path, plan);
        let residual: Vec<f64> = path.grad.iter().map(|g| -g).collect();
        let mut scaled = vec![0.0; residual.len()];
        inverse.apply(&residual, &mut scaled);
        let (forcing, most_left) = (path.forcing(), path.most_left(common.shared));
        let cg = ConjugateGradients::new(residual, scaled, |rho| rho * forcing * forcing);
        let finite = || cg.scaled().iter().all(|s| s.is_finite());
        let solved = inverse.exact && most_left.is_infinite() && cg.rho() > 0.0 && finite();
        if solved {
            path.step.copy_from_slice(cg.scaled());
        } else {
            path.step.fill(0.0);
        }
        Self { path, inverse, cg, solved, most_left, features: common.shared.x.cols() }
    }

    fn is_done(&self) -> bool {
        self.solved
            || self.cg.is_done(|residual| {
                let residual = &residual[..self.features];
                dot(residual, residual) <= self.most_left
            })
    }

    /// One step of conjugate gradients, given the loss's part of the product with the direction.
    fn advance(&mut self, shared: &SharedTerms<'_>, mut product: Vec<f64>) {
        self.path.evaluations += 1;
        shared.terms.add_curvature(self.cg.direction(), &mut product);
        let inverse = &mut self.inverse;
        self.cg.advance(&product, &mut self.path.step, |r, out| inverse.apply(r, out));
    }
}
