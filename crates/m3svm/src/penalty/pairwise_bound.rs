//! What the pairwise penalty contributes to the lower bound.
//!
//! Any split of −(S + M) over the pairs, `Σₗ ζₖₗ = −Sₖ − Mₖ`, gives `min_U ⟨S, U⟩ + R(U) + ε‖U‖² ≥ −Σ φ*(ζₖₗ) − ‖M‖²/(4ε)`. At the optimum
//! ζₖₗ = ∇φ(wₖ−wₗ) and M = −2εW. Near it, what is left of the gradient is spread evenly over the pairs,
//! ζₖₗ = ∇φ(wₖ−wₗ) − (gₖ − gₗ)/c, so that M stays what it is.

use super::pairwise::{Norm, Pairwise};
use super::{DualTerms, Penalty, Ridge, by_class};
use crate::certificate::pay;
use crate::linalg::axpy;
use crate::rounding::{length, of_sum};

/// The split and what it costs.
struct Split {
    /// Dual norm of every ζ.
    norms: Vec<f64>,
    /// ‖M‖.
    slope: f64,
    /// Both where ζ is cut back to the ball of its pair.
    clipped: Vec<f64>,
    slope_clipped: f64,
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
    lost: f64,
) -> DualTerms {
    let free = || Ridge { lambda: 0.0 }.dual_terms_beside(w, classes, loss_grad, epsilon, dual, lost);
    if penalty.lambda == 0.0 {
        return free();
    }
    let split = split(penalty, w, classes, loss_grad, epsilon, dual, lost);
    let Split { norms, clipped, slope, slope_clipped, rounding } = split;
    let dearer = of_sum(w.len() / classes);
    let terms = DualTerms { rounding, ..DualTerms::default() };
    let pay = |slope: f64| if epsilon > 0.0 { pay(slope, 0.0, epsilon) } else { 0.0 };
    if penalty.p == 1.0 {
        // φ* is 0 in the ball of radius λ and ∞ outside: clip, or scale everything down, whichever loses less.
        let top = norms.iter().copied().fold(0.0, f64::max);
        let ball = penalty.lambda * (1.0 - dearer);
        let limit = if top > ball { ball / top } else { 1.0 };
        if epsilon > 0.0 && pay(slope_clipped) - pay(slope) < (1.0 - limit) * penalty.value(w, classes) {
            return DualTerms { quadratic: pay(slope_clipped), ..terms };
        }
        return DualTerms { quadratic: pay(slope), limit, ..terms };
    }
    let (power, base) = (penalty.p / (penalty.p - 1.0), penalty.lambda * penalty.p);
    // A norm is rounded like a sum of squares, and its power so much more.
    let dearer = 1.0 + power * dearer + of_sum(norms.len());
    let conjugate = |norms: &[f64]| {
        let sum: f64 = norms.iter().map(|z| (z / base).powf(power)).sum();
        let value = dearer * penalty.lambda * (penalty.p - 1.0) * sum;
        let exact = sum.is_normal() && value.is_normal();
        if exact { value } else { norms.iter().map(|z| far_conjugate(penalty, *z)).sum() }
    };
    let (plain, cut) = (conjugate(&norms), conjugate(&clipped));
    let cheaper = penalty.norm == Norm::L1 && epsilon > 0.0 && cut + pay(slope_clipped) < plain + pay(slope);
    let best = if cheaper {
        DualTerms { conjugate: cut, power, quadratic: pay(slope_clipped), ..terms }
    } else {
        DualTerms { conjugate: plain, power, quadratic: pay(slope), ..terms }
    };
    // R ≥ 0: with next to no λ the pairs have nothing to pay with, and the ε-term pays for all.
    let free = free();
    if best.conjugate + best.quadratic <= free.quadratic { best } else { free }
}

fn split(
    penalty: &Pairwise,
    w: &[f64],
    classes: usize,
    loss_grad: &[f64],
    epsilon: f64,
    dual: &[f64],
    lost: f64,
) -> Split {
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
    // What S has in other directions is spread like the rest, at right angles to it: no pair gets more than ‖sₖ − sₗ‖/c ≤ √2·lost/c.
    let beside = std::f64::consts::SQRT_2 * (1.0 + of_sum(2)) * lost * share;
    let longer = |norm: f64| if beside > 0.0 { norm.hypot(beside) } else { norm };
    let shorter = |ball: f64| if beside > 0.0 { (ball * ball - beside * beside).max(0.0).sqrt() } else { ball };
    let (mut norms, mut clipped) = (Vec::new(), Vec::new());
    let mut over = vec![0.0; w.len()];
    let sharp = penalty.p == 1.0 || penalty.norm == Norm::L1;
    penalty.visit(&vectors, classes, |pair, k, l, u, parts, r| {
        start(pair, u, parts, r);
        (0..d).for_each(|j| u[j] -= share * (rest[k * d + j] - rest[l * d + j]));
        let norm = match penalty.norm {
            Norm::L2 => length(u),
            Norm::L1 => u.iter().fold(0.0f64, |m, u| m.max(u.abs())),
        };
        let ball = if penalty.p == 1.0 { shorter(penalty.lambda * (1.0 - of_sum(d))) } else { penalty.slope(r) };
        norms.push(longer(norm));
        clipped.push(longer(norm.min(ball)));
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
    let (mut left, mut left_clipped) = (Vec::with_capacity(w.len()), Vec::with_capacity(w.len()));
    for j in 0..d {
        let mean = (0..classes).map(|k| rest[k * d + j]).sum::<f64>() * share;
        for k in 0..classes {
            left.push(mean - 2.0 * epsilon * vectors[k * d + j]);
            left_clipped.push(left[left.len() - 1] - over[k * d + j]);
        }
    }
    Split { norms, slope: length(&left), clipped, slope_clipped: length(&left_clipped), rounding }
}

/// φ*(ζ) = (1 − 1/p)·ζ·(ζ/(λp))^(1/(p−1)) at least, by logarithms: for numbers whose quotients or powers leave the range of numbers.
fn far_conjugate(penalty: &Pairwise, norm: f64) -> f64 {
    // Logarithms of such numbers are off by 1e-13 or so, which their multiples are as well. Those above 1,000 vanish or overflow anyway.
    const DEARER: f64 = 1e-9;
    if norm == 0.0 {
        return 0.0;
    }
    let log = (norm.ln() - penalty.lambda.ln() - penalty.p.ln()) / (penalty.p - 1.0);
    (1.0 + DEARER) * norm * log.exp() + f64::MIN_POSITIVE
}
