//! Fits one problem until so many seconds of processor time are spent, and prints what a fit took, the peak of the memory, and the optimum.
//! `bench/versions.py` builds this against two versions of the library. Words after the four arguments: `intercept` for methods that are compared
//! without one, `f32` for features in single precision, `raw` for features that are left as they are.
//!
//! The file: u64s in little endian; 1 for sparse, rows, features, a label per row, then the numbers row by row, or where the rows begin, columns and
//! numbers.

use std::error::Error;
use std::hint::black_box;
use std::{env, fs};

use m3svm::loss::SmoothHinge;
use m3svm::penalty::{Norm, Pairwise};
use m3svm::{AnyLoss, AnyPenalty, Dataset, Features, Method, Scaling, Spec};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (fixed, more) = arguments.split_at_checked(4).ok_or("FILE METHOD TOL SECONDS [intercept] [f32] [raw]")?;
    let [file, method, tol, least] = fixed else { return Err("four arguments are missing".into()) };
    let has = |word: &str| more.iter().any(|given| given == word);
    let data = read(&fs::read(file)?, has("f32"))?;
    let spec = match method.as_str() {
        "bench" => Spec {
            loss: AnyLoss::SmoothHinge(SmoothHinge { delta: 0.01 }),
            penalty: AnyPenalty::Pairwise(Pairwise::new(Norm::L2, 1e-3, 4.0)),
            ..Spec::default()
        },
        name => {
            let own = Method::ALL.into_iter().find(|method| method.name() == name).ok_or("no such method")?.spec();
            // C = 1, whatever a version takes where nobody says so.
            let lambda = match name {
                "m3svm" => 1e-3,
                "smlr" => 1.0,
                _ => 0.5,
            };
            Spec { penalty: own.penalty.with_lambda(lambda), ..own }
        }
    };
    let scaling = if data.x().is_sparse() || has("raw") { Scaling::None } else { Scaling::Standard };
    let spec = Spec { tol: tol.parse()?, intercept: has("intercept") || !["ovr", "cs"].contains(&method.as_str()), scaling, ..spec };
    let least: f64 = least.parse()?;
    // A process that has had large blocks before keeps small ones; one that has not gives them back after every fit, and is given them again.
    drop(black_box(vec![1u8; 1 << 24]));
    // The system counts in steps of some milliseconds: the mean of all, then.
    let (mut fits, started) = (0.0, processor_time()?);
    let (model, taken) = loop {
        let model = black_box(spec.fit(&data)?);
        fits += 1.0;
        let spent = processor_time()? - started;
        if spent >= least {
            break (model, spent / fits);
        }
    };
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak")?;
    let peak = peak.split_whitespace().next().ok_or("no peak")?;
    let (certificate, training) = (model.certificate(), model.training());
    let gap = certificate.relative_gap().unwrap_or(f64::NAN);
    println!("{taken:.6} {peak} {:.12e} {gap:.1e} {} {}", certificate.objective, training.iterations, training.solver);
    Ok(())
}

/// Seconds that all threads have run.
fn processor_time() -> Result<f64, Box<dyn Error>> {
    let mut sum = 0.0;
    for task in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(task?.path().join("schedstat"))?;
        sum += 1e-9 * text.split(' ').next().ok_or("no time")?.parse::<f64>()?;
    }
    Ok(sum)
}

fn read(bytes: &[u8], is_single: bool) -> Result<Dataset<'static>, Box<dyn Error>> {
    let mut words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
    let mut next = || words.next().ok_or("the file ends too soon");
    let (sparse, rows, features) = (next()? == 1, next()? as usize, next()? as usize);
    let labels = (0..rows).map(|_| next().map(|label| label.to_string())).collect::<Result<Vec<_>, _>>()?;
    let x = if sparse {
        let starts = (0..=rows).map(|_| next().map(|at| at as usize)).collect::<Result<Vec<_>, _>>()?;
        let columns = (0..starts[rows]).map(|_| next().map(|at| at as u32)).collect::<Result<Vec<_>, _>>()?;
        let values = (0..starts[rows]).map(|_| next().map(f64::from_bits)).collect::<Result<Vec<_>, _>>()?;
        Features::csr(starts, columns, values, features)?
    } else {
        let values = (0..rows * features).map(|_| next().map(f64::from_bits)).collect::<Result<Vec<_>, _>>()?;
        match is_single {
            true => Features::dense(values.into_iter().map(|value| value as f32).collect::<Vec<_>>(), rows, features)?,
            false => Features::dense(values, rows, features)?,
        }
    };
    Ok(Dataset::from_labels(x, &labels)?)
}
