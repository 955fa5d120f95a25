//! Rows that pass by have the optimum of rows in memory.

use super::*;
use crate::Dataset;
use crate::Method;
use crate::features::Features;
use crate::loss::{AnyLoss, SmoothHinge, TopKHinge};
use crate::penalty::AnyPenalty;
use crate::row_source::RowBatch;
use crate::scale::Scaling;
use crate::solver::Stop;
use crate::spec::ClassWeight;

fn random(i: usize) -> f64 {
    ((i as f64 * 12.9898).sin() * 43758.5453).fract()
}

/// Clouds that overlap, sorted by class, so that blocks miss classes.
fn clouds(n: usize, d: usize, c: usize, single: bool) -> (Vec<f64>, Vec<String>) {
    let class = |i: usize| i * c / n;
    let round = |v: f64| if single { f64::from(v as f32) } else { v };
    let value = |at: usize| round(3.0 + random(at) + if at % d == class(at / d) % d { 0.6 } else { 0.0 });
    ((0..n * d).map(value).collect(), (0..n).map(|i| format!("class {}", class(i))).collect())
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum SourceKind {
    Dense,
    Single,
    Sparse,
}

fn features(x: &[f64], d: usize, kind: SourceKind) -> Features<'static> {
    let rows = x.len() / d;
    match kind {
        SourceKind::Dense => Features::dense(x.to_vec(), rows, d).unwrap(),
        SourceKind::Single => Features::dense(x.iter().map(|v| *v as f32).collect::<Vec<f32>>(), rows, d).unwrap(),
        SourceKind::Sparse => {
            let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for row in x.chunks_exact(d) {
                for (j, v) in row.iter().enumerate().filter(|(j, v)| !(*j + (**v * 1e4) as usize).is_multiple_of(3)) {
                    indices.push(j as u32);
                    values.push(*v);
                }
                starts.push(values.len());
            }
            Features::csr(starts, indices, values, d).unwrap()
        }
    }
}

struct Table {
    x: Vec<f64>,
    labels: Vec<String>,
    weights: Option<Vec<f64>>,
    d: usize,
    kind: SourceKind,
}

impl Table {
    fn new(n: usize, d: usize, c: usize, kind: SourceKind, weighted: bool) -> Self {
        let (x, labels) = clouds(n, d, c, kind == SourceKind::Single);
        let weights = weighted.then(|| (0..n).map(|i| 0.5 + (i % 3) as f64).collect());
        Self { x, labels, weights, d, kind }
    }

    fn dataset(&self) -> Dataset<'static> {
        let data = Dataset::from_labels(features(&self.x, self.d, self.kind), &self.labels).unwrap();
        match &self.weights {
            Some(weights) => data.with_weights(weights.clone()).unwrap(),
            None => data,
        }
    }

    /// Batches of so many rows, with an empty one in between.
    fn batches(&self, rows: usize) -> impl Iterator<Item = std::result::Result<RowBatch<'static>, Error>> {
        let cuts: Vec<_> = (0..self.labels.len())
            .step_by(rows)
            .flat_map(|at| [at..at, at..(at + rows).min(self.labels.len())])
            .collect();
        let parts: Vec<_> = cuts
            .into_iter()
            .map(|cut| {
                let x = features(&self.x[cut.start * self.d..cut.end * self.d], self.d, self.kind);
                let weights = self.weights.as_ref().map(|weights| weights[cut.clone()].to_vec());
                Ok(RowBatch { x, labels: self.labels[cut].to_vec(), weights })
            })
            .collect();
        parts.into_iter()
    }
}

fn agree(place: &str, spec: &Spec, table: &Table, memory: u64) -> Model {
    let alone = spec.fit(&table.dataset()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let fit = Fit { place: CachePlace { folder: folder.path().to_path_buf(), kept_as: None }, memory };
    let streamed = fit.of_source(spec, &mut table.batches(50)).unwrap();
    assert!(streamed.training().passes.is_some(), "{place}: rows were held in memory");
    assert_eq!(streamed.training().stop, Stop::Converged, "{place}: {:?}", streamed.certificate());
    let (a, b) = (alone.certificate(), streamed.certificate());
    if let (Some(below_a), Some(below_b)) = (a.lower_bound, b.lower_bound) {
        let (most, least) = (a.objective.max(b.objective), below_a.min(below_b));
        assert!(most - least <= 2.0 * spec.tol * most, "{place}: {a:?} {b:?}");
        // No bound is above what the other has reached, but for what scaling by parts has rounded.
        assert!(
            below_a <= b.objective * (1.0 + 1e-11) && below_b <= a.objective * (1.0 + 1e-11),
            "{place}: {a:?} {b:?}"
        );
    }
    assert!((alone.train_accuracy() - streamed.train_accuracy()).abs() < 0.02, "{place}");
    assert_eq!(alone.support_counts().is_some(), streamed.support_counts().is_some(), "{place}");
    if let (Some(a), Some(b)) = (alone.support_rows(), streamed.support_rows()) {
        assert!(a.abs_diff(b) <= 2 + a / 20, "{place}: {a} {b}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{place}");
    streamed
}

#[test]
fn every_joint_method_reaches_the_certified_optimum_of_rows_in_memory() {
    let kinks = [AnyLoss::SmoothHinge(SmoothHinge { delta: 0.0 }), AnyLoss::TopKHinge(TopKHinge { k: 1, delta: 0.0 })];
    let losses: Vec<AnyLoss> = AnyLoss::examples().into_iter().chain(kinks).collect();
    // Every loss with every other penalty, and all kinds of rows in turn.
    let kinds = [SourceKind::Dense, SourceKind::Single, SourceKind::Sparse];
    let mut turn = 0;
    for (number, loss) in losses.iter().enumerate() {
        for (intercept, weighted, memory) in [(true, false, 1 << 13), (false, true, 0)] {
            for penalty in AnyPenalty::examples().into_iter().skip(number % 2).step_by(2) {
                let lasso = penalty.as_dyn().separable().is_some();
                if !penalty.as_dyn().convex() || (lasso && !loss.as_dyn().is_smooth()) {
                    continue;
                }
                turn += 1;
                let kind = kinds[turn % kinds.len()];
                let table = Table::new(220, 4, 4, kind, weighted);
                let spec = Spec { loss: *loss, penalty, intercept, tol: 1e-7, ..Spec::default().with_usual_lambda() };
                let place = format!("{loss:?} {penalty:?} {kind:?} {intercept} {weighted} {memory}");
                agree(&place, &spec, &table, memory);
            }
        }
    }
}

#[test]
fn one_against_the_rest_and_class_weights_and_every_scaling_do_so_too() {
    let table = Table::new(240, 3, 3, SourceKind::Dense, true);
    for scaling in Scaling::ALL {
        for (scheme, class_weight) in [
            (Scheme::OneVsRest, ClassWeight::None),
            (Scheme::Joint, ClassWeight::Balanced),
            (Scheme::OneVsRest, ClassWeight::Balanced),
        ] {
            let spec = Spec {
                scheme,
                scaling,
                class_weight: class_weight.clone(),
                penalty: AnyPenalty::examples()[1],
                tol: 1e-6,
                ..Spec::default().with_usual_lambda()
            };
            if spec.penalty.as_dyn().for_scorer().is_none() {
                continue;
            }
            agree(&format!("{scheme:?} {scaling:?} {class_weight:?}"), &spec, &table, 1 << 12);
        }
    }
}

#[test]
fn conjugate_gradients_and_samples_do_so_too() {
    // So many parameters that no matrix is written out, and so many rows that there is a sample.
    let table = Table::new(2400, 20, 5, SourceKind::Single, false);
    for loss in [AnyLoss::default(), AnyLoss::examples()[1]] {
        let spec = Spec { loss, tol: 1e-6, ..Spec::default().with_usual_lambda() };
        let model = agree(&format!("{loss:?}"), &spec, &table, 1 << 19);
        assert_eq!(model.training().rows, 2400);
    }
}

/// 205 parameters without those of a class: a whole matrix takes 336 KB, a packed one 88 KB.
#[test]
fn half_a_matrix_in_single_precision_keeps_passes_few() {
    let table = Table::new(1500, 40, 6, SourceKind::Dense, false);
    for method in [Method::M3svm, Method::Ww, Method::Cs, Method::Topk, Method::Lr] {
        let spec = Spec { tol: 1e-6, ..method.spec().with_usual_lambda() };
        let passes = |memory| agree(&format!("{method:?} {memory}"), &spec, &table, memory).training().passes.unwrap();
        let packed = passes(400_000);
        // Thousands without it, where hinges are exact.
        assert!(packed <= 400, "{method:?}: {packed}");
        if method == Method::M3svm {
            let products = passes(100_000);
            assert!(packed <= 120 && packed < products, "{packed} {products}");
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    // With a whole matrix, and with a packed one of two panels.
    for (table, memory) in [
        (Table::new(3000, 12, 5, SourceKind::Dense, false), 1 << 19),
        (Table::new(3000, 60, 6, SourceKind::Dense, false), 600_000),
    ] {
        let bits = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let fit = Fit { memory, ..Fit::default() };
            let model =
                pool.install(|| fit.of_source(&Spec::default().with_usual_lambda(), &mut table.batches(70))).unwrap();
            assert!(model.training().passes.is_some());
            model.weights().iter().map(|w| w.to_bits()).collect::<Vec<_>>()
        };
        let alone = bits(1);
        assert!([2, 3].iter().all(|threads| bits(*threads) == alone));
    }
}

#[test]
fn what_fits_into_memory_is_as_if_it_had_come_at_once() {
    for kind in [SourceKind::Dense, SourceKind::Single, SourceKind::Sparse] {
        let table = Table::new(200, 3, 3, kind, true);
        let whole = Spec::default().with_usual_lambda().fit(&table.dataset()).unwrap();
        let model = Fit { memory: 1 << 30, ..Fit::default() }
            .of_source(&Spec::default().with_usual_lambda(), &mut table.batches(7))
            .unwrap();
        assert_eq!(model, whole);
    }
}

#[test]
fn an_interrupted_fit_gives_the_best_model_so_far() {
    let table = Table::new(400, 4, 4, SourceKind::Dense, false);
    let folder = tempfile::tempdir().unwrap();
    // Before the first step, and after some: inner loops ask by the clock, steps do not.
    for steps in [0, 1, 3] {
        let fit = Fit { place: CachePlace { folder: folder.path().to_path_buf(), kept_as: None }, memory: 1 << 12 };
        let watch = &mut |at: &Progress| {
            if !at.inner && at.iteration >= steps { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let model =
            fit.of_source_watched(&Spec::default().with_usual_lambda(), &mut table.batches(50), None, watch).unwrap();
        assert_eq!(model.training().stop, Stop::Interrupted);
        assert!(model.training().iterations <= steps && model.certificate().objective.is_finite());
    }
    // While rows are read there is no model yet.
    let fit = Fit { place: CachePlace { folder: folder.path().to_path_buf(), kept_as: None }, memory: 0 };
    let error = fit.of_source_watched(&Spec::default().with_usual_lambda(), &mut table.batches(50), None, &mut |_| {
        ControlFlow::Break(())
    });
    assert!(matches!(error, Err(Error::Interrupted)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_needs_all_rows_at_hand_is_refused() {
    let table = Table::new(60, 3, 3, SourceKind::Dense, false);
    let fit = Fit { memory: 0, ..Fit::default() };
    let refused = |spec: Spec| fit.of_source(&spec, &mut table.batches(50)).unwrap_err().to_string();
    let pairs = refused(Spec { scheme: Scheme::OneVsOne, ..Spec::default().with_usual_lambda() });
    assert_eq!(
        pairs,
        "the solver of rows on disk cannot minimise a problem for every pair of classes; train all classes jointly, or take more memory"
    );
    let solver = AnySolver::Lbfgs(crate::solver::Lbfgs::default());
    assert!(refused(Spec { solver, ..Spec::default().with_usual_lambda() }).contains("by other means than Newton's"));
}

#[test]
fn a_warm_start_is_taken_from_a_model() {
    let table = Table::new(400, 4, 4, SourceKind::Dense, false);
    let fit = Fit { memory: 1 << 12, ..Fit::default() };
    let go_on = &mut |_: &Progress| ControlFlow::Continue(());
    let first = fit.of_source(&Spec::default().with_usual_lambda(), &mut table.batches(50)).unwrap();
    let again = fit
        .of_source_watched(&Spec::default().with_usual_lambda(), &mut table.batches(50), Some(&first), go_on)
        .unwrap();
    assert!(again.training().iterations <= 2, "{:?}", again.training());
}

#[test]
fn a_search_over_rows_on_disk_chooses_as_one_in_memory() {
    use crate::metrics::Criterion;
    use crate::select::{GridValues, Journal, Search};

    for (spec, kind, weighted, criterion) in [
        (crate::Method::Lr.spec().with_usual_lambda(), SourceKind::Dense, true, Criterion::LogLoss),
        (Spec::default().with_usual_lambda(), SourceKind::Sparse, false, Criterion::Balanced),
        (crate::Method::Ovr.spec().with_usual_lambda(), SourceKind::Single, true, Criterion::Accuracy),
    ] {
        let place = format!("{:?} {kind:?}", spec.loss);
        let table = Table::new(400, 4, 3, kind, weighted);
        let mut search = Search { folds: 3, repeats: 2, discard: false, tol: 1e-10, criterion, ..Search::new(spec) };
        search.grid.extends = false;
        search.grid.lambdas = Some(GridValues::new(vec![1e-3, 1.0, 300.0]).unwrap());
        search.grid.ps = search.grid.ps.is_some().then(|| GridValues::new(vec![2.0, 4.0]).unwrap());
        let go_on = &|_: &crate::select::SearchProgress| ControlFlow::Continue(());
        let alone = search.run(&table.dataset(), None, &Journal::none(), go_on).unwrap();
        let fit = Fit { memory: 1 << 13, ..Fit::default() };
        let rows = fit.gather(&mut table.batches(50), &mut || true).unwrap();
        assert!(rows.is_on_disk(), "{place}");
        let found = search.run_gathered(&fit, &rows, go_on).unwrap();
        assert_eq!((found.fits, found.best_mean), (alone.fits, alone.best_mean), "{place}");
        assert_eq!(found.one_standard_error, alone.one_standard_error, "{place}");
        for (a, b) in alone.outcomes.iter().zip(&found.outcomes) {
            assert_eq!(a.setting, b.setting);
            for (a, b) in a.scores.iter().zip(&b.scores) {
                assert!((a - b).abs() < 2e-3, "{place} {:?}: {a} {b}", found.outcomes);
            }
        }
        let stopped = &|at: &crate::select::SearchProgress| match at.done {
            0..5 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        let some = search.run_gathered(&fit, &rows, stopped);
        // A fold that was not finished says nothing.
        assert!(matches!(some, Err(Error::Interrupted)) || some.unwrap().interrupted, "{place}");
    }
}

#[test]
fn numbers_that_are_texts_keep_the_order_of_texts() {
    for memory in [1 << 12, 1 << 24] {
        let fit = Fit { memory, ..Fit::default() };
        let mut gatherer = fit.gatherer();
        let labels: Vec<String> = (0..300).map(|i| ["9", "10", "2"][i % 3].to_string()).collect();
        for labels in labels.chunks(50) {
            let values: Vec<f64> = labels.iter().map(|label| label.parse::<f64>().unwrap()).collect();
            let x = Features::dense(values, labels.len(), 1).unwrap();
            gatherer.push(&RowBatch { x, labels: labels.to_vec(), weights: None }).unwrap();
        }
        let rows = gatherer.finish(crate::AboutRows { text_labels: true, ..crate::AboutRows::default() }).unwrap();
        assert_eq!((rows.classes(), rows.rows(), rows.features()), (&["10", "2", "9"].map(String::from)[..], 300, 1));
        let go_on = &mut |_: &Progress| ControlFlow::Continue(());
        let model = fit.of_rows(&Spec::default().with_usual_lambda(), rows, None, go_on).unwrap();
        assert_eq!(model.classes(), ["10", "2", "9"]);
        assert_eq!(model.predict(&Features::dense(vec![9.0, 10.0, 2.0], 3, 1).unwrap()).unwrap(), [2, 0, 1]);
    }
}
