//! Rows cut into parts that answer messages: they reach the optimum of the whole, whatever is lost on the way.

use std::ops::{ControlFlow, Range};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::engine::Rows;
use crate::loss::{AnyLoss, SmoothHinge, TopKHinge};
use crate::penalty::{AnyPenalty, Penalty};
use crate::plan::SystemPlan;
use crate::remote_fit::{PartDescription, RemoteFit};
use crate::risk::Risk;
use crate::scheme::Scheme;
use crate::solver::{AnySolver, Limits, Newton, Proximal, Solution, Stop};
use crate::{Dataset, Features, Method, Objective, Scaling, Spec, solver};

const EPSILON: f64 = 1e-6;

fn random(i: usize) -> f64 {
    ((i as f64 * 12.9898).sin() * 43758.5453).fract()
}

/// Clouds that overlap, sorted by class, so that parts miss classes.
fn clouds(n: usize, d: usize, c: usize, is_sparse: bool) -> Dataset<'static> {
    let class = |i: usize| i * c / n;
    let value = |at: usize| match at {
        _ if is_sparse && at % 7 > 2 => 0.0,
        _ => random(at) + if at % d == class(at / d) % d { 0.6 } else { 0.0 },
    };
    let x = Features::dense((0..n * d).map(value).collect::<Vec<_>>(), n, d).unwrap();
    let x = if is_sparse { compressed(&x) } else { x };
    let labels: Vec<String> = (0..n).map(|i| class(i).to_string()).collect();
    let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 3) as f64).collect();
    Dataset::from_labels(x, &labels).unwrap().with_weights(weights).unwrap()
}

fn compressed(x: &Features<'_>) -> Features<'static> {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    x.for_each_row(|_, row| {
        row.for_each(|j, v| {
            if v != 0.0 {
                columns.push(j as u32);
                values.push(v);
            }
        });
        starts.push(values.len());
    });
    Features::csr(starts, columns, values, x.cols()).unwrap()
}

/// Cuts of unequal length, one of them empty and one of a single row.
fn cuts(n: usize, parts: usize) -> Vec<Range<usize>> {
    let mut at: Vec<usize> = (0..parts).map(|k| n * k * k / (parts * parts)).collect();
    if parts > 3 {
        (at[1], at[2]) = (0, 1);
    }
    at.push(n);
    at.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

fn limits(tol: f64) -> Limits {
    Limits { tol, max_iter: 500, seed: 0, proof: true }
}

/// Parts in this process. Every so many messages, the one that gets it has lost all that it knew.
struct Desk<'a> {
    data: &'a Dataset<'a>,
    cuts: Vec<Range<usize>>,
    pieces: Vec<Features<'static>>,
    parts: Vec<Mutex<RowPart>>,
    forgets: usize,
    messages: AtomicUsize,
}

impl<'a> Desk<'a> {
    fn new(data: &'a Dataset<'a>, parts: usize, forgets: usize) -> Self {
        let cuts = cuts(data.x().rows(), parts);
        let rows = |cut: &Range<usize>| cut.clone().map(|i| i as u32).collect::<Vec<_>>();
        let pieces = cuts.iter().map(|cut| data.x().take_rows(&rows(cut))).collect();
        let parts = cuts.iter().map(|_| Mutex::default()).collect();
        Self { data, cuts, pieces, parts, forgets, messages: AtomicUsize::new(0) }
    }

    fn weights(&self, part: usize) -> Option<&[f64]> {
        self.data.weights().map(|all| &all[self.cuts[part].clone()])
    }

    fn descriptions(&self) -> Vec<PartDescription> {
        let of = |(k, x): (usize, &Features<'_>)| PartDescription::of(x, self.weights(k)).unwrap();
        self.pieces.iter().enumerate().map(of).collect()
    }
}

impl PartCarrier for Desk<'_> {
    fn parts(&self) -> usize {
        self.parts.len()
    }

    fn ask(&self, parts: &[usize], message: &[u8], _: &dyn Fn() -> bool) -> Result<Vec<Vec<u8>>> {
        let answer = |part: &usize| {
            let mut row_part = self.parts[*part].lock().unwrap();
            let number = self.messages.fetch_add(1, Ordering::Relaxed);
            if self.forgets > 0 && number % self.forgets == self.forgets - 1 {
                *row_part = RowPart::default();
            }
            let y = &self.data.y()[self.cuts[*part].clone()];
            let first = row_part.answer(&self.pieces[*part], y, self.weights(*part), message)?;
            // An engine may run a task again.
            let again = row_part.answer(&self.pieces[*part], y, self.weights(*part), message)?;
            assert_eq!(first, again);
            Ok(again)
        };
        parts.iter().map(answer).collect()
    }
}

/// A fit over rows in memory and over the same rows in parts.
fn both(
    data: &Dataset<'_>,
    (parts, forgets): (usize, usize),
    (any_loss, penalty, epsilon): (&AnyLoss, &dyn Penalty, f64),
    intercept: bool,
    writes_out: bool,
    tol: f64,
) -> (Solution, Solution) {
    let loss = any_loss.as_dyn();
    let whole = Risk::new(data, loss, penalty, epsilon, intercept);
    let go_on = &mut |_: &solver::Progress| ControlFlow::Continue(());
    let alone = AnySolver::Auto.minimize(&whole, vec![0.0; whole.dim()], &limits(tol), go_on).unwrap();
    let desk = Desk::new(data, parts, forgets);
    let spec = Spec { loss: *any_loss, epsilon, intercept, ..Spec::default().with_usual_lambda() };
    let setup = PartSetup {
        spec: serde_json::to_string(&spec).unwrap(),
        classes: data.classes().len(),
        features: data.x().cols(),
        shift: PackedNumbers::default(),
        factor: PackedNumbers::default(),
        class_weights: PackedNumbers::default(),
    };
    let stats = Stats::of(data.x(), data.weights());
    let matrix_room = if writes_out { f64::INFINITY } else { 0.0 };
    let sizes = Sizes { matrix_room, ..Sizes::of(data.x()) };
    let (problem, limits) = (&whole.problem, limits(tol));
    let mut rows = RemoteRows::new(problem, &desk, setup, sizes, &stats);
    let start = vec![0.0; whole.dim()];
    let apart = if penalty.separable().is_some() {
        Proximal {}.walk(problem, &mut rows, start, &limits, go_on)
    } else {
        let system = SystemPlan::of(problem, &rows.sizes());
        Newton {}.walk(problem, &mut rows, system, start, &limits, go_on)
    };
    assert!(rows.failure().is_none());
    let apart = apart.unwrap();
    // The objective of all rows together, whoever has found the point.
    assert!((whole.value(&apart.theta) / apart.certificate.objective - 1.0).abs() < 1e-12);
    (alone, apart)
}

fn agree(place: &str, tol: f64, (alone, apart): &(Solution, Solution)) {
    assert_eq!((alone.stop, apart.stop), (Stop::Converged, Stop::Converged), "{place}");
    let (a, b) = (&alone.certificate, &apart.certificate);
    if let (Some(below_a), Some(below_b)) = (a.lower_bound, b.lower_bound) {
        let (most, least) = (a.objective.max(b.objective), below_a.min(below_b));
        assert!(most - least <= 2.0 * tol * most, "{place}: {a:?} {b:?}");
        // No bound is above what the other has reached.
        assert!(below_a <= b.objective && below_b <= a.objective, "{place}: {a:?} {b:?}");
    } else {
        assert!((a.objective / b.objective - 1.0).abs() < 1e-6, "{place}: {a:?} {b:?}");
    }
}

/// Losses with and without kinks.
fn losses() -> Vec<AnyLoss> {
    let kinks = [AnyLoss::SmoothHinge(SmoothHinge { delta: 0.0 }), AnyLoss::TopKHinge(TopKHinge { k: 1, delta: 0.0 })];
    AnyLoss::examples().into_iter().chain(kinks).collect()
}

#[test]
fn parts_reach_the_certified_optimum_of_the_whole_for_every_loss_and_penalty() {
    let tol = 1e-8;
    for is_sparse in [false, true] {
        let data = clouds(120, 4, 4, is_sparse);
        for (loss, penalty) in
            losses().iter().flat_map(|loss| AnyPenalty::examples().into_iter().map(move |p| (loss, p)))
        {
            // Below p = 1 there are several optima, and kinks of both loss and penalty are refused.
            let (lasso, kinks) = (penalty.as_dyn().separable().is_some(), !loss.as_dyn().is_smooth());
            if !penalty.as_dyn().convex() || (lasso && kinks) {
                continue;
            }
            for (parts, intercept, writes_out) in [(1, true, true), (3, false, true), (5, true, true), (5, true, false)]
            {
                let place = format!("{loss:?} {penalty:?} in {parts}, sparse {is_sparse}, {intercept} {writes_out}");
                let terms = (loss, penalty.as_dyn(), EPSILON);
                let found = both(&data, (parts, 0), terms, intercept, writes_out, tol);
                agree(&place, tol, &found);
            }
        }
    }
}

/// What one scorer of a decomposition is trained on: rows of two classes, the one that it speaks for being 1.
fn two_classes(data: &Dataset<'_>, (k, against): (usize, Option<usize>)) -> Dataset<'static> {
    let takes_part = |i: &u32| {
        let y = data.y()[*i as usize] as usize;
        against.is_none_or(|l| y == k || y == l)
    };
    let rows: Vec<u32> = (0..data.rows() as u32).filter(takes_part).collect();
    let labels: Vec<String> = rows.iter().map(|i| u32::from(data.y()[*i as usize] as usize == k).to_string()).collect();
    let weights: Vec<f64> = rows.iter().map(|i| data.weights().unwrap()[*i as usize]).collect();
    Dataset::from_labels(data.x().take_rows(&rows), &labels).unwrap().with_weights(weights).unwrap()
}

#[test]
fn parts_reach_the_certified_optimum_of_every_method() {
    let tol = 1e-7;
    let data = clouds(120, 4, 4, false);
    for method in Method::ALL {
        let spec = Spec { scaling: Scaling::None, epsilon: EPSILON, tol, ..method.spec().with_usual_lambda() };
        let penalty = spec.penalty.as_dyn();
        let scorer = penalty.for_scorer();
        let apart: Vec<Solution> = match (spec.scheme, scorer.as_deref()) {
            (Scheme::Joint, _) => vec![both(&data, (5, 0), (&spec.loss, penalty, EPSILON), true, true, tol).1],
            // Two columns ±w/2 have half the square of w.
            (scheme, scorer) => {
                let terms = (&spec.loss, scorer.unwrap(), 2.0 * EPSILON);
                let sides = scheme.sides(data.classes().len()).into_iter();
                sides.map(|side| both(&two_classes(&data, side), (5, 0), terms, true, true, tol).1).collect()
            }
        };
        let model = spec.fit(&data).unwrap();
        let whole = model.certificate();
        let objective: f64 = apart.iter().map(|part| part.certificate.objective).sum();
        let bound: f64 = apart.iter().map(|part| part.certificate.lower_bound.unwrap()).sum();
        assert!(objective - bound <= tol * objective, "{method:?}: {bound} {objective}");
        let (at, below) = (whole.objective, whole.lower_bound.unwrap());
        assert!(bound <= at && below <= objective, "{method:?}: {bound} {objective}, {below} {at}");
    }
}

/// So many parameters that systems are solved by conjugate gradients, with both preconditioners.
#[test]
fn parts_do_so_where_the_matrix_is_too_large_to_be_written_out() {
    let tol = 1e-6;
    for (n, d) in [(900, 120), (300, 200)] {
        let data = clouds(n, d, 6, false);
        for (loss, penalty) in losses().iter().zip(AnyPenalty::examples().into_iter().cycle()).take(4) {
            let penalty = if penalty.as_dyn().convex() { penalty } else { AnyPenalty::default() };
            for writes_out in [true, false] {
                let terms = (loss, penalty.as_dyn(), EPSILON);
                let found = both(&data, (4, 0), terms, true, writes_out, tol);
                agree(&format!("{n} × {d} {loss:?} {penalty:?} {writes_out}"), tol, &found);
            }
        }
    }
}

/// One part is the whole, and bits do not depend on threads.
#[test]
fn parts_give_the_same_bits_on_any_number_of_threads() {
    let data = clouds(4000, 12, 5, false);
    let (loss, penalty) = (AnyLoss::default(), AnyPenalty::default());
    let bits = |threads: usize, parts: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (_, apart) = pool.install(|| both(&data, (parts, 0), (&loss, penalty.as_dyn(), EPSILON), true, true, 1e-6));
        apart.theta.iter().map(|t| t.to_bits()).collect::<Vec<_>>()
    };
    for parts in [2, 5] {
        let alone = bits(1, parts);
        assert!([2, 3, 7].iter().all(|threads| bits(*threads, parts) == alone));
    }
}

/// What is lost is made again, to the same bits.
#[test]
fn parts_that_forget_everything_now_and_then_change_no_bit() {
    let data = clouds(400, 6, 4, false);
    for loss in losses() {
        let bits = |forgets: usize| {
            let terms = (&loss, AnyPenalty::default(), EPSILON);
            let terms = (terms.0, terms.1.as_dyn(), terms.2);
            let (_, apart) = both(&data, (5, forgets), terms, true, true, 1e-7);
            apart.theta.iter().map(|t| t.to_bits()).collect::<Vec<_>>()
        };
        let never = bits(0);
        for forgets in [1, 7, 11] {
            assert_eq!(bits(forgets), never, "{loss:?} {forgets}");
        }
    }
}

/// Fits with every setting of the data, from descriptions to the model.
fn fit_of(spec: &Spec, data: &Dataset<'_>, parts: usize) -> Result<crate::Model> {
    let desk = Desk::new(data, parts, 13);
    let mut mass = vec![0.0; data.classes().len()];
    (0..data.rows()).for_each(|i| mass[data.y()[i] as usize] += data.weights().map_or(1.0, |w| w[i]));
    let fit = RemoteFit {
        carrier: &desk,
        descriptions: &desk.descriptions(),
        classes: data.classes().to_vec(),
        mass,
        feature_names: None,
    };
    fit.fit(spec, None, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn whole_fits_of_every_joint_method_agree_with_memory() {
    for (n, is_sparse) in [(150, false), (3000, false), (150, true)] {
        let data = clouds(n, 5, 3, is_sparse);
        for method in Method::ALL {
            let class_weight = crate::ClassWeight::Balanced;
            let spec = Spec { class_weight, tol: 1e-7, ..method.spec().with_usual_lambda() };
            let remote = fit_of(&spec, &data, 5);
            if spec.scheme != Scheme::Joint {
                assert!(remote.unwrap_err().to_string().contains("on other machines"), "{method:?}");
                continue;
            }
            let (remote, local) = (remote.unwrap(), spec.fit(&data).unwrap());
            let place = format!("{method:?} {n} {is_sparse}");
            let (a, b) = (remote.certificate(), local.certificate());
            assert!((a.objective - b.objective).abs() <= 2e-7 * b.objective, "{place}: {a:?} {b:?}");
            assert!(a.relative_gap().unwrap() <= 1e-7, "{place}: {a:?}");
            assert!((remote.train_accuracy() - local.train_accuracy()).abs() < 0.01, "{place}");
            assert_eq!(remote.training().rows, n);
        }
    }
}

/// Rounds of messages are what costs most with an engine: a step is the matrix, and value and gradient at its end, beside what shifts and proofs ask; and not one
/// round per product of conjugate gradients, which are cheaper for logistic regression in memory.
#[test]
fn a_step_is_a_handful_of_rounds() {
    for (d, c) in [(6, 4), (24, 10)] {
        let data = clouds(4000, d, c, false);
        for method in [Method::Lr, Method::M3svm, Method::Ww] {
            let model = fit_of(&method.spec().with_usual_lambda(), &data, 4).unwrap();
            let training = model.training();
            assert!(training.passes.unwrap() <= 5 * (training.iterations + 1), "{method:?}: {training:?}");
        }
    }
}

#[test]
fn who_is_told_to_stop_begins_no_more_rounds() {
    /// As slow as an engine.
    struct Slow<'a>(Desk<'a>);
    impl PartCarrier for Slow<'_> {
        fn parts(&self) -> usize {
            self.0.parts()
        }

        fn ask(&self, parts: &[usize], message: &[u8], go_on: &dyn Fn() -> bool) -> Result<Vec<Vec<u8>>> {
            if self.0.messages.load(Ordering::Relaxed) >= 8 {
                std::thread::sleep(std::time::Duration::from_millis(60));
            }
            self.0.ask(parts, message, go_on)
        }
    }
    let data = clouds(400, 6, 4, false);
    let desk = Slow(Desk::new(&data, 1, 0));
    let descriptions = desk.0.descriptions();
    let (classes, mass) = (data.classes().to_vec(), vec![100.0; 4]);
    let fit = RemoteFit { carrier: &desk, descriptions: &descriptions, classes, mass, feature_names: None };
    let mut told = None;
    let model = fit.fit(&Spec { tol: 1e-12, ..Spec::default().with_usual_lambda() }, None, &mut |_| {
        let sent = desk.0.messages.load(Ordering::Relaxed);
        if sent < 10 {
            return ControlFlow::Continue(());
        }
        told = told.or(Some(sent));
        ControlFlow::Break(())
    });
    let model = model.unwrap();
    assert_eq!(model.training().stop, Stop::Interrupted);
    assert!(model.certificate().objective.is_finite());
    // What the best point is worth takes eight rounds of its own; a step may take dozens.
    let after = desk.0.messages.load(Ordering::Relaxed) - told.unwrap();
    assert!(after <= 10, "{after}");
}

#[test]
fn a_carrier_that_fails_ends_the_fit_with_its_error() {
    struct Broken<'a>(Desk<'a>);
    impl PartCarrier for Broken<'_> {
        fn parts(&self) -> usize {
            self.0.parts()
        }

        fn ask(&self, parts: &[usize], message: &[u8], go_on: &dyn Fn() -> bool) -> Result<Vec<Vec<u8>>> {
            match self.0.messages.load(Ordering::Relaxed) {
                0..=20 => self.0.ask(parts, message, go_on),
                _ => Err(Error::Engine { what: "part 3 is gone".into() }),
            }
        }
    }
    let data = clouds(400, 6, 4, false);
    let desk = Broken(Desk::new(&data, 5, 0));
    let descriptions = desk.0.descriptions();
    let (classes, mass) = (data.classes().to_vec(), vec![100.0; 4]);
    let fit = RemoteFit { carrier: &desk, descriptions: &descriptions, classes, mass, feature_names: None };
    let error = fit.fit(&Spec::default().with_usual_lambda(), None, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(error.to_string(), "part 3 is gone");
    // A message of another version.
    let other = RowPart::default().answer(&desk.0.pieces[4], &[], None, b"m3svm 9.9.9\nx").unwrap_err();
    assert!(other.to_string().contains("must have the version of the client"), "{other}");
}
