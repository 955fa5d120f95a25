//! Losses of a user's own, with the two methods that a loss needs and nothing else.

use m3svm::solver::Lbfgs;
use m3svm::{AnyPenalty, AnySolver, Loss, Objective, Risk, Stop};

use crate::common::{Problem, apart, convex, minimize, newton, pairwise, suited};

/// Σ_{k≠y} [1 − (z_y − zₖ)]₊².
#[derive(Debug)]
struct SquaredHinge;

impl Loss for SquaredHinge {
    fn value_grad(&self, z: &[f64], y: usize, dz: &mut [f64]) -> f64 {
        let mut value = 0.0;
        dz.fill(0.0);
        for k in (0..z.len()).filter(|k| *k != y) {
            let gamma = (1.0 - z[y] + z[k]).max(0.0);
            value += gamma * gamma;
            dz[k] += 2.0 * gamma;
            dz[y] -= 2.0 * gamma;
        }
        value
    }

    fn hess_vec(&self, z: &[f64], y: usize, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for k in (0..z.len()).filter(|k| *k != y) {
            if 1.0 - z[y] + z[k] > 0.0 {
                out[k] += 2.0 * (v[k] - v[y]);
                out[y] -= 2.0 * (v[k] - v[y]);
            }
        }
    }
}

/// Squared distance of the lead over the mean of the others from 1: every pair of wrong classes is coupled with a positive sign.
#[derive(Debug)]
struct LeadOverMean;

impl LeadOverMean {
    fn weight(k: usize, y: usize, c: usize) -> f64 {
        if k == y { 1.0 } else { -1.0 / (c as f64 - 1.0) }
    }
}

impl Loss for LeadOverMean {
    fn value_grad(&self, z: &[f64], y: usize, dz: &mut [f64]) -> f64 {
        let c = z.len();
        let miss = (0..c).map(|k| Self::weight(k, y, c) * z[k]).sum::<f64>() - 1.0;
        (0..c).for_each(|k| dz[k] = 2.0 * miss * Self::weight(k, y, c));
        miss * miss
    }

    fn hess_vec(&self, z: &[f64], y: usize, v: &[f64], out: &mut [f64]) {
        let c = z.len();
        let along: f64 = (0..c).map(|k| Self::weight(k, y, c) * v[k]).sum();
        (0..c).for_each(|k| out[k] = 2.0 * along * Self::weight(k, y, c));
    }
}

/// One class against the rest, log(1 + exp(∓zₖ)) summed over all classes: it sees where the scores are, not only their differences.
#[derive(Debug)]
struct OneVersusRest;

impl Loss for OneVersusRest {
    fn value_grad(&self, z: &[f64], y: usize, dz: &mut [f64]) -> f64 {
        let mut value = 0.0;
        for k in 0..z.len() {
            let side = if k == y { 1.0 } else { -1.0 };
            let t = -side * z[k];
            value += t.max(0.0) + (-t.abs()).exp().ln_1p();
            dz[k] = -side / (1.0 + (-t).exp());
        }
        value
    }

    fn hess_vec(&self, z: &[f64], _y: usize, v: &[f64], out: &mut [f64]) {
        for k in 0..z.len() {
            let e = (-z[k].abs()).exp();
            out[k] = v[k] * e / (1.0 + e).powi(2);
        }
    }

    fn shift_invariant(&self) -> bool {
        false
    }
}

fn certified(loss: &dyn Loss) {
    let data = Problem::random(41, 60, 3, 4).weighted(3).dense();
    let penalties = AnyPenalty::examples();
    for penalty in penalties.into_iter().filter(convex).chain([pairwise(1e-3, 4.0)]) {
        let risk = Risk::new(&data, loss, penalty.as_dyn(), 1e-4, true);
        let start = vec![0.0; risk.dim()];
        let found = minimize(&suited(&penalty), &risk, start.clone(), 1e-8, 500);
        let label = format!("{loss:?} {penalty:?} {:?}", found.certificate);
        assert_eq!(found.stop, Stop::Converged, "{label}");
        assert!(found.certificate.relative_gap().unwrap() <= 1e-8, "{label}");
        let (mut theta, mut grad) = (found.theta.clone(), vec![0.0; risk.dim()]);
        assert!(apart(risk.eval(&theta, &mut grad), found.certificate.objective) < 1e-12);
        // Certifying may only improve the point (it makes the intercept exact).
        let again = risk.certify(&mut theta);
        assert!(again.objective <= found.certificate.objective * (1.0 + 1e-14), "{label} {again:?}");
        if suited(&penalty) != newton() {
            continue;
        }
        let lbfgs = AnySolver::Lbfgs(Lbfgs::default());
        let other = minimize(&lbfgs, &risk, start, 1e-6, 5000).certificate;
        assert!(found.certificate.lower_bound.unwrap() <= other.objective * (1.0 + 1e-12), "{label} {other:?}");
        assert!(other.lower_bound.unwrap() <= found.certificate.objective * (1.0 + 1e-12), "{label} {other:?}");
    }
}

#[test]
fn a_squared_hinge_is_solved_and_certified() {
    certified(&SquaredHinge);
}

#[test]
fn a_loss_that_couples_wrong_classes_is_solved_and_certified() {
    certified(&LeadOverMean);
}

#[test]
fn a_loss_that_is_not_shift_invariant_is_solved_and_certified() {
    certified(&OneVersusRest);
}
