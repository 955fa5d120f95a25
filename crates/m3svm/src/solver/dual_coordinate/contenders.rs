//! The classes that count in a row: those that its slopes are on, and those that come near.
//!
//! Of hundreds of wrong classes a row pays for few. What the others say is looked at in whole passes only; in between, a row is moved among
//! its contenders alone, with all other slopes left at 0, which costs a small part of it.

use super::ASCENT;
use crate::linalg::axpy;

/// A list of classes for every row, with its own always among them; an empty one stands for all classes.
pub(super) struct Contenders {
    lists: Vec<Vec<u32>>,
    classes: usize,
}

impl Contenders {
    /// All classes of all rows; `None` where they are so few that lists of them are no shorter than passes over numbers side by side.
    pub(super) fn of(rows: usize, classes: usize) -> Option<Self> {
        pay(classes).then(|| Self { lists: vec![Vec::new(); rows], classes })
    }

    /// Those of a row; `None` if they are all.
    pub(super) fn of_row(&self, i: usize) -> Option<&[u32]> {
        Some(&self.lists[i][..]).filter(|list| !list.is_empty())
    }

    /// Adds slopes that are 0 for all other classes.
    pub(super) fn add(&self, slopes: &[f64], sum: &mut [f64]) {
        let c = self.classes;
        for ((list, slopes), sum) in self.lists.iter().zip(slopes.chunks_exact(c)).zip(sum.chunks_exact_mut(c)) {
            if list.is_empty() {
                axpy(1.0, slopes, sum);
            }
            list.iter().for_each(|&k| sum[k as usize] += slopes[k as usize]);
        }
    }

    /// Finds those of row i of class `y`, which has slopes and whose next ones are the nearest to the point `tops`, where a difference of
    /// scores of 1 is one of 1/`reach` in it.
    pub(super) fn find(&mut self, i: usize, y: usize, tops: &[f64], nearest: &[f64], slopes: &[f64], reach: f64) {
        find(&mut self.lists[i], self.classes, y, tops, nearest, slopes, reach);
    }
}

/// Whether classes are so many that lists of some of them pay.
pub(super) fn pay(classes: usize) -> bool {
    classes >= ASCENT.few_classes
}

/// The same of a list on its own.
pub(super) fn find(
    list: &mut Vec<u32>,
    classes: usize,
    y: usize,
    tops: &[f64],
    nearest: &[f64],
    slopes: &[f64],
    reach: f64,
) {
    list.clear();
    // What all those that are between their bounds have taken off. Where nothing is paid it is that of the true class.
    let mut level = f64::INFINITY;
    for (k, (top, slope)) in tops.iter().zip(nearest).enumerate() {
        if k != y && *slope > 0.0 {
            level = level.min(top - slope);
        }
    }
    if level.is_infinite() {
        level = tops[y] - nearest[y];
    }
    let near = level - ASCENT.near_margins / reach;
    let most = classes / ASCENT.listed;
    for (k, (top, (next, slope))) in tops.iter().zip(nearest.iter().zip(slopes)).enumerate() {
        if k == y || *next != 0.0 || *slope != 0.0 || *top >= near {
            if list.len() == most {
                list.clear();
                return;
            }
            list.push(k as u32);
        }
    }
    if list.len() < 2 {
        // A hinge wants a wrong class.
        list.push(u32::from(y == 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_with_slopes_and_those_that_come_near_contend() {
        let mut contenders = Contenders::of(2, 100).into_iter().next();
        assert!(Contenders::of(2, ASCENT.few_classes - 1).is_none());
        let Some(found) = &mut contenders else { return };
        assert!(found.of_row(0).is_none());
        let (mut tops, mut slopes) = (vec![-9.0; 100], vec![0.0; 100]);
        // Levels are 0.5: one is on its slope, one is just below, one far.
        (tops[7], slopes[7], tops[8], tops[9]) =
            (1.0, 0.5, 0.5 - 0.5 * ASCENT.near_margins, 0.5 - 2.0 * ASCENT.near_margins);
        found.find(1, 3, &tops, &slopes, &slopes, 1.0);
        assert_eq!(found.of_row(1), Some(&[3, 7, 8][..]));
        // A row that pays nothing, and one where everything is alike.
        found.find(1, 0, &[&[5.0][..], &[-9.0; 99]].concat(), &[0.0; 100], &[0.0; 100], 1.0);
        assert_eq!(found.of_row(1), Some(&[0, 1][..]));
        found.find(1, 0, &[1.0; 100], &[0.0; 100], &[0.0; 100], 1.0);
        assert!(found.of_row(1).is_none());
    }
}
