//! Tests of the preparation of tables.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int64Array,
    ListArray, NullArray, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray,
};

use super::*;
use crate::dataset::Dataset;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn numbers(values: &[Option<f64>]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn learn(table: &RecordBatch, preparation: &Preparation) -> (Preprocessor, Vec<LeftOut>) {
    let mut statistics = Statistics::new(table.schema_ref(), preparation).unwrap();
    statistics.add(table, None).unwrap();
    Preprocessor::learn(&statistics, preparation)
}

fn rows(prepared: &Prepared) -> Vec<Vec<f64>> {
    (0..prepared.x.rows()).map(|i| (0..prepared.x.cols()).map(|j| prepared.x.get(i, j)).collect()).collect()
}

/// Twelve rows: enough to be judged.
fn twelve() -> RecordBatch {
    let size = [1.0, 2.0, 6.0].map(Some).into_iter().chain([None]).cycle().take(12).collect::<Vec<_>>();
    let colour = [Some("red"), Some("blue"), Some("red"), Some("NA")].into_iter().cycle().take(12).collect::<Vec<_>>();
    batch(vec![("size", numbers(&size)), ("colour", texts(&colour))])
}

#[test]
fn gaps_are_filled_and_texts_become_columns_by_hand() {
    let (preprocessor, left_out) = learn(&twelve(), &Preparation::default());
    assert!(left_out.is_empty());
    let names = ["size", "size=(missing)", "colour=blue", "colour=red", "colour=(missing)"];
    assert_eq!(preprocessor.feature_names(), names);
    let prepared = preprocessor.apply(&twelve()).unwrap();
    let expected =
        [[1.0, 0.0, 0.0, 1.0, 0.0], [2.0, 0.0, 1.0, 0.0, 0.0], [6.0, 0.0, 0.0, 1.0, 0.0], [3.0, 1.0, 0.0, 1.0, 1.0]];
    assert_eq!(rows(&prepared)[..4], expected.map(Vec::from));
    assert_eq!(prepared.filled, [3, 3]);
    let new = batch(vec![("size", numbers(&[None, Some(9.0)])), ("colour", texts(&[Some("green"), Some(" red ")]))]);
    let prepared = preprocessor.apply(&new).unwrap();
    assert_eq!(rows(&prepared), [[3.0, 1.0, 0.0, 0.0, 0.0], [9.0, 0.0, 0.0, 1.0, 0.0]].map(Vec::from));
    assert_eq!(prepared.unseen[1], (1, Some("green".into())));
}

#[test]
fn every_way_with_gaps() {
    let of = |missing| learn(&twelve(), &Preparation { missing, ..Preparation::default() }).0;
    let first = |preprocessor: &Preprocessor| rows(&preprocessor.apply(&twelve()).unwrap())[3].clone();
    assert_eq!(first(&of(Missing::Mean)), [3.0, 0.0, 1.0]);
    assert_eq!(first(&of(Missing::Median)), [2.0, 0.0, 1.0]);
    let error = of(Missing::Error).apply(&twelve()).unwrap_err().to_string();
    assert_eq!(error, "row 4, column \"size\": the cell is empty, and nothing stands for a missing one");
    let whole = of(Missing::DropRows).whole_rows(&twelve()).unwrap();
    assert_eq!(whole, [0, 1, 2, 4, 5, 6, 8, 9, 10]);
    let words = Preparation { missing_words: vec!["blue".into(), "6".into()], ..Preparation::default() };
    let (preprocessor, _) = learn(&twelve(), &words);
    assert_eq!(preprocessor.feature_names()[2..], ["colour=red", "colour=(missing)"]);
    assert_eq!(rows(&preprocessor.apply(&twelve()).unwrap())[2], [1.5, 1.0, 1.0, 0.0]);
}

#[test]
fn columns_of_every_type_are_read() {
    let day: DictionaryArray<Int8Type> = vec![Some("mon"), None, Some("tue")].into_iter().collect();
    let table = batch(vec![
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("count", Arc::new(Int64Array::from(vec![Some(1), Some(2), None]))),
        ("single", Arc::new(Float32Array::from(vec![0.5, 1.5, f32::NAN]))),
        ("price", Arc::new(Decimal128Array::from(vec![1250, 250, 500]).with_precision_and_scale(10, 2).unwrap())),
        ("on", Arc::new(Date32Array::from(vec![Some(10), None, Some(20)]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![0, 43_200_000_000, 86_400_000_000]))),
        ("day", Arc::new(day)),
        ("view", Arc::new(StringViewArray::from(vec!["a", "b", "a"]))),
        ("none", Arc::new(NullArray::new(3))),
    ]);
    let (preprocessor, _) = learn(&table, &Preparation { missing: Missing::Mean, ..Preparation::default() });
    let names = ["flag", "count", "single", "price", "on", "at", "day=mon", "day=tue", "view=a", "view=b"];
    assert_eq!(preprocessor.feature_names(), names);
    let found = rows(&preprocessor.apply(&table).unwrap());
    assert_eq!(found[0], [1.0, 1.0, 0.5, 12.5, 10.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    assert_eq!(found[1], [0.5, 2.0, 1.5, 2.5, 15.0, 0.5, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(found[2], [0.0, 1.5, 1.0, 5.0, 20.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int8Type, _, _>(vec![Some(vec![Some(1)])]));
    let error =
        Statistics::new(batch(vec![("tags", list)]).schema_ref(), &Preparation::default()).unwrap_err().to_string();
    assert!(error.starts_with("column \"tags\": it holds List("), "{error}");
    // Another type than in training.
    let text: Vec<ArrayRef> = table.columns().iter().map(|_| texts(&[Some("x")])).collect();
    let other = batch(table.schema().fields().iter().map(|f| f.name().as_str()).zip(text).collect());
    assert_eq!(
        preprocessor.apply(&other).unwrap_err().to_string(),
        "column \"flag\": it holds texts, expected numbers"
    );
}

#[test]
fn what_is_no_feature_is_left_out_and_said() {
    let count = |i: usize| Some(i as f64);
    let table = batch(vec![
        ("row", numbers(&(5..17).map(count).collect::<Vec<_>>())),
        ("shuffled", numbers(&(0..12).map(|i| count((5 * i) % 12)).collect::<Vec<_>>())),
        ("same", numbers(&[Some(2007.0); 12])),
        ("site", texts(&[Some("here"); 12])),
        (
            "name",
            texts(
                &(0..12)
                    .map(|i| ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"][i])
                    .map(Some)
                    .collect::<Vec<_>>(),
            ),
        ),
        ("gone", texts(&[None; 12])),
        ("unlike", numbers(&(0..12).map(|i| count(3 * i)).collect::<Vec<_>>())),
        ("seldom", texts(&[[None; 11].as_slice(), &[Some("yes")]].concat())),
        ("pandas", numbers(&(0..12).map(|i| count(i * i)).collect::<Vec<_>>())),
    ]);
    let indices = vec!["pandas".to_string()];
    let (preprocessor, left_out) = learn(&table, &Preparation { indices: indices.clone(), ..Preparation::default() });
    let said: Vec<String> = left_out.iter().map(|l| format!("{}: {}", l.column, l.reason)).collect();
    let expected = [
        "row: its numbers count the rows",
        "shuffled: its numbers count the rows",
        "same: it is the same in all rows",
        "site: it is the same in all rows",
        "name: its texts are all different, like names or numbers of rows",
        "gone: all of its cells are missing",
        "pandas: it is the index of the rows",
    ];
    assert_eq!(said, expected);
    assert_eq!(preprocessor.without_unused().feature_names(), ["unlike", "seldom=yes", "seldom=(missing)"]);
    let keep = vec!["same".to_string(), "pandas".to_string()];
    let (preprocessor, _) = learn(&table, &Preparation { indices, keep, ..Preparation::default() });
    let names = ["same", "unlike", "seldom=yes", "seldom=(missing)", "pandas"];
    assert_eq!(preprocessor.without_unused().feature_names(), names);
}

#[test]
fn rare_values_share_a_feature_and_unseen_ones_have_none() {
    let town: Vec<Option<&str>> =
        [["a"; 6].as_slice(), &["b"; 4], &["c"; 2], &["d"]].concat().into_iter().map(Some).collect();
    let table = batch(vec![("town", texts(&town))]);
    let (preprocessor, _) = learn(&table, &Preparation { most_values: 2, ..Preparation::default() });
    assert_eq!(preprocessor.feature_names(), ["town=a", "town=b", "town=(other)"]);
    let new = batch(vec![("town", texts(&["b", "c", "d", "e"].map(Some)))]);
    let prepared = preprocessor.apply(&new).unwrap();
    let expected = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]];
    assert_eq!((rows(&prepared), prepared.unseen[0].0), (expected.map(Vec::from).to_vec(), 1));
}

#[test]
fn statistics_of_parts_merge_to_those_of_the_whole_and_weights_are_repetition() {
    let table = twelve();
    for missing in Missing::ALL {
        let preparation = Preparation { missing, ..Preparation::default() };
        let mut parts = Statistics::new(table.schema_ref(), &preparation).unwrap();
        for (from, count) in [(7, 5), (0, 0), (0, 3), (3, 4)] {
            let mut part = Statistics::new(table.schema_ref(), &preparation).unwrap();
            part.add(&table.slice(from, count), None).unwrap();
            parts.merge(part).unwrap();
        }
        assert_eq!(Preprocessor::learn(&parts, &preparation), learn(&table, &preparation));
        let mut weighted = Statistics::new(table.schema_ref(), &preparation).unwrap();
        weighted.add(&table.slice(0, 5), Some(&[3.0, 3.0, 3.0, 3.0, 0.0])).unwrap();
        assert_eq!(Preprocessor::learn(&weighted, &preparation), learn(&table, &preparation));
    }
}

#[test]
fn many_values_are_stored_sparse_and_numbers_are_moved_to_their_mean() {
    let town: Vec<String> = (0..400).map(|i| format!("t{}", i % 90)).collect();
    let town: ArrayRef = Arc::new(StringArray::from(town));
    let year: Vec<Option<f64>> = (0..400).map(|i| (i % 7 != 0).then_some(2000.0 + (i % 5) as f64)).collect();
    let table = batch(vec![("town", town), ("year", numbers(&year))]);
    let (preprocessor, _) = learn(&table, &Preparation::default());
    let prepared = preprocessor.apply(&table).unwrap();
    assert!(prepared.x.is_sparse());
    assert_eq!((prepared.x.cols(), prepared.x.get(7, 90), prepared.x.get(7, 91)), (92, 0.0, 1.0));
    let mean: f64 = year.iter().flatten().sum::<f64>() / year.iter().flatten().count() as f64;
    assert!((prepared.x.get(1, 90) - (2001.0 - mean)).abs() < 1e-9);
}

#[test]
fn training_parts_of_folds_are_prepared_by_their_own_rows() {
    let size: Vec<Option<f64>> = (0..20).map(|i| (i != 3).then_some(f64::from(i))).collect();
    let colour: Vec<Option<&str>> =
        (0..20).map(|i| Some(if i == 19 { "gold" } else { ["red", "blue"][i % 2] })).collect();
    let table = batch(vec![("size", numbers(&size)), ("colour", texts(&colour))]);
    let labels: Vec<&str> = (0..20).map(|i| ["a", "b"][i % 2]).collect();
    let (data, left_out) = Dataset::from_table(&table, &labels, None, &Preparation::default()).unwrap();
    assert!(left_out.is_empty());
    assert_eq!(data.feature_names().unwrap(), ["size", "size=(missing)", "colour=blue", "colour=gold", "colour=red"]);
    let (train, test): (Vec<u32>, Vec<u32>) = ((0..10).collect(), (10..20).collect());
    let half = data.take_rows(&train).unwrap();
    // Nothing of the second half is known: not its mean, and not that there is gold.
    assert_eq!(half.feature_names().unwrap(), ["size", "size=(missing)", "colour=blue", "colour=red"]);
    assert_eq!(half.x().get(3, 0), 42.0 / 9.0);
    let x = data.features_for(&half, &test).unwrap();
    assert_eq!((x.cols(), x.get(9, 2), x.get(9, 3)), (4, 0.0, 0.0));
    let search =
        crate::select::Search { folds: 2, ..crate::select::Search::new(crate::Spec::default().with_usual_lambda()) };
    let found =
        search.run(&data, None, &crate::select::Journal::none(), &|_| std::ops::ControlFlow::Continue(())).unwrap();
    assert!(found.outcomes.iter().all(|o| o.mean.is_finite()));
}

#[test]
fn a_model_keeps_its_preprocessor() {
    let labels: Vec<&str> = (0..12).map(|i| ["a", "b", "a"][i % 3]).collect();
    let (data, _) = Dataset::from_table(&twelve(), &labels, None, &Preparation::default()).unwrap();
    let model = crate::Spec::default().with_usual_lambda().fit(&data).unwrap();
    let back = crate::Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(back, model);
    assert_eq!(back.preprocessor(), data.preprocessor());
}

#[test]
fn free_text_becomes_weighed_words_by_hand() {
    let said = [Some("The cat, the DOG"), Some("a cat"), None, Some("Dogs & c")];
    let table = batch(vec![("said", texts(&said))]);
    let preparation = Preparation { text: vec!["said".into()], ..Preparation::default() };
    let (preprocessor, _) = learn(&table, &preparation);
    assert_eq!(preprocessor.feature_names(), ["said:cat", "said:dog", "said:dogs", "said:the", "said=(missing)"]);
    let weight = |texts: f64| (5.0f64 / (1.0 + texts)).ln() + 1.0;
    let (cat, dog, the) = (weight(2.0), weight(1.0), 2.0 * weight(1.0));
    let length = (cat * cat + dog * dog + the * the).sqrt();
    let found = rows(&preprocessor.apply(&table).unwrap());
    let expected = [
        [cat / length, dog / length, 0.0, the / length, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 1.0, 0.0, 0.0],
    ];
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((found - expected).abs() < 1e-15, "{found} {expected}");
    }
    // Weights are repetition, and parts make the whole.
    let mut parts = Statistics::new(table.schema_ref(), &preparation).unwrap();
    parts.add(&table.slice(0, 1), Some(&[3.0])).unwrap();
    let mut rest = Statistics::new(table.schema_ref(), &preparation).unwrap();
    rest.add(&table.slice(1, 3), None).unwrap();
    parts.merge(rest).unwrap();
    let repeated = batch(vec![("said", texts(&[said[0], said[0], said[0], said[1], said[2], said[3]]))]);
    assert_eq!(Preprocessor::learn(&parts, &preparation), learn(&repeated, &preparation));
    let few = Preparation { most_words: 1, ..preparation };
    assert_eq!(learn(&table, &few).0.feature_names(), ["said:cat", "said=(missing)"]);
}

#[test]
fn words_are_not_scaled_and_models_keep_them() {
    let said: Vec<Option<&str>> = (0..30).map(|i| Some(["red rose", "blue bell", "rose"][i % 3])).collect();
    let size: Vec<Option<f64>> = (0..30).map(|i| Some(100.0 + f64::from(i * i % 17))).collect();
    let table = batch(vec![("said", texts(&said)), ("size", numbers(&size))]);
    let labels: Vec<&str> = (0..30).map(|i| ["a", "b", "c"][i % 3]).collect();
    let preparation = Preparation { text: vec!["said".into()], ..Preparation::default() };
    let (data, _) = Dataset::from_table(&table, &labels, None, &preparation).unwrap();
    let model = crate::Spec::default().with_usual_lambda().fit(&data).unwrap();
    assert_eq!(model.scaler().factor()[..4], [1.0; 4]);
    assert!(model.scaler().shift()[4] > 100.0);
    assert_eq!(model.train_accuracy(), 1.0);
    let back = crate::Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(back.preprocessor(), data.preprocessor());
    assert_eq!(back.predict(&back.preprocessor().unwrap().apply(&table).unwrap().x).unwrap(), data.y());
    let half = data.take_rows(&(0..15).collect::<Vec<_>>()).unwrap();
    assert_eq!(half.feature_names().unwrap().len(), 5);
}

#[test]
fn parts_of_times_have_features() {
    let days = [Some(18_718), None, Some(18_719)];
    let table = batch(vec![("on", Arc::new(Date32Array::from(days.to_vec())) as ArrayRef)]);
    let time_parts = vec![TimePart::Weekday, TimePart::Month];
    let (preprocessor, _) = learn(&table, &Preparation { time_parts, ..Preparation::default() });
    let names = preprocessor.feature_names();
    assert_eq!((names.len(), &names[1][..], &names[8][..]), (21, "on=Monday", "on=January"));
    let found = rows(&preprocessor.apply(&table).unwrap());
    let hot =
        |row: &Vec<f64>| -> Vec<String> { (1..21).filter(|&j| row[j] == 1.0).map(|j| names[j].clone()).collect() };
    assert_eq!(hot(&found[0]), ["on=Thursday", "on=April"]);
    assert_eq!(hot(&found[1]), ["on=(missing)"]);
    assert_eq!(found[1][0], 18_718.5);
    assert_eq!(hot(&found[2]), ["on=Friday", "on=April"]);
    let again = preprocessor.relearn(&table, None).unwrap();
    assert_eq!(again, preprocessor);
}
