//! Minimises a quadratic function plus absolute values, one coordinate at a time and, once signs have settled, all at once.

use super::tuning::PROXIMAL;
use crate::interrupt::Heed;
use crate::linalg::dot;

/// `½ uᵀHu + …` at its current point. Coordinates are numbered 0, 1, …
pub(crate) trait Quadratic {
    /// Second derivative along a coordinate, greater than 0.
    fn second_derivative(&self, a: usize) -> f64;

    /// First derivative along a coordinate.
    fn slope(&self, a: usize) -> f64;

    /// Moves along a coordinate.
    fn shift(&mut self, a: usize, by: f64);

    /// `H·step`, for all coordinates.
    fn product(&self, step: &[f64]) -> Vec<f64>;

    /// Moves by a whole step, whose `product` is known.
    fn advance(&mut self, step: &[f64], product: &[f64]);

    /// Steps among the `free` coordinates after which their first derivatives have changed by `wanted`, or most of it. All others
    /// are 0, in `wanted`, too.
    fn steps(&self, free: &[usize], wanted: &[f64], point: &Point<'_>) -> Option<Steps>;
}

/// Where to go from a point.
pub(crate) struct Steps {
    /// Without regard to signs.
    pub(crate) straight: Vec<f64>,
    /// With every coordinate that would change its sign taken to zero instead.
    pub(crate) signs_kept: Vec<f64>,
}

/// What stands beside the quadratic function, and where the point is.
pub(crate) struct Point<'a> {
    /// λ of every coordinate; 0 for intercepts.
    pub(crate) thresholds: &'a [f64],
    /// The current point.
    pub(crate) values: Vec<f64>,
}

/// How far a slope is from what the absolute value at `u` can balance.
pub(super) fn violation(u: f64, slope: f64, threshold: f64) -> f64 {
    if u == 0.0 { (slope.abs() - threshold).max(0.0) } else { (slope + threshold * u.signum()).abs() }
}

/// How a descent went.
#[derive(Clone, Copy)]
pub(super) struct Descended {
    /// Largest violation met in the last sweep over all coordinates.
    pub(super) residual: f64,
    pub(super) sweeps: usize,
}

/// Minimises to a largest violation of `target`, in at most `rounds` of `sweeps` sweeps, with a Newton step on the non-zeros after each but
/// the last.
pub(super) fn solve(
    q: &mut dyn Quadratic,
    point: &mut Point<'_>,
    target: f64,
    sweeps: usize,
    rounds: usize,
    heed: Heed<'_>,
) -> Descended {
    let mut done = 0;
    for round in 1.. {
        let found = descend(q, point, target, sweeps, heed);
        done += found.sweeps;
        if found.residual <= target || round >= rounds || !heed.go_on() {
            return Descended { residual: found.residual, sweeps: done };
        }
        settle(q, point);
    }
    Descended { residual: f64::INFINITY, sweeps: done }
}

/// Sweeps until the largest violation is at most `target`, at most `most` times over all coordinates or the equivalent.
fn descend(q: &mut dyn Quadratic, point: &mut Point<'_>, target: f64, most: usize, heed: Heed<'_>) -> Descended {
    let all: Vec<usize> = (0..point.values.len()).collect();
    let mut visits = 0;
    loop {
        let residual = sweep(q, point, &all, heed);
        visits += all.len();
        let sweeps = visits.div_ceil(all.len().max(1));
        if residual <= target || sweeps >= most || !heed.go_on() {
            return Descended { residual, sweeps };
        }
        let moving = point.free();
        for _ in 0..PROXIMAL.inner {
            visits += moving.len();
            if sweep(q, point, &moving, heed) <= PROXIMAL.inner_target * target {
                break;
            }
        }
    }
}

/// Minimises along each coordinate in turn; the largest violation met on the way, infinite if the fit is interrupted.
fn sweep(q: &mut dyn Quadratic, point: &mut Point<'_>, order: &[usize], heed: Heed<'_>) -> f64 {
    let mut residual = 0.0f64;
    for (number, &a) in order.iter().enumerate() {
        if number % PROXIMAL.ask_every == PROXIMAL.ask_every - 1 && !heed.go_on() {
            return f64::INFINITY;
        }
        let (u, threshold) = (point.values[a], point.thresholds[a]);
        let (slope, curvature) = (q.slope(a), q.second_derivative(a));
        residual = residual.max(violation(u, slope, threshold));
        let goal = curvature * u - slope;
        let next = if goal.abs() <= threshold { 0.0 } else { (goal - threshold * goal.signum()) / curvature };
        if next != u {
            q.shift(a, next - u);
            point.values[a] = next;
        }
    }
    residual
}

/// Newton on the non-zeros with their signs kept.
fn settle(q: &mut dyn Quadratic, point: &mut Point<'_>) {
    let free = point.free();
    let mut wanted = vec![0.0; point.values.len()];
    for &a in &free {
        let sign = if point.values[a] == 0.0 { 0.0 } else { point.values[a].signum() };
        wanted[a] = -(q.slope(a) + point.thresholds[a] * sign);
    }
    let finite = |step: &[f64]| step.iter().all(|s| s.is_finite());
    let Some(steps) = q.steps(&free, &wanted, point).filter(|s| finite(&s.straight) && finite(&s.signs_kept)) else {
        return;
    };
    // Where that leads too far, as along flat directions, straight on to the lowest point.
    if !try_move(q, point, &free, &steps.signs_kept) {
        let lowest = lowest_along(q, point, &free, &steps.straight);
        try_move(q, point, &free, &lowest);
    }
}

/// The step shortened (or extended) to where the function is lowest. If that is at a kink, the coordinate there becomes exactly zero.
fn lowest_along(q: &dyn Quadratic, point: &Point<'_>, free: &[usize], step: &[f64]) -> Vec<f64> {
    let curvature = dot(&q.product(step), step);
    let mut slope = 0.0;
    let mut crossings = Vec::new();
    for &a in free {
        let (u, by, threshold) = (point.values[a], step[a], point.thresholds[a]);
        slope += by * q.slope(a);
        if threshold > 0.0 {
            slope += by * threshold * u.signum();
            if u * by < 0.0 {
                crossings.push((-u / by, a));
            }
        }
    }
    crossings.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    // The slope rises by `curvature` all along, and jumps at every crossing.
    let mut at_kink = None;
    for (t, a) in crossings {
        if slope + curvature * t >= 0.0 {
            break;
        }
        slope += 2.0 * point.thresholds[a] * step[a].abs();
        if slope + curvature * t >= 0.0 {
            at_kink = Some((t, a));
            break;
        }
    }
    let t = at_kink.map_or(-slope / curvature, |(t, _)| t);
    let mut short: Vec<f64> = step.iter().map(|s| t * s).collect();
    if let Some((_, a)) = at_kink {
        short[a] = -point.values[a];
    }
    short
}

/// Moves if that lowers the function.
fn try_move(q: &mut dyn Quadratic, point: &mut Point<'_>, free: &[usize], step: &[f64]) -> bool {
    let change = q.product(step);
    let (mut gain, mut before, mut after) = (0.0, 0.0f64, 0.0f64);
    for &a in free {
        let (u, by, threshold, slope) = (point.values[a], step[a], point.thresholds[a], q.slope(a));
        gain += by * (slope + 0.5 * change[a]) + threshold * ((u + by).abs() - u.abs());
        before = before.max(violation(u, slope, threshold));
        after = after.max(violation(if by == -u { 0.0 } else { u + by }, slope + change[a], threshold));
    }
    // Near the minimum the gain drowns in rounding, but the slopes still tell.
    let rounding = PROXIMAL.rounding * dot(&change, &change).sqrt() * dot(step, step).sqrt();
    let better = gain < -rounding || after < 0.5 * before;
    if better {
        q.advance(step, &change);
        for &a in free {
            let u = point.values[a];
            point.values[a] = if step[a] == -u { 0.0 } else { u + step[a] };
        }
    }
    better
}

impl Point<'_> {
    /// A step with every coordinate that would change sign stopped at zero.
    pub(crate) fn stop_at_zero(&self, step: &[f64]) -> Vec<f64> {
        let stopped = |(a, by): (usize, &f64)| {
            let u = self.values[a];
            if self.thresholds[a] > 0.0 && u * (u + by) <= 0.0 { -u } else { *by }
        };
        step.iter().enumerate().map(stopped).collect()
    }

    /// The coordinates that are not held at zero by a kink.
    fn free(&self) -> Vec<usize> {
        (0..self.values.len()).filter(|a| self.values[*a] != 0.0 || self.thresholds[*a] == 0.0).collect()
    }
}
