//! t-SNE, the same for every run: it starts from principal components, and its sums are added up by one thread.

use bhtsne::tSNE;
use m3svm::Dataset;

use crate::data::dense;
use crate::error::Result;
use crate::projection::{Table, pca};

/// About how many neighbours a point minds.
pub(crate) const PERPLEXITY: f64 = 30.0;
/// Steps.
pub(crate) const EPOCHS: usize = 1000;
/// Spread of the first component at the start: small against the result, so that neighbours decide and not the start.
const START: f64 = 1e-4;

/// Fewer rows have no neighbourhoods; their principal components have to do.
const FEWEST_ROWS: usize = 8;

/// Places every row in the plane, near to rows that resemble it.
pub(crate) fn embed(data: &Dataset<'_>) -> Result<Vec<[f64; 2]>> {
    let columns = data.x().cols();
    let values = dense(data.x());
    let table = Table { values: &values, columns };
    let Some(start) = pca(&table) else { return Ok(vec![[0.0; 2]; data.rows()]) };
    if data.rows() < FEWEST_ROWS {
        return Ok(start);
    }
    let spread = (start.iter().map(|p| p[0] * p[0]).sum::<f64>() / start.len() as f64).sqrt().max(f64::MIN_POSITIVE);
    let start: Vec<f64> = start.concat().iter().map(|v| v * START / spread).collect();
    // More than a third of the others are no neighbours.
    let perplexity = PERPLEXITY.min((data.rows() as f64 - 2.0) / 3.0);
    let place = || {
        let rows: Vec<&[f64]> = values.chunks_exact(columns).collect();
        let mut tsne: tSNE<'_, f64, &[f64]> = tSNE::new(&rows);
        tsne.perplexity(perplexity).epochs(EPOCHS).initial_embedding(start);
        tsne.exact(|a, b| a.iter().zip(b.iter()).map(|(x, y)| (x - y).powi(2)).sum());
        tsne.embedding()
    };
    let flat = rayon::ThreadPoolBuilder::new().num_threads(1).build()?.install(place);
    Ok(flat.chunks_exact(2).map(|p| [p[0], p[1]]).collect())
}
