//! The objective written down once more, from the formulas of the documentation, in double-double arithmetic: some 30 digits.

use m3svm::penalty::Norm;
use m3svm::{AnyLoss, AnyPenalty, Gamma, Kernel, Scheme, Spec};
use twofloat::TwoFloat;

use crate::common::Problem;

pub(crate) fn exact(x: f64) -> TwoFloat {
    TwoFloat::from(x)
}

/// eˣ by its series at x/2¹⁰, squared ten times.
fn exp(x: TwoFloat) -> TwoFloat {
    let small = x / 1024.0;
    // As eˣ − 1, whose digits the squares (1 + s)² − 1 = s(2 + s) keep.
    let mut less_one = (1..=14).rev().fold(exact(0.0), |sum, k| (1.0 + sum) * small / f64::from(k));
    (0..10).for_each(|_| less_one = less_one * (2.0 + less_one));
    1.0 + less_one
}

/// ln(1 + x) for x ≥ 0, by Newton from the digits of f64.
fn ln_1p(x: TwoFloat) -> TwoFloat {
    let guess = exact(x.hi().ln_1p());
    guess + (1.0 + x - exp(guess)) * exp(-guess)
}

/// (x + √(x² + δ²))/2.
fn smoothed(x: TwoFloat, delta: f64) -> TwoFloat {
    0.5 * (x + (x * x + TwoFloat::new_mul(delta, delta)).sqrt())
}

/// The mean of the k largest, smoothed: the minimum over t, and too high at any other t.
fn top_mean(a: &[TwoFloat], k: usize, delta: f64) -> TwoFloat {
    if delta == 0.0 {
        let mut sorted = a.to_vec();
        sorted.sort_by(|a, b| b.partial_cmp(a).unwrap());
        return sorted[..k].iter().fold(exact(0.0), |sum, a| sum + a) / k as f64;
    }
    let slopes = |t: f64| -> f64 {
        let slope = |a: &TwoFloat| {
            let x = a.hi() - t;
            0.5 * (1.0 + x / x.hypot(delta))
        };
        a.iter().map(slope).sum()
    };
    let reach = 1e3 * delta + a.iter().fold(1.0f64, |m, a| m.max(a.hi().abs()));
    let (mut low, mut high) = (-2.0 * reach, 2.0 * reach);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if slopes(middle) > k as f64 { low = middle } else { high = middle }
    }
    a.iter().fold(exact(0.0), |sum, a| sum + smoothed(*a - low, delta)) / k as f64 + low
}

fn loss_of(loss: &AnyLoss, z: &[TwoFloat], y: usize) -> TwoFloat {
    let wrong = (0..z.len()).filter(|k| *k != y);
    let sum = |parts: &mut dyn Iterator<Item = TwoFloat>| parts.fold(exact(0.0), |sum, part| sum + part);
    match loss {
        AnyLoss::SmoothHinge(l) => sum(&mut wrong.map(|k| smoothed(1.0 - z[y] + z[k], l.delta))),
        AnyLoss::Softmax(_) => ln_1p(sum(&mut wrong.map(|k| exp(z[k] - z[y])))),
        AnyLoss::PairwiseLogistic(_) => sum(&mut wrong.map(|k| ln_1p(exp(z[k] - z[y])))),
        AnyLoss::TopKHinge(l) => {
            let margin = |k: usize| if k == y { exact(0.0) } else { 1.0 - z[y] + z[k] };
            let mean = top_mean(&(0..z.len()).map(margin).collect::<Vec<_>>(), l.k, l.delta);
            if l.k == 1 { mean } else { smoothed(mean, l.delta) }
        }
    }
}

/// rᵖ from r², for a p that is a multiple of a half and not above 8.
fn power(square: TwoFloat, p: f64) -> TwoFloat {
    let halves = (2.0 * p).round() as u32;
    assert!(f64::from(halves) == 2.0 * p && (1..=16).contains(&halves), "p {p} is not asked for");
    if square.hi() == 0.0 {
        return exact(0.0);
    }
    let r = square.sqrt();
    let odd = if halves % 2 == 1 { r.sqrt() } else { exact(1.0) };
    (0..halves / 2).fold(odd, |product, _| product * r)
}

/// The lengths that penalties are made of, in whatever space the class vectors are.
struct Lengths {
    /// Of all class vectors together, squared.
    all: TwoFloat,
    /// Of the differences of pairs, squared.
    pairs: Vec<TwoFloat>,
}

impl Lengths {
    /// From ⟨wₖ, wₗ⟩.
    fn of(m: usize, product: &dyn Fn(usize, usize) -> TwoFloat) -> Self {
        let of_pair = |k: usize, l: usize| product(k, k) - product(k, l) * 2.0 + product(l, l);
        Self {
            all: (0..m).fold(exact(0.0), |sum, k| sum + product(k, k)),
            pairs: (0..m).flat_map(|k| (k + 1..m).map(move |l| (k, l))).map(|(k, l)| of_pair(k, l)).collect(),
        }
    }

    /// From the weights of features, where differences lose no digits.
    fn of_weights(w: &[f64], m: usize) -> Self {
        let square = |sum, v: TwoFloat| sum + v * v;
        let difference = |k: usize, l: usize| w.chunks_exact(m).map(move |row| TwoFloat::new_sub(row[k], row[l]));
        Self {
            all: w.iter().fold(exact(0.0), |sum, w| sum + TwoFloat::new_mul(*w, *w)),
            pairs: (0..m)
                .flat_map(|k| (k + 1..m).map(move |l| (k, l)))
                .map(|(k, l)| difference(k, l).fold(exact(0.0), square))
                .collect(),
        }
    }
}

/// rᵖ, summed over pairs; for p = ∞ the largest square.
fn powers(squares: impl Iterator<Item = TwoFloat>, p: f64) -> TwoFloat {
    if p.is_infinite() {
        return squares.fold(exact(0.0), |top, square| if square > top { square } else { top });
    }
    squares.fold(exact(0.0), |sum, square| sum + power(square, p))
}

fn penalty_of(penalty: &AnyPenalty, w: &[f64], c: usize, lengths: &Lengths) -> TwoFloat {
    let sizes = || w.iter().fold(exact(0.0), |sum, w| sum + w.abs());
    let distances = |norm: Norm, p: f64| match norm {
        Norm::L2 => powers(lengths.pairs.iter().copied(), p),
        Norm::L1 => {
            let pairs = (0..c).flat_map(|k| (k + 1..c).map(move |l| (k, l)));
            let length = |(k, l): (usize, usize)| {
                w.chunks_exact(c).fold(exact(0.0), |sum, row| sum + TwoFloat::new_sub(row[k], row[l]).abs())
            };
            powers(pairs.map(|pair| length(pair) * length(pair)), p)
        }
    };
    match penalty {
        AnyPenalty::Ridge(r) => r.lambda * lengths.all,
        AnyPenalty::PairwiseRidge(r) => r.lambda * (lengths.all + distances(Norm::L2, 2.0)),
        AnyPenalty::Lasso(l) => l.lambda * sizes(),
        AnyPenalty::ElasticNet(net) => {
            net.lambda * (net.l1_ratio * sizes() + (exact(1.0) - net.l1_ratio) * lengths.all)
        }
        AnyPenalty::None(_) => exact(0.0),
        AnyPenalty::Pairwise(p) => p.lambda * distances(p.norm, p.p),
    }
}

/// The values of a kernel for all pairs of rows, with the digits of their formulas.
pub(crate) fn gram(kernel: Kernel, problem: &Problem) -> Vec<TwoFloat> {
    let row = |i: usize| &problem.x[i * problem.d..(i + 1) * problem.d];
    let gamma = match kernel.gamma() {
        Some(Gamma::Value(gamma)) => gamma,
        Some(other) => panic!("γ is {other}, expected a number"),
        None => 1.0,
    };
    let sum = |parts: &mut dyn Iterator<Item = TwoFloat>| parts.fold(exact(0.0), |sum, part| sum + part);
    let product = |i: usize, j: usize| sum(&mut row(i).iter().zip(row(j)).map(|(a, b)| TwoFloat::new_mul(*a, *b)));
    let apart = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| TwoFloat::new_sub(*a, *b));
    // Below 1e-80 nothing is left of it.
    let decay = |x: TwoFloat| if x > exact(200.0) { exact(0.0) } else { exp(-x) };
    let value = |i: usize, j: usize| match kernel {
        Kernel::Rbf { .. } => decay(sum(&mut apart(i, j).map(|u| u * u)) * gamma),
        Kernel::Laplacian { .. } => decay(sum(&mut apart(i, j).map(|u| u.abs())) * gamma),
        Kernel::Polynomial { degree, coef0, .. } => {
            let base = product(i, j) * gamma + coef0;
            (0..degree).fold(exact(1.0), |all, _| all * base)
        }
        Kernel::Cosine => {
            let squares = product(i, i) * product(j, j);
            if squares.hi() == 0.0 { exact(0.0) } else { product(i, j) / squares.sqrt() }
        }
        Kernel::Linear => product(i, j),
        Kernel::Precomputed => exact(problem.x[i * problem.d + j]),
    };
    (0..problem.n * problem.n).map(|at| value(at / problem.n, at % problem.n)).collect()
}

/// The objective at a point, without scaling or weights of classes. A kernel is linear here.
pub(crate) fn objective(problem: &Problem, spec: &Spec, theta: &[f64]) -> TwoFloat {
    let m = spec.scheme.scorers(problem.c);
    let (w, b) = theta.split_at(problem.d * m);
    let score = |i: usize, k: usize| {
        let x = &problem.x[i * problem.d..(i + 1) * problem.d];
        let products = x.iter().enumerate().map(|(j, x)| TwoFloat::new_mul(*x, w[j * m + k]));
        products.fold(exact(0.0), |sum, product| sum + product)
    };
    sum_of(problem, spec, w, b, &Lengths::of_weights(w, m), &score)
}

/// The objective at class vectors that are sums over the rows in the space of a kernel: a coefficient for every row and scorer, then intercepts.
pub(crate) fn kernel_objective(problem: &Problem, spec: &Spec, gram: &[TwoFloat], theta: &[f64]) -> TwoFloat {
    let (n, m) = (problem.n, spec.scheme.scorers(problem.c));
    let (a, b) = theta.split_at(n * m);
    let score = |i: usize, k: usize| (0..n).fold(exact(0.0), |sum, j| sum + gram[i * n + j] * a[j * m + k]);
    let scores: Vec<TwoFloat> = (0..n * m).map(|at| score(at / m, at % m)).collect();
    let product = |k: usize, l: usize| (0..n).fold(exact(0.0), |sum, i| sum + scores[i * m + l] * a[i * m + k]);
    sum_of(problem, spec, a, b, &Lengths::of(m, &product), &|i, k| scores[i * m + k])
}

/// ε, penalty and losses of all rows.
fn sum_of(
    problem: &Problem,
    spec: &Spec,
    w: &[f64],
    b: &[f64],
    lengths: &Lengths,
    score: &dyn Fn(usize, usize) -> TwoFloat,
) -> TwoFloat {
    let m = spec.scheme.scorers(problem.c);
    let mut sum = spec.epsilon * (b.iter().fold(lengths.all, |sum, b| sum + TwoFloat::new_mul(*b, *b)));
    sum += penalty_of(&spec.penalty, w, m, lengths);
    for i in 0..problem.n {
        let y = problem.y[i] as usize;
        let z: Vec<TwoFloat> = (0..m).map(|k| score(i, k) + b.get(k).copied().unwrap_or(0.0)).collect();
        // One scorer against 0, which it shall be above or below.
        let two = |score: TwoFloat, above: bool| loss_of(&spec.loss, &[exact(0.0), score], usize::from(above));
        let loss = match spec.scheme {
            Scheme::Joint => loss_of(&spec.loss, &z, y),
            Scheme::OneVsRest => (0..m).fold(exact(0.0), |sum, k| sum + two(z[k], k == y)),
            Scheme::OneVsOne => {
                let all = (0..problem.c).flat_map(|k| (k + 1..problem.c).map(move |l| (k, l)));
                let own = all.zip(&z).filter(|((k, l), _)| *k == y || *l == y);
                own.fold(exact(0.0), |sum, ((k, _), z)| sum + two(*z, k == y))
            }
        };
        sum += problem.weights.as_ref().map_or(1.0, |w| w[i]) * loss;
    }
    sum
}

#[test]
fn it_has_the_digits_that_it_is_asked_for() {
    let within = |error: f64, a: TwoFloat, b: TwoFloat| f64::from((a - b).abs()) <= error * f64::from(b.abs());
    // Ten squares take three digits.
    let near = |a, b| within(1e-27, a, b);
    for x in [1e-9, 0.3, 1.7, 12.0, 1e5] {
        let root = exact(x).sqrt();
        assert!(near(root * root, exact(x)), "{x}");
        assert!(near(power(exact(x), 4.0), exact(x) * x), "{x}");
        assert!(near(power(exact(x), 0.5) * power(exact(x), 0.5), root), "{x}");
        // Of which the second factor is a small difference.
        let product = smoothed(exact(x), 0.5) * smoothed(exact(-x), 0.5);
        assert!(within(1e-29 * (1.0 + x * x), product, exact(0.0625)), "{x}");
        assert!(near(exact(x) / 3.0 * 3.0, exact(x)), "{x}");
    }
    for x in [1e-9, 0.3, 1.7, 12.0] {
        assert!(near(exp(exact(x)) * exp(exact(-x)), exact(1.0)), "{x}");
        assert!(near(exp(ln_1p(exact(x))), 1.0 + exact(x)), "{x}");
    }
    // e to 32 digits, its first double and the rest.
    let e = TwoFloat::new_add(std::f64::consts::E, 1.445_646_891_729_250_2e-16);
    assert!(near(exp(exact(1.0)), e));
}

#[test]
fn a_kernel_that_is_the_inner_product_changes_nothing() {
    let problem = Problem::random(3, 9, 3, 3);
    let linear = Kernel::Polynomial { degree: 1, gamma: Gamma::Value(1.0), coef0: 0.0 };
    let gram = gram(linear, &problem);
    for p in [1.0, 4.0, f64::INFINITY] {
        let spec = crate::common::spec(crate::common::hinge(0.1), crate::common::pairwise(0.3, p));
        let theta = crate::common::Random::new(7).normals(problem.n * 3 + 3);
        let (a, b) = theta.split_at(problem.n * 3);
        // The class vectors as sums over rows, rounded.
        let weight = |j: usize, k: usize| (0..problem.n).map(|i| a[i * 3 + k] * problem.x[i * 3 + j]).sum::<f64>();
        let w: Vec<f64> = (0..9).map(|at| weight(at / 3, at % 3)).collect();
        let (with, without) =
            (kernel_objective(&problem, &spec, &gram, &theta), objective(&problem, &spec, &[&w[..], b].concat()));
        assert!(f64::from((with - without).abs() / without) < 1e-13, "p {p}");
    }
}
