//! Round numbers for axes.

/// Positions of about `count` ticks in `low..=high`, at multiples of 1, 2 or 5 times a power of ten.
pub(crate) fn linear(low: f64, high: f64, count: usize) -> Vec<f64> {
    let step = nice_step((high - low) / count.max(1) as f64);
    if !(step.is_finite() && step > 0.0) {
        return Vec::new();
    }
    // Slack for ends that are multiples themselves, up to rounding.
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    if !(last - first <= 1000.0) {
        return Vec::new();
    }
    (0..=(last - first) as usize).map(|i| (first + i as f64) * step).collect()
}

/// The smallest step of the form 1, 2 or 5 times a power of ten that is at least this one.
fn nice_step(rough: f64) -> f64 {
    let power = 10f64.powi(rough.log10().floor() as i32);
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= rough * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// Ticks of a logarithmic axis: powers of ten, every so many of them; between few powers also 2 and 5 times them.
pub(crate) fn logarithmic(low: f64, high: f64, count: usize) -> Vec<f64> {
    if !(low > 0.0 && low < high && high.is_finite()) {
        return Vec::new();
    }
    let (from, to) = ((low.log10() - 1e-9).ceil() as i32, (high.log10() + 1e-9).floor() as i32);
    let powers = usize::try_from(to - from + 1).unwrap_or(0);
    if powers > 2 {
        let stride = powers.div_ceil(count.max(2));
        // Counted from 10⁰, so that strided labels are 10⁻⁴, 10⁻⁸ and not 10⁻³, 10⁻⁷.
        return (from..=to).filter(|e| e.rem_euclid(stride as i32) == 0).map(power_of_ten).collect();
    }
    let all = (from - 1..=to).flat_map(|e| [1.0, 2.0, 5.0].map(|f| f * power_of_ten(e)));
    let fine: Vec<f64> = all.filter(|v| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(v)).collect();
    // Less than a factor of two or so: logarithmic or not hardly matters.
    if fine.len() < 2 { linear(low, high, count) } else { fine }
}

/// Parsed, not computed: powi is off by a unit in the last place for some exponents.
fn power_of_ten(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(f64::NAN)
}

/// Labels that tell the ticks apart, all with as many places.
pub(crate) fn linear_labels(ticks: &[f64]) -> Vec<String> {
    let largest = ticks.iter().fold(0.0f64, |m, t| m.max(t.abs()));
    let step = ticks.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
    if largest >= 1e6 || (largest > 0.0 && largest < 1e-3) {
        // As many digits as the step needs below the largest one.
        let places = (largest.log10().floor() - step.log10().floor()).clamp(0.0, 12.0) as usize;
        return ticks.iter().map(|t| if *t == 0.0 { "0".into() } else { minus(format!("{t:.places$e}")) }).collect();
    }
    let places = if step.is_finite() { (-step.log10().floor()).clamp(0.0, 9.0) as usize } else { 2 };
    ticks.iter().map(|t| minus(format!("{:.places$}", t + 0.0))).collect()
}

/// Powers of ten as powers where some of them are far from 1; else plain numbers.
pub(crate) fn logarithmic_labels(ticks: &[f64]) -> Vec<String> {
    let exponents: Vec<i32> = ticks.iter().map(|t| t.log10().round() as i32).collect();
    let plain = exponents.iter().all(|e| (-2..=3).contains(e));
    let powers = ticks.iter().zip(&exponents).all(|(t, e)| (t / power_of_ten(*e) - 1.0).abs() < 1e-6);
    let label = |(tick, exponent): (&f64, &i32)| match (plain, powers) {
        (true, _) => format!("{}", (tick * 1e9).round() / 1e9),
        (_, true) => power(*exponent),
        _ => format!("{:e}", format!("{tick:.3e}").parse::<f64>().unwrap_or(*tick)),
    };
    ticks.iter().zip(&exponents).map(label).collect()
}

fn power(exponent: i32) -> String {
    let raised = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32('⁰' as u32 + c as u32 - '0' as u32).unwrap_or(c),
    };
    match exponent {
        0 => "1".into(),
        1 => "10".into(),
        e => format!("10{}", e.to_string().chars().map(raised).collect::<String>()),
    }
}

/// With a proper minus sign, which is as wide as a digit.
fn minus(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_inside_the_range() {
        let labels = |low, high, count| linear_labels(&linear(low, high, count));
        assert_eq!(labels(0.0, 1.0, 5), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(-3.0, 11.0, 4), ["0", "5", "10"]);
        assert_eq!(labels(0.913, 0.951, 4), ["0.92", "0.93", "0.94", "0.95"]);
        assert_eq!(labels(-0.5, 0.5, 4), ["−0.5", "0.0", "0.5"]);
        assert_eq!(labels(0.0, 3e7, 3), ["0", "1e7", "2e7", "3e7"]);
        assert_eq!(labels(0.0, 2e-5, 2), ["0", "1e-5", "2e-5"]);
        for (low, high) in [(1.0, 7.3), (-1e-7, 3e-9), (1e12, 1.7e12), (0.1, 0.30000000000000004), (99.0, 101.0)] {
            let ticks = linear(low, high, 6);
            assert!((2..=12).contains(&ticks.len()), "{low} {high}: {ticks:?}");
            let labels = linear_labels(&ticks);
            assert!(labels.windows(2).all(|w| w[0] != w[1]), "{labels:?}");
            let slack = 1e-9 * (high - low);
            assert!(ticks.iter().all(|t| (low - slack..=high + slack).contains(t)), "{ticks:?}");
        }
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten_where_there_are_enough() {
        assert_eq!(logarithmic(1e-14, 1.0, 5), [1e-12, 1e-9, 1e-6, 1e-3, 1.0]);
        assert_eq!(logarithmic(0.5, 2000.0, 5), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(logarithmic(0.9, 12.0, 5), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(logarithmic(3.0, 4.0, 4), [3.0, 3.5, 4.0].map(|v| v).to_vec());
        assert_eq!(logarithmic_labels(&[1e-12, 1e-6, 1.0, 1e4]), ["10⁻¹²", "10⁻⁶", "1", "10⁴"]);
        assert_eq!(logarithmic_labels(&[0.01, 0.1, 1.0, 1000.0]), ["0.01", "0.1", "1", "1000"]);
        assert_eq!(logarithmic_labels(&[2e-7, 5e-7, 1e-6]), ["2e-7", "5e-7", "1e-6"]);
    }

    #[test]
    fn impossible_ranges_have_no_ticks() {
        assert!(linear(1.0, 1.0, 5).is_empty());
        assert!(linear(f64::NAN, 1.0, 5).is_empty());
        assert!(linear(0.0, f64::INFINITY, 5).is_empty());
        assert!(logarithmic(0.0, 1.0, 5).is_empty());
        assert!(logarithmic(1.0, f64::INFINITY, 5).is_empty());
        assert!(linear(1e300, 1e300 * (1.0 + 1e-15), 5).len() <= 12);
    }
}
