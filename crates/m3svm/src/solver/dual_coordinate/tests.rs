//! Ascent where classes are many, next to Newton's method.

use std::ops::ControlFlow;

use super::*;
use crate::loss::{SmoothHinge, TopKHinge};
use crate::penalty::Ridge;
use crate::solver::Newton;
use crate::{Dataset, Features, Loss};

#[test]
fn rows_moved_among_contenders_reach_the_optimum() {
    let (n, d, c) = (160, 6, 40);
    let random = |i: usize| ((i as f64 * 12.9898).sin() * 43758.5453).fract();
    let value = |at: usize| 0.5 * random(at) + 3.0 * random(10_000 + (at / d % c) * d + at % d);
    let labels: Vec<String> = (0..n).map(|i| (i % c).to_string()).collect();
    let x = Features::dense((0..n * d).map(value).collect::<Vec<_>>(), n, d).unwrap();
    let data = Dataset::from_labels(x, &labels).unwrap();
    let losses: [&dyn Loss; 2] = [&TopKHinge { k: 1, delta: 0.0 }, &SmoothHinge { delta: 0.0 }];
    let limits = Limits { tol: 1e-3, max_iter: 6000, seed: 0, proof: true };
    let go_on = &mut |_: &Progress| ControlFlow::Continue(());
    for (loss, intercept) in losses.into_iter().flat_map(|loss| [(loss, false), (loss, true)]) {
        let penalty = Ridge { lambda: 0.5 };
        let risk = Risk::new(&data, loss, &penalty, 1e-6, intercept);
        let start = vec![0.0; risk.dim()];
        let found = DualCoordinate {}.minimize(&risk, start.clone(), &limits, go_on).unwrap();
        let other = Newton {}.minimize(&risk, start, &limits, go_on).unwrap();
        let (a, b) = (found.certificate, other.certificate);
        let place = format!("{loss:?} {intercept}: {a:?} {b:?}, {} passes", found.iterations);
        assert_eq!((found.stop, other.stop), (Stop::Converged, Stop::Converged), "{place}");
        assert!(a.lower_bound.unwrap() <= b.objective && b.lower_bound.unwrap() <= a.objective, "{place}");
        // Lists are used: by then rows have few contenders.
        let mut ascent = Ascent::new(&risk, &limits, 0);
        (0..100).for_each(|_| ascent.pass());
        let listed = |i: usize| ascent.contenders.as_ref().is_some_and(|it| it.of_row(i).is_some());
        assert!((0..n).any(listed), "{place}");
    }
}
