//! Tests of the model file.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;

use proptest::prelude::*;

use super::*;
use crate::penalty::Lasso;
use crate::solver::{DualCoordinate, Proximal};
use crate::{AnyLoss, AnyPenalty, AnySolver, Dataset, Features, Scaling};

fn fit(spec: Spec) -> Model {
    let x = vec![0.1, 1.0, 0.3, 2.0, -0.7, 3.0, 1.0 / 3.0, 4.0, 0.5, 5.5, 0.9, 6.0];
    let labels = ["a", "b", "c", "a", "b", "c"];
    let data = Dataset::from_labels(Features::dense(x, 6, 2).unwrap(), &labels).unwrap();
    let data = data.with_feature_names(vec!["länge".into(), "b\"\n".into()]).unwrap();
    spec.fit(&data).unwrap()
}

fn model() -> Model {
    let max_iter = Some(5);
    fit(Spec { max_iter, ..Spec::default().with_usual_lambda() })
}

/// As files were before there were checksums.
fn without_checksum(bytes: &[u8]) -> Vec<u8> {
    edited(bytes, |h| {
        let start = h.find(",\\\"checksum").unwrap();
        let end = start + h[start..].find('}').unwrap();
        format!("{}{}", &h[..start], &h[end..])
    })
}

fn message(bytes: &[u8]) -> String {
    Model::from_bytes(bytes).unwrap_err().to_string()
}

/// The bytes with a header changed by `edit`.
fn edited(bytes: &[u8], edit: impl Fn(String) -> String) -> Vec<u8> {
    let n = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = edit(String::from_utf8(bytes[8..8 + n].to_vec()).unwrap());
    let length = (header.len() as u64).to_le_bytes();
    [&length, header.as_bytes(), &bytes[8 + n..]].concat()
}

#[test]
fn every_kind_of_model_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.m3svm");
    let spec = Spec { max_iter: Some(3), ..Spec::default().with_usual_lambda() };
    let mut specs: Vec<Spec> = Vec::new();
    for loss in AnyLoss::examples() {
        specs.push(Spec { loss, ..spec.clone() });
    }
    for penalty in AnyPenalty::examples() {
        specs.push(Spec { penalty, ..spec.clone() });
    }
    let hinge = crate::Method::Ww.spec().with_usual_lambda();
    let dual = AnySolver::Dual(DualCoordinate {});
    specs.push(Spec { solver: dual, intercept: false, max_iter: Some(3), ..hinge });
    for solver in AnySolver::examples().into_iter().filter(|solver| *solver != dual) {
        let lasso = AnyPenalty::Lasso(Lasso { lambda: 1.0 });
        let penalty = if solver == AnySolver::Proximal(Proximal {}) { lasso } else { spec.penalty };
        specs.push(Spec { solver, penalty, ..spec.clone() });
    }
    for scaling in Scaling::ALL {
        specs.push(Spec { scaling, epsilon: 0.1 + 0.2, ..spec.clone() });
    }
    for spec in specs {
        let model = fit(spec);
        model.save(&path).unwrap();
        assert_eq!(Model::load(&path).unwrap(), model);
        assert_eq!(fs::read(&path).unwrap(), model.to_bytes().unwrap());
        assert_eq!(model.to_bytes().unwrap(), model.to_bytes().unwrap());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn unusable_files_are_refused_with_a_reason() {
    let good = without_checksum(&model().to_bytes().unwrap());
    let says = |edit: &dyn Fn(String) -> String, what: &str| {
        let text = message(&edited(&good, edit));
        assert_eq!(text, format!("(bytes): not a usable model file: {what}"));
    };
    let swap = |from: &'static str, to: &'static str| {
        move |h: String| {
            assert!(h.contains(from), "{from} is not in {h}");
            h.replace(from, to)
        }
    };
    says(
        &swap("format_version\\\":1", "format_version\\\":7,\\\"new\\\":1,\\\"x\\\":1"),
        "it has format version 7, this program reads up to 2; use a newer m3svm",
    );
    says(&swap("format_version", "format"), "its header has no format version");
    says(&swap("\"m3svm\"", "\"other\""), "it is a safetensors file, but not of m3svm");
    says(&swap("[\\\"a\\\",\\\"b\\\"", "[\\\"a\\\",\\\"a\\\""), "two of its classes have the same name");
    says(&swap("\\\"a\\\",", ""), "its support vectors do not fit its classes");
    says(
        &swap("\\\"epsilon\\\":1e-6", "\\\"epsilon\\\":0"),
        "its settings are broken (`epsilon` must be a finite number greater than 0, found 0)",
    );
    says(&swap("\\\"länge\\\",", ""), "its feature names do not fit its weights");
    says(&swap("[2,3]", "[3,2]"), "its weights do not fit its classes");
    says(&swap("[2,3]", "[1,3]"), "it does not begin like one");
    says(&swap("scaler.shift", "scaler.other"), "its `scaler.shift` is missing or does not fit its weights");
}

/// A file can be terabytes long and take a kilobyte of the disk.
#[test]
fn a_file_that_is_larger_than_memory_is_refused_before_it_is_read() {
    const FEATURES: usize = 1 << 36;
    let x = Features::dense(vec![1.0, 2.0, 3.0, 4.0], 4, 1).unwrap();
    let data = Dataset::from_labels(x, &["a", "b", "a", "b"]).unwrap();
    let good =
        Spec { max_iter: Some(1), ..Spec::default().with_usual_lambda() }.fit(&data).unwrap().to_bytes().unwrap();
    let bytes = edited(&good, |header| {
        let mut tensors: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&header).unwrap();
        let mut at = 0;
        for (name, numbers) in
            [("weights", 2 * FEATURES), ("intercept", 2), ("scaler.factor", FEATURES), ("scaler.shift", FEATURES)]
        {
            let shape = match name {
                "weights" => vec![FEATURES, 2],
                _ => vec![numbers],
            };
            let info = serde_json::json!({"dtype": "F64", "shape": shape, "data_offsets": [at, at + 8 * numbers]});
            tensors.insert(name.into(), info);
            at += 8 * numbers;
        }
        serde_json::to_string(&tensors).unwrap()
    });
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.m3svm");
    fs::write(&path, &bytes[..header as usize]).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(header + 8 * (4 * FEATURES as u64 + 2)).unwrap();
    let refused = Model::load(&path).unwrap_err();
    assert!(matches!(refused, Error::Memory { .. }), "{refused}");
    let told = format!("reading the model {} needs about 4.4 TB, and the memory budget is ", path.display());
    assert!(refused.to_string().starts_with(&told), "{refused}");
}

#[test]
fn claims_that_cannot_be_are_refused() {
    let model = model();
    let Certificate { objective, lower_bound } = *model.certificate();
    let claimed = |objective: &str, bound: &str| {
        let certificate = format!("\\\"certificate\\\":{{\\\"objective\\\":{objective},\\\"lower_bound\\\":{bound}}}");
        let edit = |h: String| {
            let start = h.find("\\\"certificate").unwrap();
            let end = start + h[start..].find('}').unwrap() + 1;
            format!("{}{certificate}{}", &h[..start], &h[end..])
        };
        Model::from_bytes(&edited(&without_checksum(&model.to_bytes().unwrap()), edit))
    };
    let refused = |objective: &str, bound: &str| claimed(objective, bound).unwrap_err().to_string();
    assert!(claimed(&objective.to_string(), &lower_bound.unwrap().to_string()).is_ok());
    assert!(claimed("1.5", "null").is_ok() && claimed("1.5", "1.5").is_ok());
    let text = refused("1.5", "1.6");
    assert_eq!(text, "(bytes): not a usable model file: its lower bound 1.6 is above its objective 1.5");
    let text = refused("-0.5", "-1");
    assert!(text.ends_with("its objective is -0.5, expected a finite number of at least 0"), "{text}");
    for (objective, bound) in [("null", "1"), ("1e999", "1"), ("NaN", "1"), ("1", "1e999"), ("1", "-1")] {
        assert!(claimed(objective, bound).is_err(), "{objective} {bound}");
    }
}

#[test]
fn weights_that_overflow_without_the_scaling_are_refused() {
    let mut model = model();
    model.scaler.factor[1] = 1e300;
    model.weights[3] = 1e200;
    let text = message(&model.to_bytes().unwrap());
    assert_eq!(text, "(bytes): not a usable model file: its weights for feature 2 are not finite without the scaling");
}

#[test]
fn broken_bytes_are_refused_with_a_reason() {
    let good = without_checksum(&model().to_bytes().unwrap());
    let end = |bytes: &[u8]| message(bytes).rsplit(": ").next().unwrap().to_string();
    assert_eq!(end(b""), "it is empty");
    assert_eq!(end(b"f0,f1,label\n1,2,a\n"), "it does not begin like one");
    assert_eq!(end(&[255; 64]), "it does not begin like one");
    assert_eq!(end(&good[..100]), "it is cut off, or no model at all");
    let (short, long) = (good.len() - 1, [&good[..], b"x"].concat());
    assert_eq!(end(&good[..short]), format!("it should have {} bytes and has {short}", good.len()));
    assert!(end(&long).starts_with("it should have"));
    let mut nan = good.clone();
    nan[short - 7..].copy_from_slice(&f64::NAN.to_le_bytes());
    assert_eq!(end(&nan), "number 6 of `weights` is NaN");
    // A stream does not say how long it is.
    assert!(decode(&good[..], None).is_ok());
    assert!(matches!(decode(&good[..short], None), Err(FileDefect::Content(w)) if w == "it is cut off"));
    assert!(decode(&long[..], None).is_err());
    assert!(decode(io::repeat(0), None).is_err());
    assert!(decode(io::repeat(1), None).is_err());
}

#[test]
fn no_flipped_bit_goes_unnoticed() {
    let model = model();
    let good = model.to_bytes().unwrap();
    for at in 0..8 * good.len() {
        let mut bad = good.clone();
        bad[at / 8] ^= 1 << (at % 8);
        // A bit of the layout may change how the same model is written down, but not the model.
        assert!(Model::from_bytes(&bad).is_err() || Model::from_bytes(&bad).unwrap() == model, "bit {at}");
    }
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    assert_eq!(message(&bad), "(bytes): not a usable model file: it is damaged, its checksum does not fit");
}

#[test]
fn files_without_a_checksum_load() {
    let model = model();
    assert_eq!(Model::from_bytes(&without_checksum(&model.to_bytes().unwrap())).unwrap(), model);
}

#[test]
fn equal_fits_give_equal_files() {
    let mut model = model();
    let bytes = model.to_bytes().unwrap();
    assert!(model.training.seconds.is_some());
    model.training.seconds = Some(1234.5);
    assert_eq!(model.to_bytes().unwrap(), bytes);
    assert_eq!(Model::from_bytes(&bytes).unwrap().training.seconds, None);
    // Files of old have the time inside.
    let old = edited(&without_checksum(&bytes), |h| {
        h.replace("},\\\"train_accuracy", ",\\\"seconds\\\":2.5},\\\"train_accuracy")
    });
    let old = Model::from_bytes(&old).unwrap();
    assert_eq!((&old, old.training.seconds), (&model, Some(2.5)));
}

#[test]
fn the_kind_of_labels_and_the_temperature_come_back() {
    let plain = model();
    assert_eq!((plain.label_kind(), plain.temperature(), plain.has_probabilities()), (None, None, false));
    let said = plain.clone().with_label_kind(LabelKind::Text).unwrap().with_temperature(0.1).unwrap();
    let bytes = said.to_bytes().unwrap();
    let back = Model::from_bytes(&bytes).unwrap();
    assert_eq!((back.label_kind(), back.temperature()), (Some(LabelKind::Text), Some(0.1)));
    assert_eq!(back, said);
    let x = Features::dense(vec![0.3, 2.5], 1, 2).unwrap();
    let scores = said.scores(&x).unwrap();
    let powers: Vec<f64> = scores.iter().map(|z| (z / 0.1).exp()).collect();
    let sum: f64 = powers.iter().sum();
    for (found, power) in back.probabilities(&x).unwrap().unwrap().iter().zip(powers) {
        assert!((found - power / sum).abs() < 1e-12);
    }
    // What a file says has to be possible.
    let bare = without_checksum(&bytes);
    let swapped = |from: &str, to: &str| {
        message(&edited(&bare, |h| {
            assert!(h.contains(from), "{from} is not in {h}");
            h.replace(from, to)
        }))
    };
    let text = swapped("labels\\\":\\\"text", "labels\\\":\\\"integer");
    assert!(text.ends_with("its class `a` must be a whole number without superfluous signs and zeros"), "{text}");
    let text = swapped("temperature\\\":0.1", "temperature\\\":0.0");
    assert!(text.ends_with("`temperature` must be a finite number greater than 0, found 0)"), "{text}");
    assert!(plain.clone().with_label_kind(LabelKind::Boolean).is_err());
    assert!(plain.clone().with_temperature(f64::NAN).is_err());
    let logistic = fit(crate::Method::Lr.spec().with_usual_lambda());
    assert!(
        logistic
            .with_temperature(1.0)
            .unwrap_err()
            .to_string()
            .ends_with("where the loss defines probabilities, found 1")
    );
}

#[test]
fn a_header_that_promises_too_much_costs_no_memory() {
    let good = model().to_bytes().unwrap();
    let huge = edited(&good, |h| {
        let end = h.rfind("\"weights\"").unwrap();
        let shape =
            "\"weights\":{\"dtype\":\"F64\",\"shape\":[100000000000000,3],\"data_offsets\":[56,2400000000000056]}}";
        // Both without its names, whose number would give it away first.
        let start = h.find("\\\"feature_names").unwrap();
        let next = h.find("\\\"certificate").unwrap();
        format!("{}{}{shape}", &h[..start], &h[next..end])
    });
    assert!(Model::from_bytes(&huge).is_err());
    assert!(decode(&huge[..], None).is_err());
}

proptest! {
    #[test]
    fn mutated_files_never_panic(at in 0usize..4000, byte: u8, cut in 0usize..4000) {
        let mut bytes = model().to_bytes().unwrap();
        let n = bytes.len();
        bytes[at % n] = byte;
        if let Ok(model) = Model::from_bytes(&bytes) {
            let x = Features::dense(vec![1.0, 2.0], 1, 2).unwrap();
            let _ = (model.predict(&x), model.margins(), model.to_bytes());
        }
        prop_assert!(Model::from_bytes(&bytes[..cut % n]).is_err());
        let _ = decode(&bytes[..], None);
    }
}
