//! A loss of your own: the squared hinge on every class pair, ℓ(z, y) = Σ_{k≠y} max(0, 1 − z_y + z_k)².
//!
//!     cargo run --release -p m3svm --example custom_loss
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use std::ops::ControlFlow;

use m3svm::penalty::{Norm, Pairwise};
use m3svm::solver::{Limits, Newton};
use m3svm::{AnySolver, Dataset, Features, Loss, Objective, Result, Risk};

#[derive(Debug)]
struct SquaredHinge;

impl Loss for SquaredHinge {
    fn value_grad(&self, z: &[f64], y: usize, dz: &mut [f64]) -> f64 {
        dz.fill(0.0);
        let mut value = 0.0;
        for k in (0..z.len()).filter(|k| *k != y) {
            let miss = (1.0 - z[y] + z[k]).max(0.0);
            value += miss * miss;
            dz[k] += 2.0 * miss;
            dz[y] -= 2.0 * miss;
        }
        value
    }

    fn hess_vec(&self, z: &[f64], y: usize, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for k in (0..z.len()).filter(|k| *k != y && 1.0 - z[y] + z[*k] > 0.0) {
            out[k] += 2.0 * (v[k] - v[y]);
            out[y] -= 2.0 * (v[k] - v[y]);
        }
    }
}

fn main() -> Result<()> {
    // Three classes on a line that overlap a little.
    let x = Features::dense(vec![-2.0, -1.1, -0.4, -0.6, 0.1, 0.7, 0.5, 1.2, 2.3], 9, 1)?;
    let data = Dataset::from_labels(x, &["low", "low", "low", "mid", "mid", "mid", "high", "high", "high"])?;

    let penalty = Pairwise::new(Norm::L2, 1e-3, 4.0);
    let risk = Risk::new(&data, &SquaredHinge, &penalty, 1e-6, true);
    let limits = Limits { tol: 1e-8, max_iter: 200, seed: 0, proof: true };
    let start = vec![0.0; risk.dim()];
    let found = AnySolver::Newton(Newton {}).minimize(&risk, start, &limits, &mut |_| ControlFlow::Continue(()))?;

    println!("{} after {} Newton steps", found.stop.name(), found.iterations);
    println!("objective   {:.12}", found.certificate.objective);
    println!("lower bound {:.12}", found.certificate.lower_bound.unwrap_or(f64::NAN));
    Ok(())
}
