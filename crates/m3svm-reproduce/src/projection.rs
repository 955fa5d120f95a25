//! Two dimensions to look at: principal components (PCA) and linear discriminants (LDA).

use faer::{Mat, Side};

/// Rows of features in plain numbers, n×d.
pub(crate) struct Table<'a> {
    /// Row-major.
    pub(crate) values: &'a [f64],
    /// Columns.
    pub(crate) columns: usize,
}

impl Table<'_> {
    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.columns)
    }

    fn mean(&self, of: impl Fn(usize) -> bool) -> (Vec<f64>, f64) {
        let (mut mean, mut count) = (vec![0.0; self.columns], 0.0);
        for (_, row) in self.rows().enumerate().filter(|(i, _)| of(*i)) {
            mean.iter_mut().zip(row).for_each(|(m, v)| *m += v);
            count += 1.0;
        }
        mean.iter_mut().for_each(|m| *m /= f64::max(count, 1.0));
        (mean, count)
    }

    /// The rows (n×2) in the plane of two directions, from the mean.
    fn onto(&self, directions: &[Vec<f64>; 2]) -> Vec<[f64; 2]> {
        let (mean, _) = self.mean(|_| true);
        let place = |row: &[f64], direction: &[f64]| -> f64 {
            row.iter().zip(&mean).zip(direction).map(|((v, m), d)| (v - m) * d).sum()
        };
        self.rows().map(|row| [place(row, &directions[0]), place(row, &directions[1])]).collect()
    }
}

/// The two directions of largest variance.
pub(crate) fn pca(table: &Table<'_>) -> Option<Vec<[f64; 2]>> {
    let (mean, _) = table.mean(|_| true);
    let mut scatter = Mat::<f64>::zeros(table.columns, table.columns);
    table.rows().for_each(|row| add_square(&mut scatter, row, &mean, 1.0));
    Some(table.onto(&top_two(&scatter)?))
}

/// The two directions that part the classes most against the scatter within them (Fisher).
pub(crate) fn lda(table: &Table<'_>, y: &[u32]) -> Option<Vec<[f64; 2]>> {
    let (mean, _) = table.mean(|_| true);
    let classes = y.iter().max().map_or(0, |k| *k as usize + 1);
    let d = table.columns;
    let (mut within, mut between) = (Mat::<f64>::zeros(d, d), Mat::<f64>::zeros(d, d));
    for k in 0..classes {
        let of = |i: usize| y[i] as usize == k;
        let (own, count) = table.mean(of);
        add_square(&mut between, &own, &mean, count);
        table.rows().enumerate().filter(|(i, _)| of(*i)).for_each(|(_, row)| add_square(&mut within, row, &own, 1.0));
    }
    // A trace of ridge keeps constant features from breaking the factorisation.
    let trace: f64 = (0..d).map(|j| within[(j, j)]).sum();
    (0..d).for_each(|j| within[(j, j)] += 1e-9 * trace / d as f64 + f64::MIN_POSITIVE);
    // With W = LLᵀ the discriminants are L⁻ᵀv for the leading eigenvectors v of L⁻¹ B L⁻ᵀ.
    let llt = within.llt(Side::Lower).ok()?;
    let l = llt.L();
    let mut half = between;
    faer::linalg::triangular_solve::solve_lower_triangular_in_place(l, half.as_mut(), faer::Par::Seq);
    let mut inner = half.transpose().to_owned();
    faer::linalg::triangular_solve::solve_lower_triangular_in_place(l, inner.as_mut(), faer::Par::Seq);
    let directions = top_two(&inner)?.map(|v| {
        let mut column = Mat::from_fn(d, 1, |i, _| v[i]);
        faer::linalg::triangular_solve::solve_upper_triangular_in_place(l.transpose(), column.as_mut(), faer::Par::Seq);
        (0..d).map(|i| column[(i, 0)]).collect()
    });
    Some(table.onto(&directions))
}

/// Adds `weight·(row − mean)(row − mean)ᵀ`.
fn add_square(matrix: &mut Mat<f64>, row: &[f64], mean: &[f64], weight: f64) {
    let u: Vec<f64> = row.iter().zip(mean).map(|(v, m)| v - m).collect();
    for j in 0..u.len() {
        (0..u.len()).for_each(|i| matrix[(i, j)] += weight * u[i] * u[j]);
    }
}

/// The eigenvectors of the two largest eigenvalues, each with its largest entry positive.
fn top_two(matrix: &Mat<f64>) -> Option<[Vec<f64>; 2]> {
    let d = matrix.nrows();
    let found = matrix.self_adjoint_eigen(Side::Lower).ok()?;
    let column = |back: usize| {
        let at = d.checked_sub(back)?;
        let v: Vec<f64> = (0..d).map(|i| found.U()[(i, at)]).collect();
        let top = v.iter().copied().fold(0.0, |m: f64, x| if x.abs() > m.abs() { x } else { m });
        Some(v.iter().map(|x| x * top.signum()).collect())
    };
    Some([column(1)?, column(2)?])
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn spread(values: impl Iterator<Item = f64>) -> f64 {
        let all: Vec<f64> = values.collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        all.iter().map(|v| (v - mean).powi(2)).sum()
    }

    #[test]
    fn the_first_component_is_the_direction_of_largest_variance() {
        // Long along (1, 1, 0), short along (1, −1, 0), nothing along the third axis.
        let values: Vec<f64> = (0..20)
            .flat_map(|i| {
                let (t, s) = (i as f64, f64::from(i % 3));
                [t + s, t - s, 7.0]
            })
            .collect();
        let found = pca(&Table { values: &values, columns: 3 }).unwrap();
        let (first, second) = (spread(found.iter().map(|p| p[0])), spread(found.iter().map(|p| p[1])));
        let total: f64 = (0..2).map(|j| spread(values.chunks_exact(3).map(move |r| r[j]))).sum();
        assert!((first + second - total).abs() < 1e-9 * total && first > 10.0 * second);
    }

    #[test]
    fn discriminants_ignore_variance_that_parts_no_classes() {
        // Class decides the second column; the first is loud noise.
        let values: Vec<f64> =
            (0..30).flat_map(|i| [f64::from(i * 37 % 11) * 10.0, f64::from(i % 3), f64::from(i * i % 7)]).collect();
        let y: Vec<u32> = (0..30).map(|i| i % 3).collect();
        let found = lda(&Table { values: &values, columns: 3 }, &y).unwrap();
        for k in 0..3 {
            let own: Vec<f64> = found.iter().zip(&y).filter(|(_, c)| **c == k).map(|(p, _)| p[0]).collect();
            let all = spread(found.iter().map(|p| p[0]));
            assert!(spread(own.into_iter()) < 1e-6 * all);
        }
    }

    /// Values, labels and columns of iris.
    fn iris() -> (Vec<f64>, Vec<u32>) {
        let text = include_str!("../../m3svm-cli/data/iris.csv");
        let cells = text.lines().skip(1).flat_map(|line| line.split(',').take(4));
        (cells.map(|cell| cell.parse().unwrap()).collect(), (0..150).map(|i| i / 50).collect())
    }

    #[test]
    fn iris_has_the_components_and_discriminants_of_the_textbooks() {
        let (values, y) = iris();
        let table = Table { values: &values, columns: 4 };
        let found = pca(&table).unwrap();
        // Variances along the components, as NumPy's eigvalsh of the covariance gives them.
        for (i, expected) in [4.228_241_706, 0.242_670_748].into_iter().enumerate() {
            let variance = spread(found.iter().map(|p| p[i])) / 149.0;
            assert!((variance - expected).abs() < 1e-8, "{variance}");
        }
        let found = lda(&table, &y).unwrap();
        // Scatter between classes over scatter within them along the discriminants: Fisher's criterion.
        for (i, expected) in [32.191_929_2, 0.285_391_0].into_iter().enumerate() {
            let within: f64 =
                (0..3).map(|k| spread(found.iter().zip(&y).filter(|(_, c)| **c == k).map(|(p, _)| p[i]))).sum();
            let ratio = spread(found.iter().map(|p| p[i])) / within - 1.0;
            assert!((ratio / expected - 1.0).abs() < 1e-5, "{ratio}");
        }
    }
}
