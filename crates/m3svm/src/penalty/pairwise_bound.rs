//! What the pairwise penalty contributes to the lower bound.
//!
//! Any split of −(S + M) over the pairs, `Σₗ ζₖₗ = −Sₖ − Mₖ`, gives `min_U ⟨S, U⟩ + R(U) + ε‖U‖² ≥ −Σ φ*(ζₖₗ) − ‖M‖²/(4ε)`. At the optimum
//! ζₖₗ = ∇φ(wₖ−wₗ) and M = −2εW. Near it, what is left of the gradient is spread evenly over the pairs,
//! ζₖₗ = ∇φ(wₖ−wₗ) − (gₖ − gₗ)/c, so that M stays what it is.

use super::pairwise::{Norm, Pairwise};
use super::{DualTerms, Penalty, Ridge, by_class};
use crate::kernel::{axpy, dot};
use crate::rounding::of_sum;

/// The split and what it costs.
struct Split {
    /// Dual norm of every ζ.
    norms: Vec<f64>,
    /// The same where ζ is cut back to the ball of its pair, and what that costs the ε-term instead of `square`.
    clipped: Vec<f64>,
    square: f64,
    square_clipped: f64,
    /// How far from −S − M the ζ may sum up, by rounding.
    rounding: f64,
}

pub(super) fn dual_terms(
    penalty: &Pairwise,
    w: &[f64],
    classes: usize,
    loss_grad: &[f64],
    epsilon: f64,
    dual: &[f64],
) -> DualTerms {
    if penalty.lambda == 0.0 {
        return Ridge { lambda: 0.0 }.dual_terms(w, classes, loss_grad, epsilon, dual);
    }
    let Split { norms, clipped, square, square_clipped, rounding } =
        split(penalty, w, classes, loss_grad, epsilon, dual);
    let dearer = of_sum(w.len() / classes);
    let terms = DualTerms { rounding, ..DualTerms::default() };
    let pay = |square: f64| if epsilon > 0.0 { square / (4.0 * epsilon) } else { 0.0 };
    if penalty.p == 1.0 {
        // φ* is 0 in the ball of radius λ and ∞ outside: clip, or scale everything down, whichever loses less.
        let top = norms.iter().copied().fold(0.0, f64::max);
        let ball = penalty.lambda * (1.0 - dearer);
        let limit = if top > ball { ball / top } else { 1.0 };
        if epsilon > 0.0 && pay(square_clipped) - pay(square) < (1.0 - limit) * penalty.value(w, classes) {
            return DualTerms { quadratic: pay(square_clipped), ..terms };
        }
        return DualTerms { quadratic: pay(square), limit, ..terms };
    }
    let (power, base) = (penalty.p / (penalty.p - 1.0), penalty.lambda * penalty.p);
    // A norm is rounded like a sum of squares, and its power so much more.
    let dearer = 1.0 + power * dearer + of_sum(norms.len());
    let conjugate = |norms: &[f64]| {
        dearer * penalty.lambda * (penalty.p - 1.0) * norms.iter().map(|z| (z / base).powf(power)).sum::<f64>()
    };
    let (plain, cut) = (conjugate(&norms), conjugate(&clipped));
    if penalty.norm == Norm::L1 && epsilon > 0.0 && cut + pay(square_clipped) < plain + pay(square) {
        return DualTerms { conjugate: cut, power, quadratic: pay(square_clipped), ..terms };
    }
    DualTerms { conjugate: plain, power, quadratic: pay(square), ..terms }
}

fn split(penalty: &Pairwise, w: &[f64], classes: usize, loss_grad: &[f64], epsilon: f64, dual: &[f64]) -> Split {
    let d = w.len() / classes;
    let vectors = by_class(w, classes);
    // ζ before spreading: the gradient, or the dual state in its place where kinks make the gradient inexact.
    let start = |pair: usize, u: &mut [f64], parts: &[f64], r: f64| {
        if dual.is_empty() {
            return penalty.gradient_of(u, parts, r);
        }
        let slope = penalty.slope(r);
        u.iter_mut().zip(&dual[pair * d..(pair + 1) * d]).for_each(|(u, q)| *u = slope * q);
    };
    let mut rest = by_class(loss_grad, classes);
    axpy(2.0 * epsilon, &vectors, &mut rest);
    let length = |v: &[f64]| dot(v, v).sqrt();
    let mut size = length(loss_grad) + 2.0 * epsilon * length(w);
    penalty.visit(&vectors, classes, |pair, k, l, u, parts, r| {
        start(pair, u, parts, r);
        size += 2.0 * length(u);
        axpy(1.0, u, &mut rest[k * d..(k + 1) * d]);
        axpy(-1.0, u, &mut rest[l * d..(l + 1) * d]);
    });
    // What is spread is rounded as well, and every pair gets its share of it.
    let rounding = 2.0 * of_sum(classes) * (size + 2.0 * length(&rest));
    let share = 1.0 / classes as f64;
    let (mut norms, mut clipped) = (Vec::new(), Vec::new());
    let mut over = vec![0.0; w.len()];
    let sharp = penalty.p == 1.0 || penalty.norm == Norm::L1;
    penalty.visit(&vectors, classes, |pair, k, l, u, parts, r| {
        start(pair, u, parts, r);
        (0..d).for_each(|j| u[j] -= share * (rest[k * d + j] - rest[l * d + j]));
        let norm = match penalty.norm {
            Norm::L2 => dot(u, u).sqrt(),
            Norm::L1 => u.iter().fold(0.0f64, |m, u| m.max(u.abs())),
        };
        let ball = if penalty.p == 1.0 { penalty.lambda * (1.0 - of_sum(d)) } else { penalty.slope(r) };
        norms.push(norm);
        clipped.push(norm.min(ball));
        if sharp && norm > ball {
            for j in 0..d {
                let excess = match penalty.norm {
                    Norm::L2 => u[j] * (1.0 - ball / norm),
                    Norm::L1 => u[j] - u[j].clamp(-ball, ball),
                };
                over[k * d + j] += excess;
                over[l * d + j] -= excess;
            }
        }
    });
    let (mut square, mut square_clipped) = (0.0, 0.0);
    for j in 0..d {
        let mean = (0..classes).map(|k| rest[k * d + j]).sum::<f64>() * share;
        for k in 0..classes {
            let left = mean - 2.0 * epsilon * vectors[k * d + j];
            square += left * left;
            square_clipped += (left - over[k * d + j]).powi(2);
        }
    }
    Split { norms, clipped, square, square_clipped, rounding }
}
