//! Real data: every setting is solved to a proof.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use m3svm::penalty::Ridge;
use m3svm::{AnyPenalty, Dataset, Features, Method, Scaling, Spec, Stop};

use crate::common::{Problem, newton, none, pairwise, parse_csv, top_k};

/// The text of a file of the data folder, if there is one.
fn data_file(name: &str) -> Option<String> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("M3SVM_DATA").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = folder.join(name);
    let Ok(file) = std::fs::File::open(&path) else {
        eprintln!("{name} is left out: there is no {}", path.display());
        return None;
    };
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    Some(text)
}

pub(crate) fn table(name: &str) -> Option<Dataset<'static>> {
    data_file(&format!("{name}.csv.gz")).map(|text| parse_csv(&text).dense())
}

/// LIBSVM text, indices from 1.
pub(crate) fn sparse(name: &str) -> Option<Dataset<'static>> {
    let text = data_file(&format!("{name}.svm.gz"))?;
    let (mut labels, mut indptr) = (Vec::new(), vec![0]);
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace();
        labels.push(fields.next().unwrap());
        for field in fields {
            let (index, value) = field.split_once(':').unwrap();
            indices.push(index.parse::<u32>().unwrap() - 1);
            values.push(value.parse::<f64>().unwrap());
        }
        indptr.push(indices.len());
    }
    let cols = *indices.iter().max().unwrap() as usize + 1;
    let x = Features::csr(indptr, indices, values, cols).unwrap();
    Some(Dataset::from_labels(x, &labels).unwrap())
}

pub(crate) fn solved(name: &str, data: &Dataset<'_>, spec: &Spec) -> Option<String> {
    let model = spec.fit(data).unwrap();
    let (stop, gap) = (model.training().stop, model.certificate().relative_gap().unwrap());
    let bad = stop != Stop::Converged || gap > spec.tol;
    bad.then(|| format!("{name} {:?}: {stop:?}, gap {gap:e}, {:?}", spec.penalty, model.training()))
}

/// Every p × λ; lists all that fail.
fn grid(name: &str, data: &Dataset<'_>) {
    let mut failures = Vec::new();
    for p in [1.0, 1.5, 2.0, 4.0, 8.0, 16.0] {
        for lambda in [1e-4, 1e-2, 1.0, 100.0] {
            let spec = Spec {
                penalty: pairwise(lambda, p),
                solver: newton(),
                tol: 1e-8,
                ..Spec::default().with_usual_lambda()
            };
            failures.extend(solved(name, data, &spec));
        }
    }
    none(&failures);
}

/// The exact top-k hinge at every k × λ with ridge, and with pair distances. In turn, not each with each, where a fit takes long.
fn top_k_grid(name: &str, data: &Dataset<'_>) {
    let ridge = [1e-4, 1e-2, 1.0, 100.0].map(|lambda| AnyPenalty::Ridge(Ridge { lambda }));
    let penalties = ridge.into_iter().chain([pairwise(1e-2, 1.0), pairwise(1e-2, 4.0)]);
    let ks = 1..data.classes().len().min(4);
    let mut failures = Vec::new();
    for (turn, penalty) in penalties.enumerate() {
        for k in ks.clone().filter(|k| data.rows() < 1000 || turn % ks.len() + 1 == *k) {
            let spec = Spec {
                loss: top_k(k, 0.0),
                penalty,
                solver: newton(),
                tol: 1e-8,
                ..Spec::default().with_usual_lambda()
            };
            failures.extend(solved(name, data, &spec).map(|text| format!("k {k}: {text}")));
        }
    }
    none(&failures);
}

#[test]
fn iris_is_solved_at_every_p_and_lambda() {
    grid("iris", &Problem::iris().dense());
}

#[test]
fn iris_is_solved_under_every_scaling() {
    let data = Problem::iris().dense();
    for scaling in Scaling::ALL {
        for p in [1.0, 2.0, 4.0] {
            let spec = Spec { penalty: pairwise(1e-3, p), scaling, ..Spec::default().with_usual_lambda() };
            assert_eq!(solved("iris", &data, &spec), None, "{scaling:?}");
        }
    }
}

#[test]
fn a_fit_that_stops_early_has_a_bound_no_worse_than_that_of_its_point() {
    let data = Problem::random(77, 200, 6, 4).dense();
    for (p, lambda) in [(1.0, 1e-2), (2.0, 1.0), (4.0, 1e-3), (4.0, 10.0)] {
        let spec = Spec { penalty: pairwise(lambda, p), scaling: Scaling::None, ..Spec::default().with_usual_lambda() };
        for limit in 1..spec.fit(&data).unwrap().training().iterations {
            let model = Spec { max_iter: Some(limit), ..spec.clone() }.fit(&data).unwrap();
            let again = spec.model_at(&data, model.weights(), model.intercept()).unwrap();
            let [found, fresh] = [&model, &again].map(|model| model.certificate().lower_bound.unwrap());
            assert!(found >= (1.0 - 1e-8) * fresh, "p {p}, λ {lambda}, {limit} steps: {found} {fresh}");
        }
    }
}

/// Kinks within kinks, 40 classes and as many features as rows: a path that is cut too boldly takes hundreds of steps.
#[test]
fn orl_takes_few_steps_with_the_top_k_hinge() {
    let Some(data) = table("orl") else { return };
    let model = Spec { tol: 1e-6, ..Method::Topk.spec().with_usual_lambda() }.fit(&data).unwrap();
    assert_eq!(model.training().stop, Stop::Converged);
    assert!(model.training().iterations < 60, "{:?}", model.training());
}

/// The optimum of a λ a million times larger knows little of that of a small one.
#[test]
fn a_far_warm_start_takes_hardly_more_steps_than_a_cold_one() {
    let Some(data) = table("vehicle") else { return };
    let spec = |lambda| Spec {
        tol: 1e-6,
        penalty: AnyPenalty::Ridge(Ridge { lambda }),
        ..Method::Ovo.spec().with_usual_lambda()
    };
    let far = spec(100.0).fit(&data).unwrap();
    let cold = spec(1e-4).fit(&data).unwrap().training().iterations;
    let warm = spec(1e-4).fit_watched(&data, Some(&far), &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(5 * warm.training().iterations <= 6 * cold, "{} steps, cold {cold}", warm.training().iterations);
}

macro_rules! grids {
    ($($test:ident, $top_k:ident: $name:literal)*) => {$(
        #[test]
        fn $test() {
            if let Some(data) = table($name) {
                grid($name, &data);
            }
        }

        #[test]
        fn $top_k() {
            if let Some(data) = table($name) {
                top_k_grid($name, &data);
            }
        }
    )*};
}

grids! {
    iris_from_the_data_folder_is_solved_at_every_p_and_lambda, iris_is_solved_at_every_k: "iris"
    wine_is_solved_at_every_p_and_lambda, wine_is_solved_at_every_k: "wine"
    glass_is_solved_at_every_p_and_lambda, glass_is_solved_at_every_k: "glass"
    vehicle_is_solved_at_every_p_and_lambda, vehicle_is_solved_at_every_k: "vehicle"
    dermatology_is_solved_at_every_p_and_lambda, dermatology_is_solved_at_every_k: "dermatology"
    segment_is_solved_at_every_p_and_lambda, segment_is_solved_at_every_k: "segment"
}
