//! How much sooner a search is done than the same fits in a loop, and what contributes: `make bench-selection`.
//!
//! The paper's grid (10 λ × 8 p) with five folds and ten repeats: 4,000 fits. "One by one" is what a user would write: for every setting and
//! fold a fit of its own, at the tolerance of final models, then a prediction. Each line after it changes one thing more.

use std::error::Error;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use m3svm::select::{Journal, Rule, Search, SearchResult, folds};
use m3svm::{Dataset, Features, Spec};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let repeats = match names.iter().position(|a| a == "--repeats") {
        Some(at) if at + 1 < names.len() => names.drain(at..at + 2).nth(1).unwrap_or_default().parse()?,
        _ => 10,
    };
    if names.is_empty() {
        names = ["vehicle", "glass", "dermatology"].map(String::from).to_vec();
    }
    for name in &names {
        compare(name, &read(name)?, repeats)?;
    }
    Ok(())
}

fn compare(name: &str, data: &Dataset<'_>, repeats: usize) -> Outcome<()> {
    let search = Search { repeats, ..Search::new(Spec::default()) };
    let cold = Search { warm_starts: false, discard: false, tol: search.spec.tol, ..search.clone() };
    let fits = search.grid.settings().len() * search.folds * repeats;
    say(&format!("{name}: {} rows, {} features, {fits} fits", data.rows(), data.x().cols()));
    let all_threads = rayon::current_num_threads();
    let base = timed(1, || one_by_one(&cold, data))?;
    say(&format!("  {:44} {:7.2} s            best mean {:.2} %", "one by one, 1 thread", base.0, 100.0 * base.1));
    // The loop of a user runs on all threads, too: each fit may use them.
    let usual = timed(all_threads, || one_by_one(&cold, data))?;
    say(&format!("  {:44} {:7.2} s", format!("one by one, {all_threads} threads"), usual.0));
    let steps = [
        ("shared preparation", 1, Search { ..cold.clone() }),
        ("+ warm starts", 1, Search { warm_starts: true, ..cold.clone() }),
        ("+ tolerance of the search", 1, Search { warm_starts: true, tol: search.tol, ..cold.clone() }),
        ("+ discarding", 1, search.clone()),
        ("+ folds side by side", all_threads, search.clone()),
    ];
    let mut before = base.0;
    for (what, threads, search) in steps {
        let (seconds, found) = timed(threads, || run(&search, data))?;
        let best = found.chosen(Rule::BestMean);
        say(&format!(
            "  {:44} {seconds:7.2} s  {:5.2} times  best mean {:.2} % at lambda {:.2e}, p {}; {} fits, {} steps",
            format!("{what}, {threads} thread{}", if threads == 1 { "" } else { "s" }),
            before / seconds,
            100.0 * best.mean,
            best.setting.lambda.unwrap_or(0.0),
            best.setting.p.unwrap_or(0.0),
            found.fits,
            found.iterations,
        ));
        before = seconds;
    }
    say(&format!("  all together {:.1} times as fast as one by one on {all_threads} threads\n", usual.0 / before));
    Ok(())
}

/// The best mean accuracy of separate fits.
fn one_by_one(search: &Search, data: &Dataset<'_>) -> Outcome<f64> {
    let mut best = 0.0f64;
    let mut splits = Vec::new();
    for repeat in 0..search.repeats {
        splits.extend(folds(data.y(), None, search.folds, search.spec.seed, repeat)?);
    }
    for setting in search.grid.settings() {
        let spec = setting.apply(&search.spec);
        let mut sum = 0.0;
        for fold in &splits {
            let (train, test) = (data.take_rows(&fold.train)?, data.take_rows(&fold.test)?);
            let predicted = spec.fit(&train)?.predict(test.x())?;
            let right = predicted.iter().zip(test.y()).filter(|(a, b)| a == b).count();
            sum += right as f64 / test.rows() as f64;
        }
        best = best.max(sum / splits.len() as f64);
    }
    Ok(best)
}

fn run(search: &Search, data: &Dataset<'_>) -> Outcome<SearchResult> {
    Ok(search.run(data, None, &Journal::none(), &|_| ControlFlow::Continue(()))?)
}

fn timed<T: Send>(threads: usize, work: impl FnOnce() -> Outcome<T> + Send) -> Outcome<(f64, T)> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let started = Instant::now();
    let result = pool.install(|| work().map_err(|e| e.to_string()))?;
    Ok((started.elapsed().as_secs_f64(), result))
}

/// A table of the data folder: `f0,...,label`, compressed.
fn read(name: &str) -> Outcome<Dataset<'static>> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("M3SVM_DATA").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = folder.join(format!("{name}.csv.gz"));
    let file = std::fs::File::open(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text)?;
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let (row, label) = line.rsplit_once(',').ok_or("a line without a comma")?;
        for value in row.split(',') {
            values.push(value.parse::<f64>()?);
        }
        labels.push(label.to_string());
    }
    let rows = labels.len();
    let columns = values.len() / rows.max(1);
    Ok(Dataset::from_labels(Features::dense(values, rows, columns)?, &labels)?)
}

#[expect(clippy::print_stdout, reason = "the result")]
fn say(line: &str) {
    println!("{line}");
}
