//! Rows that come in batches, once: what is larger than memory is read from.

use crate::error::Error;
use crate::features::Features;
use crate::prepare::Preprocessor;

/// Some rows with labels of any text, and perhaps weights.
#[derive(Clone, Debug)]
pub struct RowBatch<'a> {
    /// The features. All batches are stored alike; sparse ones may differ in their number of columns.
    pub x: Features<'a>,
    /// One label per row.
    pub labels: Vec<String>,
    /// One weight per row, in all batches or in none.
    pub weights: Option<Vec<f64>>,
}

/// Gives the rows of a data set, batch by batch. Every iterator over batches does.
///
/// ```
/// use m3svm::{Error, Features, Fit, RowBatch, Spec};
///
/// let batch = |values: [f64; 3], labels: [&str; 3]| {
///     let x = Features::dense(values.to_vec(), 3, 1)?;
///     Ok::<_, Error>(RowBatch { x, labels: labels.map(String::from).to_vec(), weights: None })
/// };
/// let batches = [batch([0.0, 1.0, 5.0], ["low", "low", "high"]), batch([6.0, 0.5, 4.0], ["high", "low", "high"])];
/// let model = Fit::default().of_source(&Spec::default(), &mut batches.into_iter())?;
/// assert_eq!((model.training().rows, model.train_accuracy()), (6, 1.0));
/// # Ok::<(), Error>(())
/// ```
pub trait RowSource {
    /// What can go wrong on the way.
    type Error: From<Error>;

    /// Gives all rows to `take`, batch by batch; what that complains of ends it. Batches without rows only ask whether to go on.
    fn each_batch(&mut self, take: &mut dyn FnMut(RowBatch<'_>) -> crate::Result<()>) -> Result<(), Self::Error>;

    /// Whether all rows are to be asked for again, asked after the last batch: what becomes of columns may be learnt from all rows first. What has
    /// been taken so far is thrown away then.
    fn again(&mut self) -> Result<bool, Self::Error> {
        Ok(false)
    }

    /// What has made the features of columns of every kind, if they were such, asked after the last batch. It goes into the model.
    fn preprocessor(&self) -> Option<Preprocessor> {
        None
    }

    /// The names of the columns, if there are any, asked after the last batch.
    fn feature_names(&self) -> Option<Vec<String>> {
        None
    }

    /// Gives all different labels their final spelling, asked after the last batch: which it is may depend on the others. Those that become equal
    /// are one class.
    fn spell(&self, labels: &mut [String]) {
        let _ = labels;
    }

    /// So many of the first columns of sparse rows stand for nothing and have no entries. In files that count from 0 or from 1, the end shows
    /// which of the two it is.
    fn unused_columns(&self) -> u32 {
        0
    }
}

impl<'a, I, E> RowSource for I
where
    I: Iterator<Item = Result<RowBatch<'a>, E>>,
    E: From<Error>,
{
    type Error = E;

    fn each_batch(&mut self, take: &mut dyn FnMut(RowBatch<'_>) -> crate::Result<()>) -> Result<(), E> {
        self.try_for_each(|batch| Ok(take(batch?)?))
    }
}
