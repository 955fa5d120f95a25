//! Small problems, random numbers and comparisons that all tests share.

use std::ops::ControlFlow;

use m3svm::loss::{SmoothHinge, TopKHinge};
use m3svm::penalty::{Norm, Pairwise};
use m3svm::solver::{Limits, Proximal, Solution};
use m3svm::{AnyLoss, AnyPenalty, AnySolver, Certificate, Dataset, Features, Model, Risk, Scaling, Spec};

/// A reproducible stream of random numbers (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x9e37_79b9)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    pub(crate) fn normals(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| self.normal()).collect()
    }

    pub(crate) fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        (1..n).rev().for_each(|i| order.swap(i, self.below(i + 1)));
        order
    }
}

/// A table with labels, in no particular storage.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) n: usize,
    pub(crate) d: usize,
    pub(crate) c: usize,
    /// n×d, row-major; about a third of the entries is 0.
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<u32>,
    pub(crate) weights: Option<Vec<f64>>,
}

impl Problem {
    /// Overlapping clouds, one per class. Every class occurs.
    pub(crate) fn random(seed: u64, n: usize, d: usize, c: usize) -> Self {
        Self::clouds(seed, n, d, c, 1.0)
    }

    /// Clouds whose centres are `distance` (in units of their spread) from the origin.
    pub(crate) fn clouds(seed: u64, n: usize, d: usize, c: usize, distance: f64) -> Self {
        let mut random = Random::new(seed);
        let centres = random.normals(c * d);
        let y: Vec<u32> = (0..n).map(|i| (i % c) as u32).collect();
        let mut x = Vec::with_capacity(n * d);
        for k in &y {
            for j in 0..d {
                let value = distance * centres[*k as usize * d + j] + random.normal();
                x.push(if random.below(3) == 0 { 0.0 } else { value });
            }
        }
        Self { n, d, c, x, y, weights: None }
    }

    pub(crate) fn iris() -> Self {
        parse_csv(include_str!("iris.csv"))
    }

    pub(crate) fn weighted(mut self, seed: u64) -> Self {
        let mut random = Random::new(seed);
        self.weights = Some((0..self.n).map(|_| 0.2 + 2.0 * random.uniform()).collect());
        self
    }

    pub(crate) fn rows(&self, rows: &[usize]) -> Self {
        let pick = |i: &usize| self.x[i * self.d..(i + 1) * self.d].to_vec();
        Self {
            n: rows.len(),
            x: rows.iter().flat_map(pick).collect(),
            y: rows.iter().map(|&i| self.y[i]).collect(),
            weights: self.weights.as_ref().map(|w| rows.iter().map(|&i| w[i]).collect()),
            ..*self
        }
    }

    /// Columns brought to mean 0 and spread 1.
    pub(crate) fn standardised(mut self) -> Self {
        for j in 0..self.d {
            let column: Vec<f64> = self.x.iter().skip(j).step_by(self.d).copied().collect();
            let mean = column.iter().sum::<f64>() / self.n as f64;
            let square: f64 = column.iter().map(|v| (v - mean).powi(2)).sum();
            let spread = (square / self.n as f64).sqrt();
            (0..self.n).for_each(|i| {
                let v = &mut self.x[i * self.d + j];
                *v = (*v - mean) / spread;
            });
        }
        self
    }

    fn dataset(&self, x: Features<'static>) -> Dataset<'static> {
        let names = (0..self.c).map(|k| k.to_string()).collect();
        let data = Dataset::new(x, self.y.clone(), names).unwrap();
        match &self.weights {
            Some(w) => data.with_weights(w.clone()).unwrap(),
            None => data,
        }
    }

    pub(crate) fn dense(&self) -> Dataset<'static> {
        self.dataset(Features::dense(self.x.clone(), self.n, self.d).unwrap())
    }

    pub(crate) fn dense32(&self) -> Dataset<'static> {
        let x: Vec<f32> = self.x.iter().map(|v| *v as f32).collect();
        self.dataset(Features::dense(x, self.n, self.d).unwrap())
    }

    fn compressed(&self) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in self.x.chunks_exact(self.d) {
            for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(j as u32);
                values.push(*v);
            }
            indptr.push(indices.len());
        }
        (indptr, indices, values)
    }

    pub(crate) fn csr(&self) -> Dataset<'static> {
        let (indptr, indices, values) = self.compressed();
        self.dataset(Features::csr(indptr, indices, values, self.d).unwrap())
    }

    pub(crate) fn csr32(&self) -> Dataset<'static> {
        let (indptr, indices, values) = self.compressed();
        let values: Vec<f32> = values.iter().map(|v| *v as f32).collect();
        self.dataset(Features::csr(indptr, indices, values, self.d).unwrap())
    }
}

/// Reads `f0,...,label` tables; labels become numbers in order of first appearance.
pub(crate) fn parse_csv(text: &str) -> Problem {
    let (mut x, mut y, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let (values, label) = line.rsplit_once(',').unwrap();
        x.extend(values.split(',').map(|v| v.parse::<f64>().unwrap()));
        let k = names.iter().position(|n| *n == label);
        y.push(k.unwrap_or(names.len()) as u32);
        if k.is_none() {
            names.push(label);
        }
    }
    let (n, c) = (y.len(), names.len());
    Problem { n, d: x.len() / n, c, x, y, weights: None }
}

pub(crate) fn hinge(delta: f64) -> AnyLoss {
    AnyLoss::SmoothHinge(SmoothHinge { delta })
}

pub(crate) fn top_k(k: usize, delta: f64) -> AnyLoss {
    AnyLoss::TopKHinge(TopKHinge { k, delta })
}

pub(crate) fn pairwise(lambda: f64, p: f64) -> AnyPenalty {
    AnyPenalty::Pairwise(Pairwise::new(Norm::L2, lambda, p))
}

pub(crate) fn newton() -> AnySolver {
    AnySolver::examples()[1]
}

/// Newton, or the solver of the lasso.
pub(crate) fn suited(penalty: &AnyPenalty) -> AnySolver {
    if penalty.as_dyn().separable().is_some() { AnySolver::Proximal(Proximal {}) } else { newton() }
}

/// Settings without scaling, for Newton or the solver of the lasso.
pub(crate) fn spec(loss: AnyLoss, penalty: AnyPenalty) -> Spec {
    Spec { loss, penalty, scaling: Scaling::None, solver: suited(&penalty), ..Spec::default().with_usual_lambda() }
}

/// θ of a model that was fitted without scaling.
pub(crate) fn theta(model: &Model) -> Vec<f64> {
    [model.weights(), model.intercept()].concat()
}

/// Minimises a risk as it is: no scaling, no reduction to the row space.
pub(crate) fn minimize(solver: &AnySolver, risk: &Risk<'_>, start: Vec<f64>, tol: f64, max_iter: usize) -> Solution {
    let limits = Limits { tol, max_iter, seed: 0, proof: true };
    solver.minimize(risk, start, &limits, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// All losses × penalties of the library.
pub(crate) fn table() -> Vec<(AnyLoss, AnyPenalty)> {
    let penalties = AnyPenalty::examples();
    AnyLoss::examples().into_iter().flat_map(|loss| penalties.iter().map(move |penalty| (loss, *penalty))).collect()
}

/// Whether a common shift of all class vectors costs something.
pub(crate) fn sees_shifts(penalty: &AnyPenalty) -> bool {
    matches!(
        penalty,
        AnyPenalty::Ridge(_) | AnyPenalty::PairwiseRidge(_) | AnyPenalty::Lasso(_) | AnyPenalty::ElasticNet(_)
    )
}

pub(crate) fn convex(penalty: &AnyPenalty) -> bool {
    penalty.as_dyn().convex()
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// |a − b| relative to their size, or absolute below 1.
pub(crate) fn apart(a: f64, b: f64) -> f64 {
    (a - b).abs() / a.abs().max(b.abs()).max(1.0)
}

/// Largest difference of two vectors relative to the largest entry, or absolute below 1.
pub(crate) fn far(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = a.iter().chain(b).fold(1.0f64, |m, v| m.max(v.abs()));
    let most = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    most.fold(0.0, f64::max) / size
}

/// Euclidean distance.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    square.sqrt()
}

/// How far from the optimum a certified point can be: F(θ) − F* ≥ ε‖θ − θ*‖².
pub(crate) fn reach(certificate: &Certificate, epsilon: f64) -> f64 {
    let gap = certificate.objective - certificate.lower_bound.unwrap();
    ((gap.max(0.0) + 1e-13 * certificate.objective) / epsilon).sqrt()
}

/// Complains about whatever was collected.
pub(crate) fn none(failures: &[String]) {
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}
