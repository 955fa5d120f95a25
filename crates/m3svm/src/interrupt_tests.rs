//! What is heard, and what becomes of a fit that is interrupted anywhere.

use super::*;
use crate::penalty::Ridge;
use crate::solver::{AnySolver, DualCoordinate, Lbfgs, Newton, Stop};
use crate::{AnyPenalty, Dataset, Features, Method, Scaling, Scheme, Spec};

#[test]
fn a_watcher_that_has_said_no_is_not_asked_again() {
    let mut asked = 0;
    let mut watch = |_: &Progress| {
        asked += 1;
        if asked < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let interrupt = Interrupt::new(&mut watch);
    let at = Progress { iteration: 1, evaluations: 1, objective: 1.0, relative_gap: None, inner: false, passes: None };
    assert!(interrupt.report(&at).is_continue() && !interrupt.heed().is_stopped());
    assert!(interrupt.report(&at).is_continue());
    assert!(interrupt.report(&at).is_break() && interrupt.heed().is_stopped());
    assert!(interrupt.report(&at).is_break() && !interrupt.heed().go_on());
    assert_eq!(asked, 3);
    assert!(Heed::default().go_on() && !Heed::default().is_stopped());
}

#[test]
fn inner_loops_ask_by_the_clock_and_say_where_the_fit_last_stood() {
    let mut seen = Vec::new();
    let mut watch = |at: &Progress| {
        seen.push((at.iteration, at.inner));
        if seen.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let interrupt = Interrupt::new(&mut watch);
    let at = Progress { iteration: 7, evaluations: 1, objective: 1.0, relative_gap: None, inner: false, passes: None };
    assert!(interrupt.report(&at).is_continue());
    let started = Instant::now();
    while interrupt.heed().go_on() {
        assert!(started.elapsed().as_secs() < 20);
    }
    assert!(started.elapsed().as_millis() >= 2 * u128::from(EVERY) - 10);
    assert_eq!(seen, [(7, false), (7, true), (7, true)]);
}

/// Rows of several blocks, in classes that overlap.
fn data(sparse: bool) -> Dataset<'static> {
    let (n, d, c) = (2600, 6, 4);
    let number = |i: usize| ((i as f64 * 12.9898).sin() * 43758.5453).fract();
    let value = |at: usize| {
        let (i, j) = (at / d, at % d);
        let centre = if j == i % c { 0.7 } else { 0.0 };
        if sparse && (i + j) % 12 > 0 { 0.0 } else { number(at) + centre }
    };
    let x: Vec<f64> = (0..n * d).map(value).collect();
    let y: Vec<String> = (0..n).map(|i| (i % c).to_string()).collect();
    if !sparse {
        return Dataset::from_labels(Features::dense(x, n, d).unwrap(), &y).unwrap();
    }
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in x.chunks_exact(d) {
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(*v);
        }
        indptr.push(indices.len());
    }
    Dataset::from_labels(Features::csr(indptr, indices, values, d).unwrap(), &y).unwrap()
}

fn specs() -> Vec<Spec> {
    let plain = |spec: Spec| Spec { scaling: Scaling::None, tol: 1e-6, ..spec };
    let mut specs: Vec<Spec> = Method::ALL.into_iter().map(|method| plain(method.spec().with_usual_lambda())).collect();
    let ridge = AnyPenalty::Ridge(Ridge { lambda: 0.1 });
    for method in [Method::Ww, Method::Ovr] {
        // What descends row by row on sparse data, and what does not descend at all.
        specs.push(Spec { intercept: false, penalty: ridge, ..plain(method.spec().with_usual_lambda()) });
        specs.push(Spec {
            solver: AnySolver::Newton(Newton {}),
            penalty: ridge,
            ..plain(method.spec().with_usual_lambda())
        });
    }
    for method in [Method::Cs, Method::Ww, Method::Ovr] {
        let dual = AnySolver::Dual(DualCoordinate {});
        specs.push(Spec {
            solver: dual,
            intercept: false,
            penalty: ridge,
            tol: 1e-3,
            ..plain(method.spec().with_usual_lambda())
        });
    }
    let lbfgs = AnySolver::Lbfgs(Lbfgs::default());
    specs.push(Spec { solver: lbfgs, max_iter: Some(60), ..plain(Method::Lr.spec().with_usual_lambda()) });
    specs
}

/// Runs a fit that is interrupted at the n-th question; the solution, and how often it asked.
fn interrupted(spec: &Spec, data: &Dataset<'_>, start: &[f64], at: usize) -> (crate::solver::Solution, usize) {
    let mut asked = 0;
    let mut watch = |_: &Progress| {
        asked += 1;
        if asked < at { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let interrupt = Interrupt::eager(&mut watch);
    let (found, _) = spec.solve_heeding(data, start.to_vec(), None, &interrupt).unwrap();
    (found, asked)
}

/// Passes that were cut short leave numbers that mean nothing. None of them may be taken for a value or a bound.
#[test]
fn whenever_a_fit_is_interrupted_its_objective_is_that_of_its_weights_and_its_bound_holds() {
    let mut failures = Vec::new();
    for (sparse, spec) in [false, true].into_iter().flat_map(|sparse| specs().into_iter().map(move |s| (sparse, s))) {
        let data = data(sparse);
        let (optimum, questions) = interrupted(&spec, &data, &spec.origin(&data), usize::MAX);
        let warm: Vec<f64> = optimum.theta.iter().map(|w| 0.9 * w).collect();
        let mut at = 1;
        while at < questions {
            for start in [&spec.origin(&data), &warm] {
                let (found, asked) = interrupted(&spec, &data, start, at);
                let what = format!(
                    "{} {:?} sparse {sparse}, question {at} of {questions}",
                    Method::of(&spec).map_or("", Method::name),
                    spec.solver
                );
                if asked < at {
                    continue;
                }
                if found.stop != Stop::Interrupted && found.stop != Stop::Converged {
                    failures.push(format!("{what}: {:?}", found.stop));
                }
                let (value, bound) = (found.certificate.objective, found.certificate.lower_bound.unwrap());
                let real = objective(&spec, &data, &found.theta);
                if (value - real).abs() > 1e-9 * real {
                    failures.push(format!("{what}: {value} is {real}"));
                }
                if bound > optimum.certificate.objective * (1.0 + 1e-9) || bound < 0.0 {
                    failures.push(format!("{what}: bound {bound} of {:?}", optimum.certificate));
                }
                if asked != at {
                    failures.push(format!("{what}: asked {asked} times"));
                }
            }
            at = at + 1 + at / 3;
        }
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

/// The objective, of problems one by one where there are many.
fn objective(spec: &Spec, data: &Dataset<'_>, theta: &[f64]) -> f64 {
    if spec.scheme == Scheme::Joint {
        let task = spec.joint_task(data).unwrap();
        return spec.risk(&task, task.x).value(theta);
    }
    let sides = spec.scheme.sides(data.classes().len());
    let (m, d) = (sides.len(), data.x().cols());
    let lambda = spec.penalty.lambda().unwrap_or(0.0);
    let side = |(number, (k, against)): (usize, &(usize, Option<usize>))| {
        let own: Vec<f64> = theta.iter().skip(number).step_by(m).copied().collect();
        let rows = (0..data.rows()).filter(|i| {
            let y = data.y()[*i] as usize;
            against.is_none_or(|l| y == *k || y == l)
        });
        let loss = |i: usize| {
            let score: f64 =
                (0..d).map(|j| own[j] * data.x().get(i, j)).sum::<f64>() + own.get(d).copied().unwrap_or(0.0);
            let above = data.y()[i] as usize == *k;
            spec.loss.as_dyn().value_grad(&[0.0, score], usize::from(above), &mut [0.0; 2])
        };
        let square: f64 = own[..d].iter().map(|w| w * w).sum();
        rows.map(loss).sum::<f64>() + lambda * square + spec.epsilon * own.iter().map(|w| w * w).sum::<f64>()
    };
    sides.iter().enumerate().map(side).sum()
}
