//! Every way that a plan can choose, forced on problems that it would not choose it for.

use std::ops::ControlFlow;

use super::*;
use crate::engine::{InMemory, Rows};
use crate::loss::{AnyLoss, SmoothHinge, TopKHinge};
use crate::penalty::{AnyPenalty, Norm, Pairwise, Ridge};
use crate::reduce::Reduction;
use crate::solver::{DualCoordinate, Limits, Progress, Solution, Stop};
use crate::{Dataset, Features, Method, Objective, Risk};

const TOL: f64 = 1e-8;

fn random(i: usize) -> f64 {
    ((i as f64 * 12.9898).sin() * 43758.5453).fract()
}

fn clouds(n: usize, d: usize, c: usize) -> Dataset<'static> {
    let value = |at: usize| random(at) + if at % d == (at / d) % c { 0.7 } else { 0.0 };
    let labels: Vec<String> = (0..n).map(|i| (i % c).to_string()).collect();
    Dataset::from_labels(Features::dense((0..n * d).map(value).collect::<Vec<_>>(), n, d).unwrap(), &labels).unwrap()
}

fn go_on(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn limits() -> Limits {
    Limits { tol: TOL, max_iter: 500, seed: 0, proof: true }
}

fn assert_same(place: &str, found: &Solution, other: &Solution) {
    assert_eq!((found.stop, other.stop), (Stop::Converged, Stop::Converged), "{place}");
    let (a, b) = (found.certificate, other.certificate);
    assert!(a.lower_bound.unwrap() <= b.objective && b.lower_bound.unwrap() <= a.objective, "{place}: {a:?} {b:?}");
}

#[test]
fn all_ways_to_solve_systems_lead_to_the_same_optimum() {
    let losses = [
        AnyLoss::default(),
        AnyLoss::SmoothHinge(SmoothHinge { delta: 0.0 }),
        AnyLoss::TopKHinge(TopKHinge { k: 1, delta: 0.0 }),
        AnyLoss::TopKHinge(TopKHinge { k: 2, delta: 0.0 }),
        Method::Lr.spec().loss,
        Method::PairwiseLr.spec().loss,
    ];
    let penalties =
        [AnyPenalty::Pairwise(Pairwise::new(Norm::L2, 1e-2, 4.0)), AnyPenalty::Ridge(Ridge { lambda: 0.05 })];
    let data = clouds(150, 9, 4);
    for (loss, penalty) in losses.iter().flat_map(|loss| penalties.iter().map(move |penalty| (loss, penalty))) {
        let risk = Risk::new(&data, loss.as_dyn(), penalty.as_dyn(), 1e-6, true);
        let own = SystemPlan::of(&risk.problem, &InMemory::new(&risk).sizes());
        assert!(own.writes_out && !own.kronecker);
        let solve = |plan: SystemPlan| {
            let mut rows = InMemory::new(&risk);
            Newton {}.walk(&risk.problem, &mut rows, plan, vec![0.0; risk.dim()], &limits(), &mut go_on).unwrap()
        };
        let best = solve(own);
        let products = SystemPlan { writes_out: false, break_even: f64::INFINITY, ..own };
        for (name, plan) in [
            ("lumped", SystemPlan { written: Written::Lumped, ..own }),
            ("packed", SystemPlan { written: Written::Packed, ..own }),
            ("few entries", SystemPlan { entries: 5, ..products }),
            ("all entries", SystemPlan { entries: 3 * 150 * 4, ..products }),
            ("written out soon", SystemPlan { break_even: 3.0, ..products }),
            ("Kronecker", SystemPlan { kronecker: true, ..products }),
        ] {
            // Lumping wants weights that are positive, and the Kronecker product wants kinks.
            let positive = risk.problem.loss.shape().pairs_are_positive();
            if (plan.written == Written::Lumped || plan.kronecker) && !positive {
                continue;
            }
            assert_same(&format!("{loss:?} {penalty:?} {name}"), &best, &solve(plan));
        }
    }
}

#[test]
fn the_row_space_and_the_features_have_the_same_optimum() {
    let data = clouds(30, 80, 3);
    for method in Method::ALL.into_iter().filter(|method| *method != Method::Smlr) {
        let spec = method.spec().with_usual_lambda();
        let (loss, penalty) = (spec.loss.as_dyn(), spec.penalty.as_dyn());
        let full = Risk::new(&data, loss, penalty, 1e-6, true);
        assert!(reduces(penalty, &InMemory::new(&full).sizes(), &spec.solver).pick);
        let reduction = Reduction::of(&full).unwrap();
        let reduced = Risk::from_parts(reduction.features(), data.y(), 3, None, loss, penalty, 1e-6, true);
        let solve = |risk: &Risk<'_>| Newton {}.minimize(risk, vec![0.0; risk.dim()], &limits(), &mut go_on).unwrap();
        let (a, b) = (solve(&full), solve(&reduced));
        let (a, b) = (a.certificate, b.certificate);
        assert!((a.objective / b.objective - 1.0).abs() < 3.0 * TOL, "{method:?}: {a:?} {b:?}");
    }
}

#[test]
fn the_dual_asked_for_finds_the_optimum_of_newton_on_sparse_and_dense_rows() {
    let dense = clouds(120, 12, 4);
    let sparse = dense.borrow_with_x(
        Features::csr(
            (0..=120).map(|i| 12 * i).collect::<Vec<usize>>(),
            (0..120 * 12).map(|at| (at % 12) as u32).collect::<Vec<u32>>(),
            (0..120 * 12).map(|at| dense.x().get(at / 12, at % 12)).collect::<Vec<f64>>(),
            12,
        )
        .unwrap(),
    );
    for (data, method) in [&dense, &sparse]
        .into_iter()
        .flat_map(|data| [Method::Cs, Method::Ww, Method::Msvm, Method::Ovr].map(|method| (data, method)))
    {
        // Held by a strong ε, an intercept is one more feature; by a weak one it hardly moves in any row alone.
        for (intercept, epsilon) in [(false, 1e-6), (true, 1e-6), (true, 3.0)] {
            let spec = Spec { intercept, epsilon, tol: 1e-5, ..method.spec().with_usual_lambda() };
            let by = |solver: AnySolver| Spec { solver, ..spec.clone() }.fit(data).unwrap();
            let (dual, newton) = (by(AnySolver::Dual(DualCoordinate {})), by(AnySolver::Newton(Newton {})));
            assert_eq!(dual.training().solver, "dual");
            assert_eq!(dual.training().stop, Stop::Converged, "{method:?} {intercept} {epsilon}");
            let (a, b) = (dual.certificate(), newton.certificate());
            assert!(
                a.lower_bound.unwrap() <= b.objective && b.lower_bound.unwrap() <= a.objective,
                "{method:?} {intercept} {epsilon} {a:?} {b:?}"
            );
        }
    }
}

#[test]
fn many_classes_of_few_features_try_the_dual_first_and_find_the_optimum_of_newton() {
    let (many, few) = (clouds(210, 6, 70), clouds(210, 6, 5));
    for method in [Method::Cs, Method::Ww] {
        let spec = Spec { tol: 1e-4, ..method.spec().with_usual_lambda() };
        let newton = Spec { solver: AnySolver::Newton(Newton {}), ..spec.clone() };
        let (found, best) = (spec.fit(&many).unwrap(), newton.fit(&many).unwrap());
        let first = |data: &Dataset<'_>| {
            let decisions = Plan::of(&spec, data, false).unwrap().decisions;
            decisions.into_iter().find(|made| made.about == "dual ascent first").unwrap().choice
        };
        assert_eq!((first(&many), first(&few)), ("yes".to_string(), "no".to_string()));
        let (a, b) = (found.certificate(), best.certificate());
        assert!(
            a.lower_bound.unwrap() <= b.objective && b.lower_bound.unwrap() <= a.objective,
            "{method:?} {a:?} {b:?}"
        );
        assert!(a.relative_gap().unwrap() <= 1e-4 && b.relative_gap().unwrap() <= 1e-4, "{method:?} {a:?} {b:?}");
    }
}

#[test]
fn the_dual_is_refused_with_the_reason() {
    let asked = |spec: Spec| Spec { solver: AnySolver::Dual(DualCoordinate {}), ..spec };
    let without = |method: Method| Spec { intercept: false, ..method.spec().with_usual_lambda() };
    for (spec, what) in [
        (without(Method::Lr), "losses other than exact hinges"),
        (without(Method::M3svm), "losses other than exact hinges"),
        (Spec { loss: Method::Ww.spec().loss, ..without(Method::M3svm) }, "penalties other than squared lengths"),
        (without(Method::Ovo), "one-vs-one problems"),
    ] {
        let error = asked(spec).check().unwrap_err().to_string();
        assert!(error.contains(what) && error.contains("dual"), "{error}");
    }
}

#[test]
fn problems_of_two_classes_have_the_same_optima_in_step_and_apart() {
    let data = clouds(90, 6, 3);
    for (method, delta) in
        [Method::Ovr, Method::Ovo].into_iter().flat_map(|method| [0.05, 0.3].map(|delta| (method, delta)))
    {
        let spec =
            Spec { loss: AnyLoss::SmoothHinge(SmoothHinge { delta }), tol: 1e-8, ..method.spec().with_usual_lambda() };
        let apart = Spec { solver: AnySolver::Lbfgs(Lbfgs::default()), tol: 1e-6, ..spec.clone() };
        let passes = |spec: &Spec| {
            let plan = Plan::of(spec, &data, false).unwrap();
            plan.decisions.iter().find(|made| made.about == "passes").map(|made| made.choice.clone()).unwrap()
        };
        assert_eq!((passes(&spec), passes(&apart)), ("shared".into(), "apart".into()));
        let (a, b) = (spec.fit(&data).unwrap(), apart.fit(&data).unwrap());
        assert_eq!((a.training().stop, b.training().stop), (Stop::Converged, Stop::Converged), "{method:?} {delta}");
        let (a, b) = (a.certificate().objective, b.certificate().objective);
        assert!((a / b - 1.0).abs() < 3e-6, "{method:?} {delta}: {a} {b}");
    }
}

/// What is asked for is what runs, to its limit and wherever it begins.
#[test]
fn the_dual_keeps_its_limit_its_start_and_rows_that_weigh_nothing() {
    let dense = clouds(120, 12, 4);
    let weights: Vec<f64> = (0..120).map(|i| if i % 5 == 0 { 0.0 } else { 1.0 }).collect();
    let mut values: Vec<f64> = (0..120 * 12).map(|at| dense.x().get(at / 12, at % 12)).collect();
    values[12..24].fill(0.0);
    let data = dense.borrow_with_x(Features::dense(values, 120, 12).unwrap()).with_weights(weights).unwrap();
    for method in [Method::Cs, Method::Ww, Method::Ovr] {
        let newton = Spec { intercept: false, tol: 1e-5, ..method.spec().with_usual_lambda() };
        let dual = Spec { solver: AnySolver::Dual(DualCoordinate {}), ..newton.clone() };
        let best = newton.fit(&data).unwrap();
        let best = best.certificate();
        let found = dual.fit(&data).unwrap();
        assert_eq!(found.training().stop, Stop::Converged, "{method:?}");
        let at = found.certificate();
        assert!(at.lower_bound.unwrap() <= best.objective && best.lower_bound.unwrap() <= at.objective, "{method:?}");
        let problems = if method == Method::Ovr { 4 } else { 1 };
        let short = Spec { max_iter: Some(1), ..dual.clone() }.fit(&data).unwrap();
        assert_eq!(
            (short.training().iterations, short.training().stop),
            (problems, Stop::IterationLimit),
            "{method:?}"
        );
        // A start that is better than what one pass finds is not lost.
        let again = Spec { max_iter: Some(1), tol: 1e-9, ..dual };
        let again = again.fit_watched(&data, Some(&found), &mut go_on).unwrap();
        assert!(again.certificate().objective <= at.objective * (1.0 + 1e-12), "{method:?}");
    }
}

/// What a plan says is what runs.
#[test]
fn the_solver_of_the_plan_is_that_of_the_report() {
    let data = clouds(60, 5, 3);
    for method in Method::ALL {
        let spec = Spec { tol: 1e-4, ..method.spec().with_usual_lambda() };
        let plan = Plan::of(&spec, &data, false).unwrap();
        let said = plan.decisions.iter().find(|decision| decision.about == "solver").unwrap();
        assert_eq!(said.choice, spec.fit(&data).unwrap().training().solver, "{method:?}");
        assert!(plan.decisions.iter().all(|decision| !decision.reason.is_empty() && !decision.choice.is_empty()));
    }
}

/// What a loss says of itself is what it does.
#[test]
fn capabilities_are_true() {
    let kinks = [SmoothHinge { delta: 0.0 }].map(AnyLoss::SmoothHinge).into_iter();
    let tops = [1, 2].map(|k| AnyLoss::TopKHinge(TopKHinge { k, delta: 0.0 })).into_iter();
    for loss in AnyLoss::examples().into_iter().chain(kinks).chain(tops) {
        let loss = loss.as_dyn();
        // What can be rounded off however finely has a kink.
        assert_eq!(loss.is_smooth(), loss.relaxed(f64::MIN_POSITIVE).is_none(), "{loss:?}");
        assert_eq!(loss.is_hinge(), loss.dual_len(3) > 0, "{loss:?}");
        assert!(!loss.has_dual_slopes() || loss.dual_len(3) > 0, "{loss:?}");
    }
    for penalty in AnyPenalty::examples() {
        let kinks = penalty.as_dyn().relaxed(f64::MIN_POSITIVE).is_some() || penalty.as_dyn().separable().is_some();
        assert_eq!(penalty.as_dyn().is_smooth(), !kinks, "{penalty:?}");
    }
}
