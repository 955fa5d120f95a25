//! Ascent where classes are many: most visits are among the contenders of a row.

use super::{ASCENT, Ascent, VisitRoom};
use crate::linalg::{dot, repeat_row};

impl Ascent<'_> {
    /// Whether the next pass is among contenders alone: as long as there is something left to gain there.
    pub(super) fn is_next_partial(&self) -> bool {
        let left = || self.part_gaps.iter().sum::<f64>() > ASCENT.settled * self.gaps.iter().sum::<f64>();
        self.contenders.is_some() && self.passes > 1 && self.partial < ASCENT.partial && (self.partial == 0 || left())
    }

    /// The scores of some rows, all at the weights of now: one product where rows one by one would read all weights for each.
    pub(super) fn screen(&self, rows: &[u32], room: &mut VisitRoom) -> Vec<f64> {
        let (c, d) = (self.risk.problem.classes, self.risk.x.cols());
        let (mut x, mut z) = (Vec::with_capacity(rows.len() * d), vec![0.0; rows.len() * c]);
        for &i in rows {
            let row = self.risk.x.block(i as usize..i as usize + 1, &mut room.block);
            row.row(0).for_each(|_, v| x.push(v));
        }
        if let Some(hold) = &self.hold {
            repeat_row(hold.intercept(), &mut z);
        }
        self.w.add_scores_of_rows(&x, &mut z);
        z
    }

    /// Finds the contenders of a row by scores that may be those of a few visits ago, and moves it among them; whether it has moved.
    pub(super) fn visit_screened(&mut self, i: usize, z: &[f64], room: &mut VisitRoom) -> bool {
        let (risk, c, y) = (self.risk, self.risk.problem.classes, self.risk.y[i] as usize);
        let (h, weight, slopes) = (self.reach[i], risk.weight(i), &self.slopes[i * c..(i + 1) * c]);
        let loss = risk.problem.loss.sum_rows(z, &risk.y[i..=i], &mut room.slopes);
        self.losses[i] = weight * loss;
        self.gaps[i] = weight * (loss + slopes[y] - dot(z, slopes));
        for ((top, z), slope) in room.tops.iter_mut().zip(z).zip(slopes) {
            *top = slope + (z + 1.0) / h;
        }
        room.tops[y] -= 1.0 / h;
        room.slopes.copy_from_slice(&room.tops);
        risk.problem.loss.nearest_slopes(y, &mut room.slopes);
        if let Some(contenders) = &mut self.contenders {
            contenders.find(i, y, &room.tops, &room.slopes, slopes, h);
        }
        self.visit_contenders(i, room)
    }

    /// Moves one row to its best slopes among its contenders; whether they are others than before.
    pub(super) fn visit_contenders(&mut self, i: usize, room: &mut VisitRoom) -> bool {
        let Some(list) = self.contenders.as_ref().and_then(|contenders| contenders.of_row(i)) else {
            let moved = self.visit(i, room);
            self.part_gaps[i] = self.gaps[i];
            return moved;
        };
        let (risk, c, m) = (self.risk, self.risk.problem.classes, list.len());
        let (h, weight) = (self.reach[i], risk.weight(i));
        let (z, tops, own) = (&mut room.z[..m], &mut room.slopes[..m], &mut room.tops[..m]);
        let y = list.iter().position(|k| *k == risk.y[i]).unwrap_or_default();
        let slopes = &mut self.slopes[i * c..(i + 1) * c];
        for ((z, own), &k) in z.iter_mut().zip(&mut *own).zip(list) {
            *z = self.hold.as_ref().map_or(0.0, |hold| hold.intercept()[k as usize]);
            *own = slopes[k as usize];
        }
        let row = risk.x.block(i..i + 1, &mut room.block);
        self.w.add_scores_for(&row, list, z);
        let loss = risk.problem.loss.sum_rows(z, &[y as u32], tops);
        self.part_gaps[i] = weight * (loss + own[y] - dot(z, own));
        for ((top, z), slope) in tops.iter_mut().zip(&*z).zip(&*own) {
            *top = slope + (z + 1.0) / h;
        }
        tops[y] -= 1.0 / h;
        risk.problem.loss.nearest_slopes(y, tops);
        let mut moved = false;
        for ((new, own), &k) in tops.iter_mut().zip(&*own).zip(list) {
            let step = *new - own;
            slopes[k as usize] = *new;
            *new = weight * step;
            moved |= step != 0.0;
        }
        if moved {
            if let Some(hold) = &mut self.hold {
                hold.pull_some(list, tops);
            }
            tops.iter_mut().for_each(|step| *step /= -self.bend);
            self.w.add_for(&row, list, tops);
        }
        moved
    }
}
