//! One line per fit with a hash of its bits, to ask whether a change of the code has changed any result: `make fingerprint`.
//!
//! ```sh
//! cargo run --release --locked -p m3svm --example fingerprint > before.txt     # at the commit before
//! cargo run --release --locked -p m3svm --example fingerprint > after.txt      # after the change
//! diff before.txt after.txt
//! ```
//!
//! The made problems are such that every way through the solvers is taken by some line: each storage, each method, systems written out and solved by
//! conjugate gradients with either preconditioner, reductions, descents, warm starts, limits, a search. Bits are those of one machine: another width of
//! vectors adds up in another order.

use std::error::Error;
use std::io::Write;
use std::ops::ControlFlow;

use m3svm::loss::{PairwiseLogistic, SmoothHinge, Softmax};
use m3svm::penalty::{Lasso, Norm, Pairwise, Ridge};
use m3svm::select::{Journal, Search};
use m3svm::solver::{Adam, Lbfgs, Newton};
use m3svm::{AnyLoss, AnyPenalty, AnySolver, Column, Dataset, Features, Method, Model, Scaling, Spec};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    methods()?;
    storages()?;
    systems()?;
    penalties()?;
    decompositions()?;
    sparse()?;
    lasso()?;
    starts()?;
    first_order()?;
    search()
}

/// Every method on a small problem and on a middling one.
fn methods() -> Outcome<()> {
    for method in Method::ALL {
        let name = method.name();
        fit(&format!("{name} small"), &method.spec().with_usual_lambda(), &Made::new(1, 120, 5, 3).dense()?)?;
        fit(&format!("{name} weighted"), &method.spec().with_usual_lambda(), &Made::new(2, 300, 12, 4).weighted()?)?;
        let free = Spec { intercept: false, tol: 1e-6, ..method.spec().with_usual_lambda() };
        fit(&format!("{name} without intercept"), &free, &Made::new(3, 400, 20, 5).dense()?)?;
        fit(
            &format!("{name} wide"),
            &Spec { tol: 1e-6, ..method.spec().with_usual_lambda() },
            &Made::new(4, 60, 150, 4).dense()?,
        )?;
        // Of two classes, the two best are always both.
        if method != Method::Topk {
            fit(&format!("{name} two classes"), &method.spec().with_usual_lambda(), &Made::new(5, 200, 8, 2).dense()?)?;
        }
    }
    Ok(())
}

/// The same rows however they are stored.
fn storages() -> Outcome<()> {
    let made = Made::new(11, 6000, 30, 4);
    for method in [Method::M3svm, Method::Cs, Method::Lr, Method::Ovr] {
        let spec = Spec { tol: 1e-6, ..method.spec().with_usual_lambda() };
        for (storage, data) in
            [("dense", made.dense()?), ("f32", made.single()?), ("csr", made.csr()?), ("columns", made.by_columns()?)]
        {
            fit(&format!("{} {storage}", method.name()), &spec, &data)?;
        }
    }
    Ok(())
}

/// Sizes at which Newton's systems are made and solved in different ways.
fn systems() -> Outcome<()> {
    let sizes =
        [(500, 70, 4), (3000, 60, 3), (3000, 16, 26), (900, 130, 10), (2600, 420, 3), (1500, 250, 12), (200, 40, 40)];
    for (seed, (n, d, c)) in (20..).zip(sizes) {
        let data = Made::new(seed, n, d, c).dense()?;
        for (method, tol) in
            [(Method::M3svm, 1e-8), (Method::M3svm, 1e-3), (Method::Cs, 1e-6), (Method::Topk, 1e-4), (Method::Lr, 1e-6)]
        {
            let steps = if d > 200 { 12 } else { 60 };
            let spec = Spec { tol, max_iter: Some(steps), ..method.spec().with_usual_lambda() };
            fit(&format!("{} {n} x {d}, {c} classes, to {tol:e}", method.name()), &spec, &data)?;
        }
    }
    let uneven = Made::new(31, 1200, 300, 5).with_columns_of_uneven_size();
    fit(
        "m3svm uneven columns",
        &Spec { scaling: Scaling::None, max_iter: Some(15), ..Spec::default().with_usual_lambda() },
        &uneven.dense()?,
    )?;
    Ok(())
}

fn penalties() -> Outcome<()> {
    let data = Made::new(41, 250, 9, 4).dense()?;
    let hinge = AnyLoss::SmoothHinge(SmoothHinge { delta: 0.0 });
    for (norm, p) in [
        (Norm::L2, 0.5),
        (Norm::L2, 1.0),
        (Norm::L2, 1.5),
        (Norm::L2, 2.0),
        (Norm::L2, 7.0),
        (Norm::L1, 1.0),
        (Norm::L1, 2.0),
    ] {
        for (name, loss) in [
            ("smooth hinge", AnyLoss::default()),
            ("hinge", hinge),
            ("softmax", AnyLoss::Softmax(Softmax {})),
            ("logistic", AnyLoss::PairwiseLogistic(PairwiseLogistic {})),
        ] {
            let penalty = AnyPenalty::Pairwise(Pairwise::new(norm, 0.05, p));
            fit(
                &format!("{name} {norm:?} p {p}"),
                &Spec { loss, penalty, max_iter: Some(80), ..Spec::default().with_usual_lambda() },
                &data,
            )?;
        }
    }
    Ok(())
}

/// One-vs-rest and one-vs-one by rows, by features, evenly, for few rows and for losses without a hinge.
fn decompositions() -> Outcome<()> {
    for (seed, (n, d, c)) in (50..).zip([(1500, 30, 4), (500, 300, 6), (400, 390, 8), (90, 20, 9), (2500, 120, 5)]) {
        let made = Made::new(seed, n, d, c);
        for method in [Method::Ovr, Method::Ovo] {
            fit(
                &format!("{} {n} x {d}", method.name()),
                &Spec { tol: 1e-6, ..method.spec().with_usual_lambda() },
                &made.dense()?,
            )?;
            let logistic = Spec { loss: AnyLoss::Softmax(Softmax {}), tol: 1e-5, ..method.spec().with_usual_lambda() };
            fit(
                &format!("{} {n} x {d} softmax", method.name()),
                &Spec { max_iter: Some(20), ..logistic },
                &made.dense()?,
            )?;
        }
    }
    let distances = AnyPenalty::Pairwise(Pairwise::new(Norm::L2, 0.1, 2.0));
    fit(
        "ovr with distances",
        &Spec { penalty: distances, ..Method::Ovr.spec().with_usual_lambda() },
        &Made::new(56, 200, 10, 3).dense()?,
    )
}

/// Text-like rows, where descents in the dual come first.
fn sparse() -> Outcome<()> {
    let text = Made::text(60, 1500, 4000, 6).csr()?;
    for method in [Method::Ovr, Method::Cs, Method::Ww, Method::Msvm] {
        let spec = Spec { intercept: false, scaling: Scaling::None, tol: 1e-4, ..method.spec().with_usual_lambda() };
        fit(&format!("{} text", method.name()), &spec, &text)?;
    }
    for method in [Method::M3svm, Method::Topk, Method::Lr, Method::Cs, Method::Ovo] {
        let spec = Spec { scaling: Scaling::None, tol: 1e-4, max_iter: Some(6), ..method.spec().with_usual_lambda() };
        fit(&format!("{} text with intercept", method.name()), &spec, &text)?;
    }
    Ok(())
}

/// Sparse models: small, by sweeps, written out.
fn lasso() -> Outcome<()> {
    for (seed, (n, d, c, lambda)) in
        (70..).zip([(150, 10, 3, 1.0), (800, 60, 5, 0.5), (300, 400, 4, 2.0), (2000, 40, 10, 0.05)])
    {
        let penalty = AnyPenalty::Lasso(Lasso { lambda });
        let spec = Spec { penalty, tol: 1e-6, max_iter: Some(40), ..Method::Smlr.spec().with_usual_lambda() };
        let made = Made::new(seed, n, d, c);
        fit(&format!("lasso {n} x {d}"), &spec, &made.dense()?)?;
        fit(&format!("lasso {n} x {d} csr"), &Spec { scaling: Scaling::MaxAbs, ..spec }, &made.csr()?)?;
    }
    Ok(())
}

/// Warm starts near and far, and a limit that comes first.
fn starts() -> Outcome<()> {
    let data = Made::new(80, 500, 25, 5).dense()?;
    for method in [Method::M3svm, Method::Ww, Method::Ovr, Method::Lr] {
        let spec = method.spec().with_usual_lambda();
        let first = spec.fit(&data)?;
        let near =
            Spec { penalty: spec.penalty.with_lambda(2.0 * spec.penalty.lambda().unwrap_or(1.0)), ..spec.clone() };
        let far = Spec { penalty: AnyPenalty::Ridge(Ridge { lambda: 100.0 }), ..spec.clone() };
        for (name, spec) in [("same", spec.clone()), ("near", near), ("far", far)] {
            let warm = spec.fit_watched(&data, Some(&first), &mut |_| ControlFlow::Continue(()))?;
            line(&format!("{} warm {name}", method.name()), &warm);
        }
        fit(&format!("{} three steps", method.name()), &Spec { max_iter: Some(3), ..spec }, &data)?;
    }
    Ok(())
}

fn first_order() -> Outcome<()> {
    let data = Made::new(90, 700, 15, 4).dense()?;
    let adam = Adam { learning_rate: 0.01, batch: Some(100) };
    for (name, solver, steps) in [
        ("newton", AnySolver::Newton(Newton {}), 50),
        ("lbfgs", AnySolver::Lbfgs(Lbfgs::default()), 60),
        ("adam", AnySolver::Adam(Adam::default()), 30),
        ("adam in batches", AnySolver::Adam(adam), 5),
    ] {
        fit(name, &Spec { solver, max_iter: Some(steps), ..Spec::default().with_usual_lambda() }, &data)?;
    }
    Ok(())
}

fn search() -> Outcome<()> {
    let data = Made::new(95, 240, 6, 3).dense()?;
    let found = Search { folds: 3, repeats: 1, ..Search::new(Spec::default().with_usual_lambda()) }.run(
        &data,
        None,
        &Journal::none(),
        &|_| ControlFlow::Continue(()),
    )?;
    let means = found.outcomes.iter().map(|it| it.mean);
    say(&format!("search {} fits, {} steps, {:016x}", found.fits, found.iterations, hash(means)));
    Ok(())
}

fn fit(name: &str, spec: &Spec, data: &Dataset<'_>) -> Outcome<()> {
    line(name, &spec.fit(data)?);
    Ok(())
}

fn line(name: &str, model: &Model) {
    let (training, certificate) = (model.training(), model.certificate());
    let weights = model.weights().iter().chain(model.intercept()).copied();
    let all = weights.chain([certificate.objective]).chain(certificate.lower_bound);
    say(&format!(
        "{name}: {} {} iterations {} evaluations {} {:016x}",
        training.solver,
        training.iterations,
        training.evaluations,
        training.stop.name(),
        hash(all)
    ));
}

/// FNV-1a over the bits.
fn hash(values: impl Iterator<Item = f64>) -> u64 {
    let bytes = values.flat_map(|v| v.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn say(text: &str) {
    // Whoever reads the lines has seen enough.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Rows and labels that a seed makes: clouds that overlap, a third of the entries 0.
struct Made {
    n: usize,
    d: usize,
    c: usize,
    x: Vec<f64>,
    y: Vec<u32>,
}

impl Made {
    fn new(seed: u64, n: usize, d: usize, c: usize) -> Self {
        let mut random = Random(seed);
        let centres: Vec<f64> = (0..c * d).map(|_| random.symmetric()).collect();
        let y: Vec<u32> = (0..n).map(|i| (i % c) as u32).collect();
        let mut x = Vec::with_capacity(n * d);
        for k in &y {
            for j in 0..d {
                let value = centres[*k as usize * d + j] + 1.5 * random.symmetric();
                x.push(if random.next().is_multiple_of(3) { 0.0 } else { value });
            }
        }
        Self { n, d, c, x, y }
    }

    /// Rows with about thirty of many words, some of which belong to the class; each row has length 1.
    fn text(seed: u64, n: usize, d: usize, c: usize) -> Self {
        let mut random = Random(seed);
        let mut x = vec![0.0; n * d];
        let y: Vec<u32> = (0..n).map(|i| (i % c) as u32).collect();
        for (row, k) in x.chunks_exact_mut(d).zip(&y) {
            for word in 0..30 {
                let any = random.next() as usize % d;
                let own = (*k as usize * 97 + random.next() as usize % 60) % d;
                row[if word % 3 == 0 { own } else { any }] += 1.0;
            }
            let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            row.iter_mut().for_each(|v| *v /= length);
        }
        Self { n, d, c, x, y }
    }

    fn with_columns_of_uneven_size(mut self) -> Self {
        let d = self.d;
        self.x.iter_mut().enumerate().for_each(|(at, v)| *v *= [1e-2, 1.0, 30.0][at % d % 3]);
        self
    }

    fn data(&self, x: Features<'static>) -> Outcome<Dataset<'static>> {
        Ok(Dataset::new(x, self.y.clone(), (0..self.c).map(|k| k.to_string()).collect())?)
    }

    fn dense(&self) -> Outcome<Dataset<'static>> {
        self.data(Features::dense(self.x.clone(), self.n, self.d)?)
    }

    fn single(&self) -> Outcome<Dataset<'static>> {
        let x: Vec<f32> = self.x.iter().map(|v| *v as f32).collect();
        self.data(Features::dense(x, self.n, self.d)?)
    }

    fn weighted(&self) -> Outcome<Dataset<'static>> {
        let mut random = Random(self.n as u64);
        Ok(self.dense()?.with_weights((0..self.n).map(|_| 1.2 + random.symmetric()).collect::<Vec<f64>>())?)
    }

    fn csr(&self) -> Outcome<Dataset<'static>> {
        let (mut starts, mut indices, mut values) = (vec![0usize], Vec::new(), Vec::new());
        for row in self.x.chunks_exact(self.d) {
            for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(j as u32);
                values.push(*v);
            }
            starts.push(indices.len());
        }
        self.data(Features::csr(starts, indices, values, self.d)?)
    }

    fn by_columns(&self) -> Outcome<Dataset<'static>> {
        let column = |j: usize| -> Vec<f64> { self.x.iter().skip(j).step_by(self.d).copied().collect() };
        self.data(Features::columns((0..self.d).map(|j| Column::from(column(j))).collect())?)
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From [-1, 1).
    fn symmetric(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}
