//! How much sooner a search is done than the same fits in a loop, and what contributes: `make bench-selection`.
//!
//! The paper's grid (10 λ × 8 p) with five folds and ten repeats: 4,000 fits. "One by one" is what a user would write: for every setting and
//! fold a fit of its own, at the tolerance of final models, then a prediction. Each line after it changes one thing more and says how many
//! times less wall time that takes.

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
    let threads = rayon::current_num_threads();
    let (usual, best) = timed(threads, || one_by_one(&cold, data))?;
    // A loop may use all threads inside each fit.
    say(&format!("{}  best {:.2} %", line(&format!("one by one, {threads} threads"), &usual, None), 100.0 * best));
    let (single, _) = timed(1, || one_by_one(&cold, data))?;
    say(&line("one by one, 1 thread", &single, None));
    let steps = [
        ("shared preparation", 1, cold.clone()),
        ("+ warm starts", 1, Search { warm_starts: true, ..cold.clone() }),
        ("+ tolerance of the search", 1, Search { warm_starts: true, tol: search.tol, ..cold }),
        ("+ discarding", 1, search.clone()),
        ("+ all threads", threads, search),
    ];
    let mut before = single;
    for (what, threads, search) in steps {
        let (spent, found) = timed(threads, || run(&search, data))?;
        let best = found.chosen(Rule::BestMean);
        let (lambda, p) = (best.setting.lambda.unwrap_or(0.0), best.setting.p.unwrap_or(0.0));
        let text = line(what, &spent, Some(&before));
        let (mean, fits) = (100.0 * best.mean, found.fits);
        say(&format!("{text}  best {mean:.2} % at {lambda:.1e}, p {p}; {fits} fits, {} steps", found.iterations));
        before = spent;
    }
    say(&format!(
        "  all together: {:.1} times less time than one by one on {threads} threads\n",
        usual.wall / before.wall
    ));
    Ok(())
}

/// Time that something took.
struct Spent {
    wall: f64,
    /// Of all threads; known on Linux. Says more than the wall time while others use the machine.
    cpu: Option<f64>,
}

fn line(what: &str, spent: &Spent, before: Option<&Spent>) -> String {
    let times = before.map(|before| format!("{:5.2} times", before.wall / spent.wall)).unwrap_or_default();
    let cpu = spent.cpu.map(|cpu| format!("{cpu:6.2} s of CPU")).unwrap_or_default();
    format!("  {what:26} {:7.2} s {cpu} {times:11}", spent.wall)
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

fn timed<T: Send>(threads: usize, work: impl FnOnce() -> Outcome<T> + Send) -> Outcome<(Spent, T)> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let (started, cpu) = (Instant::now(), cpu_seconds());
    let result = pool.install(|| work().map_err(|e| e.to_string()))?;
    let cpu = cpu_seconds().zip(cpu).map(|(now, then)| now - then);
    Ok((Spent { wall: started.elapsed().as_secs_f64(), cpu }, result))
}

/// What this process has used so far, from the 14th and 15th field of its status, in hundredths of a second.
fn cpu_seconds() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields = status.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
    Some(fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0)
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
