//! What losses of pairs (the true class and one other) have in common: a function of zₖ − z_y for every wrong class k.

use super::classes;
use crate::linalg::{unrolled, vectorised};
use crate::tile::Tile;

/// In place of zₖ − z_y for the true class: so far on the right side that neither value nor slope nor curvature is left, and all entries
/// can be treated alike. Its square is still a number.
pub(super) const FAR: f64 = -1e100;

/// Fills `out` with `more` + zₖ − z_y for every row and class, and with `own` for the true class.
#[inline(always)]
pub(super) fn beyond_own(z: &[f64], y: &[u32], c: usize, (more, own): (f64, f64), out: &mut [f64]) {
    unrolled(
        c,
        #[inline(always)]
        |c| {
            for ((z, out), y) in z.chunks_exact(c).zip(out.chunks_exact_mut(c)).zip(y) {
                let base = more - z[*y as usize];
                out.iter_mut().zip(z).for_each(|(out, z)| *out = base + z);
                out[*y as usize] = own;
            }
        },
    );
}

/// Gives the true class what is missing for the slopes of a row to sum to zero.
#[inline(always)]
pub(super) fn own_slopes(y: &[u32], c: usize, dz: &mut [f64]) {
    unrolled(
        c,
        #[inline(always)]
        |c| {
            for (dz, y) in dz.chunks_exact_mut(c).zip(y) {
                // That of the true class is next to nothing so far.
                dz[*y as usize] = -dz.iter().sum::<f64>();
            }
        },
    );
}

/// [`super::Loss::value_grad_rows`] of a loss whose pairs have the value and slope `f(more + zₖ − z_y)`. That of [`FAR`] must be next to
/// nothing.
#[inline(always)]
pub(super) fn value_grad_pairs(
    z: &[f64],
    y: &[u32],
    more: f64,
    dz: &mut [f64],
    values: &mut [f64],
    f: impl Fn(f64) -> (f64, f64),
) {
    let c = classes(z, y);
    let mut tile = Tile::new(c);
    vectorised(
        #[inline(always)]
        || {
            tile.each(
                0..y.len(),
                #[inline(always)]
                |rows, paid| {
                    let (span, y) = (rows.start * c..rows.end * c, &y[rows.clone()]);
                    let dz = &mut dz[span.clone()];
                    beyond_own(&z[span], y, c, (more, FAR), dz);
                    for (g, paid) in dz.iter_mut().zip(paid.iter_mut()) {
                        (*paid, *g) = f(*g);
                    }
                    own_slopes(y, c, dz);
                    let values = &mut values[rows];
                    unrolled(
                        c,
                        #[inline(always)]
                        |c| values.iter_mut().zip(paid.chunks_exact(c)).for_each(|(v, paid)| *v = paid.iter().sum()),
                    );
                },
            );
        },
    );
}
