//! What comes out is used by something else, and says what the model says.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod compiled;
mod tables;

use m3svm::{Dataset, Features, Gamma, Kernel, Method, Model, Scaling, Spec};
use m3svm_export::{Error, Format, Options, export};
use serde_json::Value;

/// Four classes around corners, far from zero and of different sizes; the same every time.
pub(crate) fn rows() -> (Vec<f64>, Vec<&'static str>) {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24) - 0.5
    };
    for _ in 0..15 {
        for (name, centre) in [("3", (0.0, 0.0)), ("7", (0.0, 1.0)), ("-1", (1.0, 0.0)), ("20", (1.0, 1.0))] {
            x.extend([1000.0 + 10.0 * (centre.0 + noise()), centre.1 + noise(), 1e-3 * noise()]);
            y.push(name);
        }
    }
    (x, y)
}

pub(crate) fn features() -> Features<'static> {
    let (x, y) = rows();
    Features::dense(x, y.len(), 3).unwrap()
}

pub(crate) fn model(method: Method) -> Model {
    let data = Dataset::from_labels(features(), &rows().1).unwrap();
    let data = data.with_feature_names(vec!["a".into(), "\"b\"".into(), "c".into()]).unwrap();
    Spec { scaling: Scaling::Standard, ..method.spec().with_usual_lambda() }.fit(&data).unwrap()
}

/// Models with every kernel that has rows, one of each scheme and of two losses.
pub(crate) fn kernel_models() -> Vec<(String, Model)> {
    let data = Dataset::from_labels(features(), &rows().1).unwrap();
    let polynomial = Kernel::Polynomial { degree: 3, gamma: Gamma::Scale, coef0: 1.0 };
    let mut models = Vec::new();
    for kernel in [Kernel::ALL[1], polynomial, Kernel::ALL[3], Kernel::Cosine] {
        for method in [Method::M3svm, Method::Ovr, Method::Ovo, Method::Lr] {
            let spec = Spec { kernel, scaling: Scaling::Standard, ..method.spec().with_usual_lambda() };
            models.push((format!("{}_{}", method.name(), kernel.name()), spec.fit(&data).unwrap()));
        }
    }
    models
}

pub(crate) fn text(model: &Model, format: Format, options: &Options) -> String {
    String::from_utf8(export(model, format, options).unwrap()).unwrap()
}

/// Scores to 1e-6 of their size, the same classes.
pub(crate) fn assert_same(model: &Model, scores: &[f64], classes: &[u32]) {
    let x = features();
    assert_close(&model.scores(&x).unwrap(), scores);
    assert_eq!(model.predict(&x).unwrap(), classes);
}

pub(crate) fn assert_close(expected: &[f64], found: &[f64]) {
    assert_eq!(expected.len(), found.len());
    for (a, b) in expected.iter().zip(found) {
        assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{a} {b}");
    }
}

fn first_of_the_highest(scores: &[f64]) -> u32 {
    let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter().position(|s| *s == highest).unwrap() as u32
}

/// Scores as the documentation of the fields says, from the text alone.
fn scores_by_the_book(document: &Value, x: &[f64]) -> Vec<f64> {
    let numbers = |v: &Value| v.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect::<Vec<f64>>();
    let said: Vec<f64> = match document["weights"].as_array() {
        Some(weights) => {
            let scorers = weights.iter().zip(numbers(&document["intercept"]));
            scorers.map(|(w, b)| numbers(w).iter().zip(x).map(|(w, x)| w * x).sum::<f64>() + b).collect()
        }
        None => {
            let scaled = x.iter().zip(numbers(&document["shift"])).zip(numbers(&document["factor"]));
            let x: Vec<f64> = scaled.map(|((x, shift), factor)| (x - shift) * factor).collect();
            let mut said = numbers(&document["intercept"]);
            let rows = document["rows"].as_array().unwrap().iter().map(numbers);
            for (row, weights) in rows.zip(document["coefficients"].as_array().unwrap().iter().map(numbers)) {
                let value = kernel_by_the_book(&document["kernel"], &x, &row);
                said.iter_mut().zip(weights).for_each(|(said, weight)| *said += weight * value);
            }
            said
        }
    };
    let Some(pairs) = document["pairs"].as_array() else { return said };
    let count = document["classes"].as_array().unwrap().len();
    let (mut votes, mut sums) = (vec![0.0; count], vec![0.0; count]);
    for (pair, said) in pairs.iter().zip(said) {
        let [first, second] = [0, 1].map(|side| pair[side].as_u64().unwrap() as usize);
        votes[if said >= 0.0 { first } else { second }] += 1.0;
        sums[first] += said;
        sums[second] -= said;
    }
    votes.iter().zip(sums).map(|(v, s)| v + s / (3.0 * (s.abs() + 1.0))).collect()
}

fn kernel_by_the_book(kernel: &Value, x: &[f64], y: &[f64]) -> f64 {
    let number = |name: &str| kernel[name].as_f64().unwrap();
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let distance = |f: fn(f64) -> f64| x.iter().zip(y).map(|(x, y)| f(x - y)).sum::<f64>();
    match kernel["name"].as_str().unwrap() {
        "rbf" => (-number("gamma") * distance(|d| d * d)).exp(),
        "laplacian" => (-number("gamma") * distance(f64::abs)).exp(),
        "polynomial" => (number("gamma") * product(x, y) + number("coef0")).powf(number("degree")),
        "cosine" => product(x, y) / (product(x, x) * product(y, y)).sqrt(),
        other => panic!("{other}"),
    }
}

#[test]
fn json_of_kernels_says_what_its_documentation_says() {
    for (name, model) in kernel_models() {
        let document: Value = serde_json::from_str(&text(&model, Format::Json, &Options::default())).unwrap();
        assert_eq!(document["format"], "m3svm-kernel-classifier", "{name}");
        let rows = rows().0;
        let scores: Vec<f64> = rows.chunks(3).flat_map(|x| scores_by_the_book(&document, x)).collect();
        assert_same(&model, &scores, &scores.chunks(4).map(first_of_the_highest).collect::<Vec<u32>>());
        assert!(matches!(export(&model, Format::Liblinear, &Options::default()), Err(Error::Kernel)));
    }
}

#[test]
fn a_precomputed_kernel_is_linear_in_its_values() {
    let x = features();
    let mut gram = vec![0.0; x.rows() * x.rows()];
    for i in 0..x.rows() {
        for k in 0..x.rows() {
            let square: f64 = (0..3).map(|j| ((x.get(i, j) - x.get(k, j)) / [10.0, 1.0, 1e-3][j]).powi(2)).sum();
            gram[i * x.rows() + k] = (-square).exp();
        }
    }
    let gram = Features::dense(gram, x.rows(), x.rows()).unwrap();
    let data = Dataset::from_labels(gram, &rows().1).unwrap();
    let model = Spec { kernel: Kernel::Precomputed, ..Method::Cs.spec().with_usual_lambda() }.fit(&data).unwrap();
    let document: Value = serde_json::from_str(&text(&model, Format::Json, &Options::default())).unwrap();
    assert_eq!(document["format"], "m3svm-linear-classifier");
    let row = |i: usize| (0..x.rows()).map(|j| data.x().get(i, j)).collect::<Vec<f64>>();
    let scores: Vec<f64> = (0..x.rows()).flat_map(|i| scores_by_the_book(&document, &row(i))).collect();
    assert_close(&model.scores(data.x()).unwrap(), &scores);
}

#[test]
fn json_says_what_its_documentation_says() {
    for method in Method::ALL {
        let model = model(method);
        let document: Value = serde_json::from_str(&text(&model, Format::Json, &Options::default())).unwrap();
        let rows = rows().0;
        let scores: Vec<f64> = rows.chunks(3).flat_map(|x| scores_by_the_book(&document, x)).collect();
        assert_same(&model, &scores, &scores.chunks(4).map(first_of_the_highest).collect::<Vec<u32>>());
        assert_eq!(document["method"], method.name());
        assert_eq!(document["feature_names"][1], "\"b\"");
        assert_eq!(document["temperature"].as_f64(), model.has_probabilities().then_some(1.0));
    }
}

#[test]
fn liblinear_has_one_line_per_feature_and_one_for_the_bias() {
    for method in Method::ALL.into_iter().filter(|m| *m != Method::Ovo) {
        let model = model(method);
        let text = text(&model, Format::Liblinear, &Options::default());
        let (head, numbers) = text.split_once("\nw\n").unwrap();
        assert_eq!(head, "solver_type MCSVM_CS\nnr_class 4\nlabel -1 3 7 20\nnr_feature 3\nbias 1");
        let w: Vec<Vec<f64>> =
            numbers.lines().map(|l| l.split_whitespace().map(|n| n.parse().unwrap()).collect()).collect();
        assert_eq!(w.len(), 4);
        let rows = rows().0;
        let score = |x: &[f64], k: usize| x.iter().chain([&1.0]).zip(&w).map(|(x, w)| x * w[k]).sum::<f64>();
        let scores: Vec<f64> = rows.chunks(3).flat_map(|x| (0..4).map(move |k| score(x, k))).collect();
        assert_same(&model, &scores, &scores.chunks(4).map(first_of_the_highest).collect::<Vec<u32>>());
    }
    assert!(matches!(export(&model(Method::Ovo), Format::Liblinear, &Options::default()), Err(Error::Votes)));
}

#[test]
fn labels_that_liblinear_would_change_are_refused() {
    for other in ["x", "1.5", "01", "+1", "3000000000", ""] {
        let data = Dataset::from_labels(Features::dense(vec![0.0, 1.0], 2, 1).unwrap(), &["2", other]).unwrap();
        let model = Spec::default().with_usual_lambda().fit(&data).unwrap();
        let refused = export(&model, Format::Liblinear, &Options::default());
        assert!(matches!(refused, Err(Error::Label { class }) if class == other));
    }
}

#[test]
fn a_temperature_is_positive_and_for_losses_without_probabilities() {
    let at = |method, temperature| {
        export(&model(method), Format::Json, &Options { temperature: Some(temperature), ..Options::default() })
    };
    assert!(at(Method::M3svm, 2.5).is_ok());
    assert!(matches!(at(Method::Lr, 2.5), Err(Error::HasProbabilities)));
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(at(Method::M3svm, wrong), Err(Error::Temperature { .. })));
    }
}
