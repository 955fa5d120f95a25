//! The attackers: L-BFGS on the objective with its kinks rounded off ever less, written from the formulas of the documentation, and small
//! moves from a good point.

use m3svm::penalty::Norm;
use m3svm::{AnyLoss, AnyPenalty, Scheme, Spec};
use twofloat::TwoFloat;

use crate::common::{Problem, Random, dot};

/// √(x² + μ²), and its slope.
fn absolute(x: f64, mu: f64) -> (f64, f64) {
    let r = x.hypot(mu);
    (r, if r > 0.0 { x / r } else { 0.0 })
}

/// (x + √(x² + δ²))/2, and its slope.
fn hinge(x: f64, delta: f64) -> (f64, f64) {
    let (r, slope) = absolute(x, delta);
    (0.5 * (x + r), 0.5 * (1.0 + slope))
}

/// ln(1 + eˣ), and its slope.
fn softplus(x: f64) -> (f64, f64) {
    let tail = (-x.abs()).exp();
    (x.max(0.0) + tail.ln_1p(), if x > 0.0 { 1.0 / (1.0 + tail) } else { tail / (1.0 + tail) })
}

/// A loss with kinks rounded off to μ, and its slopes.
fn loss(of: &AnyLoss, z: &[f64], y: usize, mu: f64, dz: &mut [f64]) -> f64 {
    dz.fill(0.0);
    let mut value = 0.0;
    match of {
        AnyLoss::SmoothHinge(_) | AnyLoss::PairwiseLogistic(_) => {
            for k in (0..z.len()).filter(|k| *k != y) {
                let (pays, slope) = match of {
                    AnyLoss::SmoothHinge(l) => hinge(1.0 - z[y] + z[k], l.delta.max(mu)),
                    _ => softplus(z[k] - z[y]),
                };
                value += pays;
                dz[k] = slope;
            }
        }
        AnyLoss::Softmax(_) => {
            let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = z.iter().map(|z| (z - top).exp()).sum();
            value = top + sum.ln() - z[y];
            z.iter().zip(&mut *dz).for_each(|(z, dz)| *dz = (z - top).exp() / sum);
        }
        AnyLoss::TopKHinge(l) => {
            let delta = l.delta.max(mu);
            let a: Vec<f64> = (0..z.len()).map(|k| if k == y { 0.0 } else { 1.0 - z[y] + z[k] }).collect();
            let reach = 10.0 + 1e3 * delta + a.iter().fold(0.0f64, |m, a| m.max(a.abs()));
            let (mut low, mut high) = (-reach, reach);
            for _ in 0..100 {
                let t = 0.5 * (low + high);
                let sum: f64 = a.iter().map(|a| hinge(a - t, delta).1).sum();
                if sum > l.k as f64 { low = t } else { high = t }
            }
            let k = l.k as f64;
            let mean = low + a.iter().map(|a| hinge(a - low, delta).0).sum::<f64>() / k;
            let (pays, outer) = if l.k == 1 { (mean, 1.0) } else { hinge(mean, delta) };
            value = pays;
            a.iter().zip(&mut *dz).for_each(|(a, dz)| *dz = outer * hinge(a - low, delta).1 / k);
        }
    }
    dz[y] = 0.0;
    dz[y] = -dz.iter().sum::<f64>();
    value
}

/// The objective with its kinks rounded off, and its gradient.
fn smoothed(problem: &Problem, spec: &Spec, theta: &[f64], mu: f64, grad: &mut [f64]) -> f64 {
    let (d, m) = (problem.d, spec.scheme.scorers(problem.c));
    let (w, b) = theta.split_at(d * m);
    let mut value = spec.epsilon * dot(theta, theta);
    grad.iter_mut().zip(theta).for_each(|(g, t)| *g = 2.0 * spec.epsilon * t);
    value += penalty(&spec.penalty, w, m, mu, &mut grad[..d * m]);
    let (mut z, mut dz) = (vec![0.0; m], vec![0.0; m]);
    for (i, x) in problem.x.chunks_exact(d).enumerate() {
        let (y, weight) = (problem.y[i] as usize, problem.weights.as_ref().map_or(1.0, |w| w[i]));
        for (k, z) in z.iter_mut().enumerate() {
            *z = b.get(k).copied().unwrap_or(0.0) + x.iter().enumerate().map(|(j, x)| x * w[j * m + k]).sum::<f64>();
        }
        value += weight * row(spec, problem.c, &z, y, mu, &mut dz);
        for k in 0..m {
            x.iter().enumerate().for_each(|(j, x)| grad[j * m + k] += weight * x * dz[k]);
            if !b.is_empty() {
                grad[d * m + k] += weight * dz[k];
            }
        }
    }
    value
}

/// What one row pays, and its slopes in the scores.
fn row(spec: &Spec, classes: usize, z: &[f64], y: usize, mu: f64, dz: &mut [f64]) -> f64 {
    let mut two = [0.0; 2];
    let mut value = 0.0;
    match spec.scheme {
        Scheme::Joint => return loss(&spec.loss, z, y, mu, dz),
        Scheme::OneVsRest => {
            for k in 0..z.len() {
                value += loss(&spec.loss, &[0.0, z[k]], usize::from(k == y), mu, &mut two);
                dz[k] = two[1];
            }
        }
        Scheme::OneVsOne => {
            let pairs = (0..classes).flat_map(|k| (k + 1..classes).map(move |l| (k, l)));
            for (number, (k, l)) in pairs.enumerate() {
                dz[number] = 0.0;
                if k == y || l == y {
                    value += loss(&spec.loss, &[0.0, z[number]], usize::from(k == y), mu, &mut two);
                    dz[number] = two[1];
                }
            }
        }
    }
    value
}

fn penalty(of: &AnyPenalty, w: &[f64], m: usize, mu: f64, grad: &mut [f64]) -> f64 {
    let squares = |lambda: f64, grad: &mut [f64]| {
        grad.iter_mut().zip(w).for_each(|(g, w)| *g += 2.0 * lambda * w);
        lambda * dot(w, w)
    };
    match of {
        AnyPenalty::None(_) => 0.0,
        AnyPenalty::Ridge(r) => squares(r.lambda, grad),
        AnyPenalty::PairwiseRidge(r) => squares(r.lambda, grad) + distances(Norm::L2, r.lambda, 2.0, w, m, mu, grad),
        AnyPenalty::Pairwise(p) => distances(p.norm, p.lambda, p.p, w, m, mu, grad),
        AnyPenalty::Lasso(l) => sizes(l.lambda, w, mu, grad),
        AnyPenalty::ElasticNet(net) => {
            squares(net.lambda * (1.0 - net.l1_ratio), grad) + sizes(net.lambda * net.l1_ratio, w, mu, grad)
        }
    }
}

fn sizes(lambda: f64, w: &[f64], mu: f64, grad: &mut [f64]) -> f64 {
    let mut value = 0.0;
    for (g, w) in grad.iter_mut().zip(w) {
        let (size, slope) = absolute(*w, mu);
        value += lambda * size;
        *g += lambda * slope;
    }
    value
}

fn distances(norm: Norm, lambda: f64, p: f64, w: &[f64], m: usize, mu: f64, grad: &mut [f64]) -> f64 {
    if p.is_infinite() {
        return largest(lambda, w, m, mu, grad);
    }
    let mut value = 0.0;
    for k in 0..m {
        for l in k + 1..m {
            let u: Vec<f64> = w.chunks_exact(m).map(|row| row[k] - row[l]).collect();
            let (r, slopes): (f64, Vec<f64>) = match norm {
                Norm::L2 => {
                    let r = (dot(&u, &u) + mu * mu).sqrt().max(1e-300);
                    (r, u.iter().map(|u| u / r).collect())
                }
                Norm::L1 => {
                    let parts: Vec<(f64, f64)> = u.iter().map(|u| absolute(*u, mu)).collect();
                    (parts.iter().map(|p| p.0).sum::<f64>().max(1e-300), parts.iter().map(|p| p.1).collect())
                }
            };
            value += lambda * r.powf(p);
            let rise = lambda * p * r.powf(p - 1.0);
            for (j, slope) in slopes.iter().enumerate() {
                grad[j * m + k] += rise * slope;
                grad[j * m + l] -= rise * slope;
            }
        }
    }
    value
}

/// λ times the largest squared distance, as the norm of all of them to the power 1/μ.
fn largest(lambda: f64, w: &[f64], m: usize, mu: f64, grad: &mut [f64]) -> f64 {
    let pairs: Vec<(usize, usize)> = (0..m).flat_map(|k| (k + 1..m).map(move |l| (k, l))).collect();
    let square = |(k, l): &(usize, usize)| w.chunks_exact(m).map(|row| (row[*k] - row[*l]).powi(2)).sum::<f64>();
    let squares: Vec<f64> = pairs.iter().map(square).collect();
    let top = squares.iter().copied().fold(0.0, f64::max);
    if top == 0.0 {
        return 0.0;
    }
    let sum: f64 = squares.iter().map(|s| (s / top).powf(1.0 / mu)).sum();
    for ((k, l), square) in pairs.iter().zip(&squares) {
        let rise = 2.0 * lambda * (square / top).powf(1.0 / mu - 1.0) * sum.powf(mu - 1.0);
        for (grad, row) in grad.chunks_exact_mut(m).zip(w.chunks_exact(m)) {
            grad[*k] += rise * (row[*k] - row[*l]);
            grad[*l] -= rise * (row[*k] - row[*l]);
        }
    }
    lambda * top * sum.powf(mu)
}

/// L-BFGS from a point, while the rounding of the kinks becomes finer.
pub(super) fn descend(problem: &Problem, spec: &Spec, start: &[f64]) -> Vec<f64> {
    let mut theta = start.to_vec();
    for mu in [1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7] {
        theta = lbfgs(&|theta: &[f64], grad: &mut [f64]| smoothed(problem, spec, theta, mu, grad), theta, 150);
    }
    theta
}

fn lbfgs(f: &dyn Fn(&[f64], &mut [f64]) -> f64, mut theta: Vec<f64>, steps: usize) -> Vec<f64> {
    const MEMORY: usize = 12;
    let mut grad = vec![0.0; theta.len()];
    let mut value = f(&theta, &mut grad);
    let mut memory: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    for _ in 0..steps {
        let mut step: Vec<f64> = grad.iter().map(|g| -g).collect();
        let mut shares = Vec::new();
        for (s, y) in memory.iter().rev() {
            let share = dot(s, &step) / dot(s, y);
            step.iter_mut().zip(y).for_each(|(q, y)| *q -= share * y);
            shares.push(share);
        }
        let scale = memory.last().map_or(1.0 / dot(&grad, &grad).sqrt().max(1e-300), |(s, y)| dot(s, y) / dot(y, y));
        step.iter_mut().for_each(|q| *q *= scale);
        for ((s, y), share) in memory.iter().zip(shares.iter().rev()) {
            let more = share - dot(y, &step) / dot(s, y);
            step.iter_mut().zip(s).for_each(|(q, s)| *q += more * s);
        }
        let slope = dot(&step, &grad);
        if !(slope < 0.0) {
            if memory.is_empty() {
                break;
            }
            memory.clear();
            continue;
        }
        let mut next_grad = vec![0.0; theta.len()];
        let found = (0..40).find_map(|halvings| {
            let t = 0.5f64.powi(halvings);
            let next: Vec<f64> = theta.iter().zip(&step).map(|(x, s)| x + t * s).collect();
            let at = f(&next, &mut next_grad);
            (at < value + 1e-4 * t * slope).then_some((next, at))
        });
        let Some((next, at)) = found else {
            if memory.is_empty() {
                break;
            }
            memory.clear();
            continue;
        };
        let moved: Vec<f64> = next.iter().zip(&theta).map(|(a, b)| a - b).collect();
        let change: Vec<f64> = next_grad.iter().zip(&grad).map(|(a, b)| a - b).collect();
        if dot(&moved, &change) > 1e-14 * (dot(&moved, &moved) * dot(&change, &change)).sqrt() {
            memory.push((moved, change));
            if memory.len() > MEMORY {
                memory.remove(0);
            }
        }
        (theta, grad, value) = (next, next_grad, at);
    }
    theta
}

/// Small moves along coordinates and random directions, each taken if the value falls, with steps that adapt. Returns the point and how many
/// moves were taken.
pub(super) fn polish(from: &[f64], value: &dyn Fn(&[f64]) -> TwoFloat, seed: u64) -> (Vec<f64>, usize) {
    const ROUNDS: usize = 60;
    let mut random = Random::new(seed);
    let (mut point, mut best, mut taken) = (from.to_vec(), value(from), 0);
    let size = from.iter().fold(1e-9f64, |m, x| m.max(x.abs()));
    // Coordinates that would hardly move anything are as good as any.
    let mut step = 1e-4 * size;
    for round in 0..ROUNDS {
        let direction: Vec<f64> = if round % 3 == 0 && !point.is_empty() {
            let at = random.below(point.len());
            (0..point.len()).map(|j| f64::from(u8::from(j == at))).collect()
        } else if round % 3 == 1 {
            // All in proportion: what a bound that scales its duals would miss.
            point.iter().map(|x| x / size).collect()
        } else {
            random.normals(point.len())
        };
        let mut moved = false;
        for sign in [1.0, -1.0] {
            let next: Vec<f64> = point.iter().zip(&direction).map(|(x, d)| x + sign * step * d).collect();
            let at = value(&next);
            if at < best {
                (point, best, moved) = (next, at, true);
                taken += 1;
                break;
            }
        }
        step *= if moved { 2.0 } else { 0.6 };
    }
    (point, taken)
}
