//! What the authors' public script trains: softmax with the powers of the distances, by Adam over all rows at once.
//!
//! It starts at zero, not at random numbers: the problem is convex, and the result shall not depend on luck.

use std::sync::{Mutex, PoisonError};

use m3svm::loss::Softmax;
use m3svm::penalty::{Norm, Pairwise};
use m3svm::select::{Fold, SearchWatch};
use m3svm::solver::{Adam, Limits};
use m3svm::{Certificate, Dataset, Features, Objective, Risk, Stop};

use crate::error::Result;
use crate::plan::Listener;
use crate::sets::Script;

/// Passes over the training rows.
pub(crate) const EPOCHS: usize = 500;
/// The seed of the authors' split.
pub(crate) const AUTHORS_SEED: u32 = 42;
/// The script has no ε; ours must be positive, and this one moves no digit of an accuracy.
pub(crate) const EPSILON: f64 = 1e-12;

/// The penalty of the script in the units of this library: `λ = 2·c·s·λₛ` with the share s of training rows.
pub(crate) fn penalty(script: &Script, classes: usize, share: f64) -> Pairwise {
    Pairwise::new(Norm::L2, 2.0 * classes as f64 * share * script.lambda, script.p)
}

/// The objective and the test accuracy before each epoch, and after the last one.
pub(crate) struct Course {
    pub(crate) objective: Vec<f64>,
    pub(crate) accuracy: Vec<f64>,
}

/// Trains on one split of (scaled) data.
pub(crate) fn train(
    data: &Dataset<'static>,
    split: &Fold,
    script: &Script,
    epsilon: f64,
    watch: &SearchWatch<'_>,
) -> Result<Course> {
    let train = data.take_rows(&split.train)?;
    let share = split.train.len() as f64 / data.rows() as f64;
    let (loss, penalty) = (Softmax {}, penalty(script, data.classes().len(), share));
    let risk = Risk::new(&train, &loss, &penalty, epsilon, true);
    let recorder = Recorder { risk, test: Test::new(data, &split.test), course: Mutex::default() };
    let start = vec![0.0; recorder.dim()];
    // Without a lower bound (see `certify`) the gap is never small enough: all epochs are run.
    let limits = Limits { tol: f64::MIN_POSITIVE, max_iter: EPOCHS, seed: 0, proof: true };
    let adam = Adam { learning_rate: script.learning_rate, batch: None };
    let found = adam.minimize(&recorder, start, &limits, &mut |_| Listener::go_on(watch))?;
    if found.stop == Stop::Interrupted {
        return Err(m3svm::Error::Interrupted.into());
    }
    let course = recorder.course.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (objective, accuracy) = course.into_iter().unzip();
    Ok(Course { objective, accuracy })
}

/// Rows to test on.
pub(crate) struct Test {
    x: Features<'static>,
    y: Vec<u32>,
    classes: usize,
}

impl Test {
    pub(crate) fn new(data: &Dataset<'_>, rows: &[u32]) -> Self {
        let y = rows.iter().map(|&i| data.y()[i as usize]).collect();
        Self { x: data.x().take_rows(rows), y, classes: data.classes().len() }
    }

    /// Share of right predictions with weights and intercepts in one vector.
    fn accuracy(&self, theta: &[f64]) -> f64 {
        let (weights, intercept) = theta.split_at(self.x.cols() * self.classes);
        let mut z = intercept.repeat(self.y.len());
        self.x.mul_add(0..self.y.len(), weights, self.classes, &mut z);
        let first_best = |z: &[f64]| (0..z.len()).reduce(|best, k| if z[k] > z[best] { k } else { best });
        let right = z.chunks_exact(self.classes).zip(&self.y).filter(|(z, y)| first_best(z) == Some(**y as usize));
        right.count() as f64 / self.y.len() as f64
    }
}

/// The risk, with a look at every point where Adam evaluates it.
struct Recorder<'a> {
    risk: Risk<'a>,
    test: Test,
    course: Mutex<Vec<(f64, f64)>>,
}

impl Recorder<'_> {
    fn record(&self, value: f64, theta: &[f64]) {
        let entry = (value, self.test.accuracy(theta));
        self.course.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }
}

impl Objective for Recorder<'_> {
    fn dim(&self) -> usize {
        self.risk.dim()
    }

    fn terms(&self) -> usize {
        self.risk.terms()
    }

    fn eval(&self, theta: &[f64], grad: &mut [f64]) -> f64 {
        let value = self.risk.eval(theta, grad);
        self.record(value, theta);
        value
    }

    fn eval_rows(&self, rows: &[u32], theta: &[f64], grad: &mut [f64]) -> f64 {
        self.risk.eval_rows(rows, theta, grad)
    }

    /// Adam asks now and then, and after the last step: the one point that it does not evaluate.
    fn certify(&self, theta: &mut [f64]) -> Certificate {
        let mut grad = vec![0.0; theta.len()];
        let objective = self.risk.eval(theta, &mut grad);
        let after_last = self.course.lock().unwrap_or_else(PoisonError::into_inner).len() == EPOCHS;
        if after_last {
            self.record(objective, theta);
        }
        Certificate { objective, lower_bound: None }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::ops::ControlFlow;
    use std::path::Path;

    use m3svm::Scaling;
    use m3svm_io::{ReadOptions, read_from};

    use super::*;
    use crate::data::scaled;
    use crate::split::train_test_split;

    #[test]
    fn it_takes_the_same_course_as_the_script_in_numpy() {
        // tests/fixtures/make_script.py prints these lines.
        let lines = include_str!("../tests/fixtures/script.txt").lines().filter(|line| !line.starts_with('#'));
        let iris: &[u8] = include_bytes!("../../m3svm-cli/data/iris.csv");
        let iris = read_from(iris, Path::new("iris.csv"), &ReadOptions::default()).unwrap().into_dataset().unwrap();
        let data = scaled(&iris, Scaling::Standard).unwrap();
        let split = train_test_split(150, AUTHORS_SEED);
        for line in lines {
            let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
            let script = Script { learning_rate: numbers[0], lambda: numbers[1], p: numbers[2], scaled: true };
            let course = train(&data, &split, &script, EPSILON, &|_| ControlFlow::Continue(())).unwrap();
            assert_eq!((course.objective.len(), course.accuracy.len()), (EPOCHS + 1, EPOCHS + 1));
            // Theirs is a mean over rows and classes.
            let theirs = |epoch: usize| course.objective[epoch] / (120.0 * 3.0);
            for (epoch, expected) in [0, 100, 500].into_iter().zip(&numbers[3..6]) {
                assert!((theirs(epoch) / expected - 1.0).abs() < 1e-5, "{line}: {epoch}: {}", theirs(epoch));
            }
            assert_eq!((course.accuracy[EPOCHS] * 30.0).round(), numbers[6], "{line}");
        }
    }
}
