//! Several files are one table, and what is wrong with one of them is said with its name.

use std::io::Write;
use std::ops::ControlFlow;

use m3svm::{CachePlace, Fit, Missing, Model, Preparation, Spec};

use super::*;

fn write(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
    fs::File::create(folder.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
}

fn csv(rows: std::ops::Range<usize>) -> String {
    let row = |i: usize| format!("{},{},{}\n", i % 7, (i * 3 % 11) as f64 / 2.0, ["red", "green"][i / 3 % 2]);
    format!("width,height,colour\n{}", rows.map(row).collect::<String>())
}

fn fit(folder: &Path, memory: u64) -> Result<Model, String> {
    let files = files_of(folder).map_err(|e| e.to_string())?;
    let mut source = RowFiles::new(files, ReadOptions::default());
    let place = tempfile::tempdir().unwrap();
    let fit = Fit { place: CachePlace { folder: place.path().to_path_buf(), kept_as: None }, memory };
    let model = fit.of_source(&Spec::default().with_usual_lambda(), &mut source).map_err(|e| e.to_string());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    model
}

#[test]
fn a_folder_is_one_table_in_memory_or_not() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.csv", &csv(0..60));
    write(folder.path(), "day=2/b.csv", &csv(60..61));
    write(folder.path(), "day=3/c.csv", &csv(61..200));
    write(folder.path(), "day=3/empty.csv", "");
    write(folder.path(), "day=4/header.csv", &csv(0..0));
    write(folder.path(), "_SUCCESS", "");
    let whole = tempfile::tempdir().unwrap();
    write(whole.path(), "all.csv", &csv(0..200));
    let data = crate::read(&whole.path().join("all.csv"), &ReadOptions::default()).unwrap().into_dataset().unwrap();
    let expected = Spec::default().with_usual_lambda().fit(&data).unwrap();
    assert_eq!(fit(folder.path(), 1 << 30).unwrap(), expected);
    let streamed = fit(folder.path(), 1000).unwrap();
    assert_eq!(streamed.feature_names(), expected.feature_names());
    assert_eq!(streamed.training().rows, 200);
    let (a, b) = (streamed.certificate(), expected.certificate());
    assert!((a.objective / b.objective - 1.0).abs() < 1e-7, "{a:?} {b:?}");
}

#[test]
fn patterns_stand_for_files() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["b.csv", "a.csv", "c.txt", "x/d.csv"] {
        write(folder.path(), name, "1");
    }
    let names = |path: &str| -> Vec<String> {
        let files = files_of(&folder.path().join(path)).unwrap();
        files.iter().map(|f| f.strip_prefix(folder.path()).unwrap().display().to_string()).collect()
    };
    assert_eq!(names("*.csv"), ["a.csv", "b.csv"]);
    assert_eq!(names("**/*.csv"), ["a.csv", "b.csv", "x/d.csv"]);
    assert_eq!(names("missing.csv"), ["missing.csv"]);
    let error = files_of(&folder.path().join("*.parquet")).unwrap_err().to_string();
    assert!(error.ends_with("*.parquet: there are no files"), "{error}");
}

#[test]
fn what_trainings_leave_in_a_folder_is_no_data() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.csv", "x/b.csv", "model.m3svm", "x/rows.m3svm-cache"] {
        write(folder.path(), name, "1");
    }
    assert_eq!(files_of(folder.path()).unwrap(), ["a.csv", "x/b.csv"].map(|name| folder.path().join(name)));
    // They are read where they are named.
    assert_eq!(files_of(&folder.path().join("*.m3svm")).unwrap().len(), 1);
}

/// A link to a folder above it would bring the same rows some forty times.
#[cfg(unix)]
#[test]
fn links_that_lead_back_bring_no_rows_twice() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "x/a.csv", "1");
    std::os::unix::fs::symlink(folder.path(), folder.path().join("x/up")).unwrap();
    std::os::unix::fs::symlink("..", folder.path().join("x/above")).unwrap();
    assert_eq!(files_of(folder.path()).unwrap(), [folder.path().join("x/a.csv")]);
    // Another folder by a link is one like all others.
    let other = tempfile::tempdir().unwrap();
    write(other.path(), "b.csv", "1");
    std::os::unix::fs::symlink(other.path(), folder.path().join("y")).unwrap();
    assert_eq!(files_of(folder.path()).unwrap(), ["x/a.csv", "y/b.csv"].map(|name| folder.path().join(name)));
}

#[test]
fn sparse_text_counts_from_where_all_files_together_do() {
    let folder = tempfile::tempdir().unwrap();
    let text = |rows: std::ops::Range<usize>, first: usize| -> String {
        rows.map(|i| format!("{} {}:{} {}:1\n", i / 2 % 2, first, i % 5 + 1, first + 1 + i % 3)).collect()
    };
    write(folder.path(), "a.svm", &text(0..40, 1));
    write(folder.path(), "b.svm", &text(40..90, 1));
    for memory in [0, 1 << 30] {
        assert_eq!(fit(folder.path(), memory).unwrap().features(), 4, "{memory}");
    }
    write(folder.path(), "c.svm", "0 0:1 2:1\n");
    for memory in [0, 1 << 30] {
        assert_eq!(fit(folder.path(), memory).unwrap().features(), 5, "{memory}");
    }
}

#[test]
fn what_is_wrong_is_said_with_file_row_and_column() {
    let folder = tempfile::tempdir().unwrap();
    for k in 0..17 {
        write(folder.path(), &format!("part-{k:02}.csv"), &csv(10 * k..10 * k + 10));
    }
    let error = |text: &str| {
        write(folder.path(), "part-16.csv", text);
        [0, 1 << 30].map(|memory| fit(folder.path(), memory).unwrap_err()).map(|e| {
            e.rsplit_once('/')
                .map(|(before, last)| if before.contains(": ") { e.clone() } else { last.to_string() })
                .unwrap()
        })
    };
    let nan = error("width,height,colour\n1,2,red\n2,3,green\n3,NaN,red\n");
    assert_eq!(nan[0], "part-16.csv: line 4, column \"height\": found NaN, expected a finite number");
    assert_eq!(nan[0], nan[1]);
    let unlike = error("width,depth,colour\n1,2,red\n");
    assert!(
        unlike[0].contains("part-16.csv: its feature 2 is called \"depth\" and not \"height\", unlike those of "),
        "{}",
        unlike[0]
    );
    let more = error("width,height,depth,colour\n1,2,3,red\n");
    assert!(more[0].contains("part-16.csv: it has 3 features, unlike those of "), "{}", more[0]);
    let text = error("width,height,colour\n1,tall,red\n");
    assert!(text[0].starts_with("part-16.csv: line 2, column \"height\": "), "{}", text[0]);
}

#[test]
fn whoever_asks_to_stop_while_files_are_read_is_heard() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.csv", &csv(0..60));
    let mut source = RowFiles::new(files_of(folder.path()).unwrap(), ReadOptions::default());
    let stop = &mut |_: &m3svm::Progress| ControlFlow::Break(());
    let stopped = Fit { memory: 0, ..Fit::default() }.of_source_watched(
        &Spec::default().with_usual_lambda(),
        &mut source,
        None,
        stop,
    );
    assert!(matches!(stopped, Err(SourceError::Fit(m3svm::Error::Interrupted))));
}

#[test]
fn labels_are_spelled_as_all_files_together_say() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |labels: [&str; 2]| -> String {
        (0..40).map(|i| format!("{},{},{}\n", i % 7, i * 3 % 11, labels[i / 3 % 2])).collect()
    };
    write(folder.path(), "a.csv", &rows(["1", "2"]));
    write(folder.path(), "b.csv", &rows(["1.0", "2.0"]));
    for memory in [0, 1 << 30] {
        assert_eq!(fit(folder.path(), memory).unwrap().classes(), ["1", "2"], "{memory}");
    }
    // Among names a number is a name as it is written.
    write(folder.path(), "c.csv", &rows(["red", "1"]));
    for memory in [0, 1 << 30] {
        assert_eq!(fit(folder.path(), memory).unwrap().classes(), ["1", "1.0", "2", "2.0", "red"], "{memory}");
    }
}

/// A town that is rare, one that is missing, an age with gaps, a number of the row, a column of nothing, a date.
fn mixed(rows: std::ops::Range<usize>) -> String {
    let town = |i: usize| ["Oslo", "Rome", "", "Bergen"][i * i % 7 % 4];
    let age = |i: usize| if i % 11 == 3 { String::new() } else { format!("{}", 20 + i * 7 % 50) };
    let row = |i: usize| {
        let (day, label) = (1 + i % 28, ["red", "green", "blue"][(i * 7 % 50 / 20 + i % 5 / 3) % 3]);
        format!("{i},{},{},2021-03-{day:02},,{label}\n", age(i), town(i))
    };
    format!("id,age,town,day,nothing,colour\n{}", rows.map(row).collect::<String>())
}

fn fit_with(folder: &Path, memory: u64, preparation: &Preparation) -> (Model, Vec<String>, usize) {
    let options = ReadOptions { preparation: Some(preparation.clone()), ..ReadOptions::default() };
    let mut source = RowFiles::new(files_of(folder).unwrap(), options);
    let model = Fit { memory, ..Fit::default() }.of_source(&Spec::default().with_usual_lambda(), &mut source).unwrap();
    (model, source.left_out().iter().map(|out| out.column.clone()).collect(), source.dropped())
}

#[test]
fn columns_of_every_kind_become_the_same_features_as_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.csv", &mixed(0..150));
    write(folder.path(), "b.csv", &mixed(150..151));
    write(folder.path(), "c.csv", &mixed(151..400));
    let whole = tempfile::tempdir().unwrap();
    write(whole.path(), "all.csv", &mixed(0..400));
    for missing in [Missing::Indicator, Missing::Median, Missing::DropRows] {
        let preparation = Preparation { missing, ..Preparation::default() };
        let options = ReadOptions { preparation: Some(preparation.clone()), ..ReadOptions::default() };
        let table = crate::read(&whole.path().join("all.csv"), &options).unwrap();
        let (left_out, dropped) = (table.left_out.clone(), table.dropped);
        let data = table.without_columns().into_dataset().unwrap();
        let expected = Spec::default().with_usual_lambda().fit(&data).unwrap();
        for memory in [1 << 30, 2000] {
            let (found, out, gone) = fit_with(folder.path(), memory, &preparation);
            assert_eq!(found.preprocessor(), expected.preprocessor(), "{missing:?}");
            assert_eq!(found.feature_names(), expected.feature_names());
            assert_eq!(out, left_out.iter().map(|out| out.column.clone()).collect::<Vec<_>>());
            assert_eq!((gone, found.training().rows), (dropped, expected.training().rows));
            let (a, b) = (found.certificate(), expected.certificate());
            assert!((a.objective / b.objective - 1.0).abs() < 1e-7, "{missing:?}: {a:?} {b:?}");
            assert_eq!(memory > 2000, found == expected, "{missing:?}");
        }
    }
}

#[test]
fn columns_of_numbers_that_say_nothing_are_left_out_of_rows_that_pass_by() {
    let folder = tempfile::tempdir().unwrap();
    let row = |i: usize| format!("{i},{},{},{}\n", i % 7, i * 5 % 11, ["red", "green"][i / 3 % 2]);
    let text = |rows: std::ops::Range<usize>| format!("id,a,b,colour\n{}", rows.map(row).collect::<String>());
    write(folder.path(), "a.csv", &text(0..100));
    write(folder.path(), "b.csv", &text(100..200));
    for memory in [1 << 30, 1000] {
        let (model, out, _) = fit_with(folder.path(), memory, &Preparation::default());
        assert_eq!(model.feature_names().unwrap(), ["a", "b"]);
        assert!(model.preprocessor().is_none());
        assert_eq!(out, ["id"]);
    }
}

#[test]
fn texts_that_turn_out_to_be_numbers_are_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |from: usize, late: bool| -> String {
        let cell = |i: usize| if late { format!("{}", i % 5) } else { String::new() };
        let row = |i: usize| format!("{},{},{}\n", cell(i), i % 7, ["red", "green"][i / 3 % 2]);
        format!("late,a,colour\n{}", (from..from + 100).map(row).collect::<String>())
    };
    write(folder.path(), "a.csv", &rows(0, false));
    write(folder.path(), "b.csv", &rows(100, true));
    let (model, ..) = fit_with(folder.path(), 1000, &Preparation::default());
    assert_eq!(model.feature_names().unwrap(), ["late", "late=(missing)", "a"]);
}
