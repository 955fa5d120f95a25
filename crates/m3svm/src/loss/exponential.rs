//! eˣ and ln(1 + x) as plain arithmetic, which the compiler does for many numbers at once. Those of the system are called one by one.
//!
//! Call them in loops inside [`crate::linalg::vectorised`].

/// eˣ for x ≤ 0, to about a unit in the last place; 0 below −708, where numbers begin to lose digits.
#[inline(always)]
pub(super) fn exp_of_negative(x: f64) -> f64 {
    // Added to a number of less than 51 bits, this leaves no digits behind the point, and the integer in the lowest bits.
    const TO_INTEGER: f64 = 6_755_399_441_055_744.0;
    // ln 2 in two parts: products of the first with integers up to 2²⁰ are exact.
    const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    // x = n·ln 2 + r with |r| ≤ ln 2/2.
    let shifted = x * std::f64::consts::LOG2_E + TO_INTEGER;
    let n = shifted - TO_INTEGER;
    let r = (x - n * LN_2[0]) - n * LN_2[1];
    // 2ⁿ by its exponent.
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    // A product, so that what is no number stays none.
    if x < -708.0 { 0.0 } else { power * exp_of_small(r) }
}

/// Taylor's series up to r¹³, in two chains that do not wait for each other. For |r| ≤ ln 2/2 the next term is below 5e-18.
#[inline(always)]
fn exp_of_small(r: f64) -> f64 {
    const fn over(factorial_of: u64) -> f64 {
        let (mut product, mut k) = (1, 2);
        while k <= factorial_of {
            product *= k;
            k += 1;
        }
        1.0 / product as f64
    }
    const EVEN: [f64; 6] = [over(12), over(10), over(8), over(6), over(4), over(2)];
    const ODD: [f64; 6] = [over(13), over(11), over(9), over(7), over(5), over(3)];
    let square = r * r;
    let (mut even, mut odd) = (EVEN[0], ODD[0]);
    for k in 1..6 {
        even = even * square + EVEN[k];
        odd = odd * square + ODD[k];
    }
    1.0 + (r + square * (even + r * odd))
}

/// ln(1 + x) for x from 0 to 1, to about two units in the last place.
///
/// 2·artanh(s) with s = x/(2 + x) ≤ ⅓, whose series in s² is cut where terms are below 1e-17.
#[inline(always)]
pub(super) fn ln_1p_of_share(x: f64) -> f64 {
    const TERMS: usize = 16;
    let s = x / (2.0 + x);
    let (square, mut sum) = (s * s, 1.0 / (2 * TERMS + 1) as f64);
    for k in (1..TERMS).rev() {
        sum = sum * square + 1.0 / (2 * k + 1) as f64;
    }
    2.0 * (s + s * (square * sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_system() {
        for i in 0..=2_000_000 {
            let x = -708.0 * f64::from(i) / 2e6;
            let (ours, theirs) = (exp_of_negative(x), x.exp());
            assert!((ours - theirs).abs() <= 2.0 * f64::EPSILON * theirs, "{x}: {ours:e} {theirs:e}");
        }
        for x in [-1e-300, -1e-17, -1e-9, -f64::MIN_POSITIVE] {
            assert!((exp_of_negative(x) - x.exp()).abs() <= f64::EPSILON, "{x}");
        }
        assert_eq!([0.0, -0.0, -709.0, -1e300, f64::NEG_INFINITY].map(exp_of_negative), [1.0, 1.0, 0.0, 0.0, 0.0]);
        assert!(exp_of_negative(f64::NAN).is_nan());
    }

    #[test]
    fn logarithms_are_those_of_the_system() {
        for i in 0..=1_000_000 {
            let even = f64::from(i) / 1e6;
            // Evenly, and down to the smallest numbers.
            for x in [even, (-600.0 * even).exp()] {
                let (ours, theirs) = (ln_1p_of_share(x), x.ln_1p());
                assert!((ours - theirs).abs() <= 3.0 * f64::EPSILON * theirs, "{x}: {ours:e} {theirs:e}");
            }
        }
        assert!(ln_1p_of_share(f64::NAN).is_nan());
    }
}
