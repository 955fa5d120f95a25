//! Journals: an interrupted search goes on where it stood, and only that one.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use m3svm::select::{Grid, Journal, Rule, Search, SearchResult};
use m3svm::{Dataset, Error, Method, Spec};

use crate::common::Problem;

fn search() -> Search {
    let grid =
        Grid { lambdas: Some("1e-3:1e7:4".parse().unwrap()), ps: Some("1:6".parse().unwrap()), ..Grid::default() };
    Search { grid, folds: 3, repeats: 3, ..Search::new(Spec::default().with_usual_lambda()) }
}

/// Runs with the journal and stops after so many questions of the search whether to go on.
fn run(search: &Search, data: &Dataset<'_>, path: &Path, patience: usize) -> m3svm::Result<SearchResult> {
    let asked = AtomicUsize::new(0);
    let watch = |_: &_| match asked.fetch_add(1, Ordering::Relaxed) < patience {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    search.run(data, None, &Journal::open(path, search, data, None)?, &watch)
}

#[test]
fn an_interrupted_search_ends_like_one_that_was_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let data = Problem::iris().dense();
    let whole = run(&search(), &data, &folder.path().join("other"), usize::MAX).unwrap();
    assert!(!whole.interrupted && whole.outcomes.iter().any(|o| o.discarded_after.is_some()));
    assert!(matches!(run(&search(), &data, &path, 0), Err(Error::Interrupted)));
    let mut sizes = Vec::new();
    for patience in [150, 700, 1500] {
        if let Ok(part) = run(&search(), &data, &path, patience) {
            assert!(part.interrupted || part == whole);
        }
        sizes.push(std::fs::metadata(&path).unwrap().len());
        // Killed in the middle of a line.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - usize::from(text.lines().count() > 2)]).unwrap();
    }
    assert!(sizes.windows(2).all(|w| w[0] <= w[1]) && sizes[0] < sizes[2], "{sizes:?}");
    assert_eq!(run(&search(), &data, &path, usize::MAX).unwrap(), whole);
    // Now all is known: not a single fit has to be watched.
    assert_eq!(run(&search(), &data, &path, 0).unwrap(), whole);
}

#[test]
fn a_search_goes_beyond_its_range_and_goes_on_there_after_an_interruption() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let data = Problem::iris().dense();
    // All of them too strong.
    let grid = Grid { lambdas: Some("10:1000:3".parse().unwrap()), extends: true, ..Grid::default() };
    let search = Search { grid, folds: 3, repeats: 2, ..Search::new(Method::Lr.spec()) };
    let whole = run(&search, &data, &folder.path().join("other"), usize::MAX).unwrap();
    let lambdas: Vec<f64> = whole.outcomes.iter().filter_map(|o| o.setting.lambda).collect();
    assert!(whole.steps > 1 && lambdas.len() == 3 + whole.steps, "{lambdas:?}");
    assert!(lambdas.windows(2).all(|two| (two[0] / two[1] - 10.0).abs() < 1e-9), "{lambdas:?}");
    // It ends where a worse value is on either side, or the next one is no better.
    let best = whole.chosen(Rule::BestMean);
    let next = &whole.outcomes[whole.best_mean + 1];
    assert!(best.setting.lambda > lambdas.last().copied() && next.mean <= best.mean, "{lambdas:?}");
    for patience in [3, 20, 60] {
        let _ = run(&search, &data, &path, patience);
    }
    assert_eq!(run(&search, &data, &path, usize::MAX).unwrap(), whole);
    assert_eq!(run(&search, &data, &path, 0).unwrap(), whole);
    // Who types values wants those.
    let given = Search { grid: Grid { extends: false, ..search.grid.clone() }, ..search };
    assert_eq!(run(&given, &data, &folder.path().join("given"), usize::MAX).unwrap().outcomes.len(), 3);
}

#[test]
fn the_nested_search_has_its_own_places_in_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let data = Problem::iris().dense();
    let search = Search { repeats: 1, ..search() };
    let go_on = |_: &_| ControlFlow::Continue(());
    let whole = search.nested(&data, None, &Journal::none(), &go_on).unwrap();
    run(&search, &data, &path, usize::MAX).unwrap();
    let journal = Journal::open(&path, &search, &data, None).unwrap();
    assert_eq!(journal.fits(), 72);
    assert_eq!(search.nested(&data, None, &journal, &go_on).unwrap(), whole);
    drop(journal);
    let journal = Journal::open(&path, &search, &data, None).unwrap();
    // Each outer fold has its search and the fit of what that has chosen.
    assert_eq!(journal.fits(), 4 * 72 + 3);
    assert_eq!(search.nested(&data, None, &journal, &go_on).unwrap(), whole);
}

#[test]
fn a_journal_of_something_else_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let data = Problem::iris().dense();
    let small = Search { repeats: 1, ..search() };
    run(&small, &data, &path, usize::MAX).unwrap();
    let before = std::fs::read(&path).unwrap();
    let refused = |search: &Search, data: &Dataset<'_>| {
        let error = Journal::open(&path, search, data, None).unwrap_err().to_string();
        error.split_once(": not a usable journal: ").unwrap().1.to_string()
    };
    let other = "it belongs to a search with other data or other settings";
    assert_eq!(refused(&Search { folds: 4, ..small.clone() }, &data), other);
    assert_eq!(
        refused(&Search { spec: Spec { seed: 1, ..Spec::default().with_usual_lambda() }, ..small.clone() }, &data),
        other
    );
    let mut changed = Problem::iris();
    changed.x[77] += 1e-9;
    assert_eq!(refused(&small, &changed.dense()), other);
    assert_eq!(refused(&small, &Problem::iris().dense().with_weights(vec![2.0; 150]).unwrap()), other);
    assert!(Journal::open(&path, &small, &data, Some(&[1; 150])).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
    for content in ["a,b\n1,2\n", "no line"] {
        std::fs::write(&path, content).unwrap();
        assert_eq!(refused(&small, &data), "it does not begin like one");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
    let text = String::from_utf8(before).unwrap();
    std::fs::write(&path, text.replacen("accuracy", "accuracies", 3)).unwrap();
    assert_eq!(refused(&small, &data), "line 2 is damaged");
    std::fs::write(&path, plain(&text)).unwrap();
    assert_eq!(refused(&small, &data), "it is of an older version, whose lines have no checksums");
}

/// The lines without their checksums.
fn plain(text: &str) -> String {
    text.lines().map(|line| line.rsplit_once(",\"checksum\":").unwrap().0.to_string() + "}\n").collect()
}

#[test]
fn a_first_line_that_was_cut_off_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let data = Problem::iris().dense();
    let small = Search { repeats: 1, ..search() };
    drop(Journal::open(&path, &small, &data, None).unwrap());
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 1, 10, 100, whole.len() - 1, whole.len()] {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(Journal::open(&path, &small, &data, None).unwrap().fits(), 0);
        assert_eq!(std::fs::read(&path).unwrap(), whole, "{length}");
    }
}

#[test]
fn numbers_that_no_search_can_have_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let data = Problem::iris().dense();
    let small = Search { repeats: 1, ..search() };
    run(&small, &data, &path, usize::MAX).unwrap();
    let text = plain(&std::fs::read_to_string(&path).unwrap());
    let lines: Vec<&str> = text.lines().collect();
    let fits = Journal::open(&path, &small, &data, None).unwrap().fits();
    // Written with right checksums, so that only the numbers are wrong.
    let with = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut line: serde_json::Value = serde_json::from_str(lines[2]).unwrap();
        change(&mut line);
        let all = [lines[0].to_string(), lines[1].to_string(), line.to_string()];
        std::fs::remove_file(&path).unwrap();
        let (mut file, ()) = m3svm::JournalFile::open(&path, "{", |_| Ok(())).unwrap();
        all.iter().for_each(|line| file.add(line).unwrap());
        drop(file);
        Journal::open(&path, &small, &data, None).map(|journal| journal.fits())
    };
    assert!((1..fits).contains(&with(&|_| {}).unwrap()));
    let wrong: [(&str, serde_json::Value); 9] = [
        ("/scores/0/accuracy", 2147483648_u64.into()),
        ("/scores/0/accuracy", (-0.1).into()),
        ("/scores/0/accuracy", serde_json::Value::Null),
        ("/scores/0/log_loss", (-1.0).into()),
        ("/scores/0/iterations", u64::MAX.into()),
        ("/settings/0", 99.into()),
        ("/fold", 3.into()),
        ("/repeat", 2.into()),
        ("/scope", 4.into()),
    ];
    for (place, value) in wrong {
        let error = with(&|line| *line.pointer_mut(place).unwrap() = value.clone()).unwrap_err().to_string();
        assert!(error.ends_with("not a usable journal: line 3 is damaged"), "{place}: {error}");
    }
    let short = with(&|line| drop(line["scores"].as_array_mut().unwrap().pop())).unwrap_err().to_string();
    assert!(short.ends_with("line 3 is damaged"), "{short}");
}

#[test]
fn a_journal_belongs_to_one_run_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let data = Problem::iris().dense();
    let first = Journal::open(&path, &search(), &data, None).unwrap();
    assert!(matches!(Journal::open(&path, &search(), &data, None), Err(Error::Busy { .. })));
    drop(first);
    Journal::open(&path, &search(), &data, None).unwrap();
}
