//! One smoothed hinge, `g(x) = (x + √(x² + δ²))/2`: value, slope, curvature and dual variable. The hinge losses are made of it.

/// g of a given width.
#[derive(Clone, Copy)]
pub(crate) struct Hinge {
    delta2: f64,
}

impl Hinge {
    pub(crate) fn new(delta: f64) -> Self {
        // Squares of smaller widths are no normal numbers any more.
        Self { delta2: if delta < 1e-140 { 0.0 } else { delta * delta } }
    }

    /// r = √(x² + δ²).
    #[inline(always)]
    fn root(self, x: f64) -> f64 {
        (x * x + self.delta2).sqrt()
    }

    /// g(x), as [`Hinge::value_slope`] has it but for rounding.
    #[inline(always)]
    pub(crate) fn value(self, x: f64) -> f64 {
        let near = 0.5 * (x.abs() + self.root(x));
        // Added, not the larger of the two: what is no number stays none.
        let far = 0.25 * self.delta2 / (near + f64::MIN_POSITIVE);
        if x > 0.0 { near } else { far }
    }

    /// g(x) and g′(x) = g(x)/r; the slope is ½ at the kink of the exact hinge. Neither cancels for x ≪ 0.
    #[inline(always)]
    pub(crate) fn value_slope(self, x: f64) -> (f64, f64) {
        let (value, slope, _) = self.value_slope_inverse(x);
        (value, slope)
    }

    /// The same, and the weight of [`Hinge::weight`], from one root and one division.
    #[inline(always)]
    pub(crate) fn value_slope_weight(self, x: f64, v: f64) -> (f64, f64, f64) {
        let (value, slope, inverse) = self.value_slope_inverse(x);
        (value, slope, 0.5 * inverse * (1.0 - v * (x * inverse)).max(0.0))
    }

    /// g(x), g′(x) and 1/r; where r is 0, at the kink of the exact hinge, 0 in place of its inverse.
    #[inline(always)]
    fn value_slope_inverse(self, x: f64) -> (f64, f64, f64) {
        let r = self.root(x);
        // |x| + r never cancels; `far` is the small one of the two roots ξ, s with ξ·s = δ²/4.
        let near = 0.5 * (x.abs() + r);
        // Divisions are slow: one does for both 1/near and 1/r.
        let inverse = 1.0 / (near * r).max(f64::MIN_POSITIVE);
        // Not infinity times 0.
        let far = 0.25 * self.delta2 * (r.min(f64::MAX) * inverse);
        let value = if x > 0.0 { near } else { far };
        let inverse = near.min(f64::MAX) * inverse;
        (value, if r > 0.0 { value * inverse } else { 0.5 }, inverse)
    }

    /// g″(x) = δ²/(2r³).
    #[inline(always)]
    pub(crate) fn curvature(self, x: f64) -> f64 {
        let square = x * x + self.delta2;
        0.5 * self.delta2 / (square * square.sqrt()).max(f64::MIN_POSITIVE)
    }

    /// g′(x) and g″(x) together, from one root and one division. The slope of x ≪ 0 does not cancel.
    #[inline(always)]
    pub(crate) fn slope_curvature(self, x: f64) -> (f64, f64) {
        let square = x * x + self.delta2;
        let r = square.sqrt();
        let near = x.abs() + r;
        let part = 0.5 * self.delta2 / (near * r * square).max(f64::MIN_POSITIVE);
        let tail = part * square;
        (if x > 0.0 { 1.0 - tail } else { tail }, part * near)
    }

    /// h = (1 − v·x/r)/(2r), the primal-dual curvature; it is g″(x) once the dual variable v is x/r.
    #[inline(always)]
    pub(crate) fn weight(self, x: f64, v: f64) -> f64 {
        let r = self.root(x);
        (r - v * x).max(0.0) / (2.0 * r * r).max(f64::MIN_POSITIVE)
    }

    /// The dual variable after a step that would move x by `moved`. Linearises r·v = x: Δv = (x − rv)/r + (1 − vx/r)Δx/r. Each variable
    /// is then clipped on its own (one common step length for all, the textbook rule, is blocked by single entries) and
    /// may use up at most 98 % of its distance to ±1, or the curvature would forget in one step that the entry was active.
    ///
    /// Where the step was cut `short`, variables whose x would have jumped over the kink get the curvature of the secant over the
    /// whole step: they are what cut it, and the next step then sees them coming.
    #[inline(always)]
    pub(crate) fn moved_dual(self, x: f64, moved: f64, short: bool, v: f64) -> f64 {
        let r = self.root(x);
        if short && x * (x + moved) < 0.0 {
            let end = x + moved;
            let h = 0.5 * (end / self.root(end) - x / r) / moved;
            return ((1.0 - 2.0 * r * h) * r / x).clamp(-1.0, 1.0);
        }
        let inverse = 1.0 / r;
        let slope = x * inverse;
        clipped(slope + (1.0 - v * slope) * (moved * inverse), v)
    }
}

/// [`Hinge::moved_dual`] where the step was not cut short, from the slope g′(x) = (1 + x/r)/2 and the weight h at x.
#[inline(always)]
pub(crate) fn followed_dual(slope: f64, weight: f64, moved: f64, v: f64) -> f64 {
    clipped(2.0 * (slope + weight * moved) - 1.0, v)
}

/// What a dual variable `v` becomes on its way to `next`.
#[inline(always)]
fn clipped(next: f64, v: f64) -> f64 {
    const KEEP: f64 = 0.02;
    // Not `clamp`, whose check of its bounds keeps loops from being vectorised.
    next.max(-1.0 + KEEP * (1.0 + v)).min(1.0 - KEEP * (1.0 - v))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // g(1.5) with δ = 2: r = 2.5, g = 2, g′ = 0.8, g″ = 4/(2·2.5³).
        let hinge = Hinge::new(2.0);
        assert_eq!(hinge.value_slope(1.5), (2.0, 0.8));
        assert_eq!(hinge.value_slope(-1.5), (0.5, 0.2));
        assert!((hinge.curvature(1.5) - 0.128).abs() < 1e-16);
        assert!((hinge.weight(1.5, 0.6) - hinge.curvature(1.5)).abs() < 1e-16);
    }

    #[test]
    fn slope_and_bend_together_are_those_one_by_one() {
        for delta in [1e-14, 1e-8, 0.1, 1.0, 1e6] {
            let hinge = Hinge::new(delta);
            for x in [0.0, 1e-15, 1e-9, 0.3, 1.0, 1e3, 1e6].into_iter().flat_map(|x| [x, -x]) {
                let (slope, curvature) = hinge.slope_curvature(x);
                let (expected_slope, expected_curvature) = (hinge.value_slope(x).1, hinge.curvature(x));
                assert!((slope - expected_slope).abs() <= 4.0 * f64::EPSILON * expected_slope, "{delta} {x}: {slope}");
                assert!(
                    (curvature - expected_curvature).abs() <= 8.0 * f64::EPSILON * expected_curvature,
                    "{delta} {x}: {curvature}"
                );
            }
        }
    }

    #[test]
    fn weights_and_duals_at_once_are_those_one_by_one() {
        for delta in [1e-8, 1e-3, 0.1, 1.0] {
            let hinge = Hinge::new(delta);
            for x in [0.0, 1e-9, 0.3, 1.0, 1e3].into_iter().flat_map(|x| [x, -x]) {
                for v in [-1.0, -0.7, 0.0, 0.999] {
                    let (value, slope, weight) = hinge.value_slope_weight(x, v);
                    assert_eq!((value, slope), hinge.value_slope(x));
                    let expected = hinge.weight(x, v);
                    // Both are differences of numbers of the size of 1/r.
                    let size = 1.0 / x.abs().max(delta);
                    assert!((weight - expected).abs() <= 4.0 * f64::EPSILON * size, "{delta} {x} {v}: {weight}");
                    for moved in [-2.0, -delta, 0.0, 0.1 * delta, 1.0] {
                        let (found, expected) =
                            (followed_dual(slope, weight, moved, v), hinge.moved_dual(x, moved, false, v));
                        let size = 1.0 + size * moved.abs();
                        assert!((found - expected).abs() <= 16.0 * f64::EPSILON * size, "{delta} {x} {v}: {found}");
                    }
                }
            }
        }
    }

    #[test]
    fn extremes_are_those_of_the_exact_hinge() {
        for delta in [0.0, 1e-160, 1e-14, 1.0] {
            assert_eq!(Hinge::new(delta).value_slope(-1e200), (0.0, 0.0), "{delta}");
        }
        assert_eq!(Hinge::new(1e-160).value_slope(0.0), (0.0, 0.5));
    }

    #[test]
    fn tails_keep_their_digits() {
        for delta in [1e-14, 1e-8, 0.1] {
            let (value, slope) = Hinge::new(delta).value_slope(-3.0);
            let (near_value, near_slope) = (delta * delta / 12.0, delta * delta / 36.0);
            assert!((value / near_value - 1.0).abs() < 1e-15 + delta * delta, "{value}");
            assert!((slope / near_slope - 1.0).abs() < 1e-15 + delta * delta, "{slope}");
        }
    }
}
