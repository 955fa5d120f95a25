//! Rows in memory, with what a path needs of each.

use std::borrow::Cow;

use super::class_curvature::ClassCurvature;
use super::coordinate::Coordinate;
use super::coordinate_gram::coordinate_gram;
use super::entries::{Entries, count, sum};
use super::entry_rows::{EntryRows, HeavyGram, HeavyRows};
use super::features_f32::FeaturesF32;
use super::implicit_gram::ImplicitGram;
use super::moments::Moments;
use super::shift::Shifted;
use super::tuning::ENGINE;
use super::written_out::WrittenOut;
use super::{AddBlock, LossSums, Rows, Sizes, WriteOut};
use crate::columns::FetchedColumns;
use crate::linalg::axpy;
use crate::loss::{Loss, Shape};
use crate::risk::Risk;
use crate::solver::Quadratic;

/// All rows of a [`Risk`].
pub(crate) struct InMemory<'a> {
    risk: Cow<'a, Risk<'a>>,
    /// What the loss is rounded off to, if it is.
    loss: Option<Box<dyn Loss>>,
    z: Vec<f64>,
    step_z: Vec<f64>,
    dual: Vec<f64>,
    h: Vec<f64>,
    /// The slopes of all rows, which go with `h`; only of small problems without weights.
    slopes: Vec<f64>,
    /// `h` and `slopes` are those of this point.
    fresh: bool,
    /// The slopes of all rows that the model of the last step promised for its end, where dual variables do not follow a step as exactly.
    promised: Vec<f64>,
    single: Option<FeaturesF32<'a>>,
    /// Columns that have been asked for.
    columns: Option<FetchedColumns<'a>>,
    written: Option<WrittenOut>,
    /// XXᵀ, made when first needed; right of the diagonal at least. And whether it has the digits of single precision only.
    gram: Vec<f64>,
    gram_is_rough: bool,
}

/// The curvature of rows in memory.
pub(super) struct Curved<'a> {
    pub(super) risk: &'a Risk<'a>,
    pub(super) shape: Shape,
    pub(super) h: &'a [f64],
}

impl<'a> InMemory<'a> {
    /// Rows with this curvature, to be asked about that alone.
    pub(super) fn bent(risk: &'a Risk<'a>, h: &[f64]) -> Self {
        Self { h: h.to_vec(), ..Self::new(risk) }
    }

    pub(crate) fn new(risk: &'a Risk<'a>) -> Self {
        Self {
            risk: Cow::Borrowed(risk),
            loss: None,
            z: Vec::new(),
            step_z: Vec::new(),
            dual: Vec::new(),
            h: Vec::new(),
            slopes: Vec::new(),
            fresh: false,
            promised: Vec::new(),
            single: None,
            columns: None,
            written: None,
            gram: Vec::new(),
            gram_is_rough: false,
        }
    }

    /// The columns of these parameters, with those that were fetched before.
    fn fetch(&mut self, coordinates: &[Coordinate]) -> &FetchedColumns<'a> {
        let x = self.risk.x;
        let columns = self.columns.get_or_insert_with(|| FetchedColumns::new(x));
        columns.fetch(x, coordinates.iter().map(|a| a.feature()));
        columns
    }

    /// The curvature of every row.
    #[cfg(test)]
    pub(crate) fn curvature(&mut self) -> &mut [f64] {
        &mut self.h
    }

    /// The slopes ∂ℓ/∂z (n×c, without weights) that the dual variables stand for; empty where they stand for none.
    pub(crate) fn dual_slopes(&self) -> Vec<f64> {
        let (c, loss) = (self.risk.problem.classes, self.risk.problem.loss);
        if self.dual.is_empty() || !loss.has_dual_slopes() {
            return Vec::new();
        }
        let mut slopes = vec![0.0; self.risk.y.len() * c];
        let rows = self.dual.chunks_exact(loss.dual_len(c)).zip(self.risk.y).zip(slopes.chunks_exact_mut(c));
        rows.for_each(|((dual, y), slopes)| loss.dual_slopes(dual, *y as usize, slopes));
        slopes
    }

    fn loss(&self) -> &dyn Loss {
        self.loss.as_deref().unwrap_or(self.risk.problem.loss)
    }

    fn curved(&self) -> Curved<'_> {
        Curved { risk: &self.risk, shape: self.risk.problem.loss.shape(), h: &self.h }
    }
}

impl Rows for InMemory<'_> {
    fn sizes(&self) -> Sizes {
        let x = self.risk.x;
        Sizes {
            is_small: self.risk.is_small(),
            keeps_gram: x.rows() <= ENGINE.kept_gram,
            ..Sizes::in_memory(&self.risk.problem, &Sizes::of(x))
        }
    }

    fn rounding(&self) -> f64 {
        self.risk.rounding()
    }

    fn ignore_interrupts(&mut self) {
        self.risk = Cow::Owned(self.risk.deaf());
    }

    fn place(&mut self, theta: &[f64]) {
        self.z.resize(self.risk.y.len() * self.risk.problem.classes, 0.0);
        self.risk.scores(theta, &mut self.z);
        self.fresh = false;
    }

    fn begin(&mut self) {
        let (n, c, loss) = (self.risk.y.len(), self.risk.problem.classes, self.risk.problem.loss);
        self.step_z = vec![0.0; n * c];
        self.dual = vec![0.0; n * loss.dual_len(c)];
        self.h = vec![0.0; n * loss.shape().len(c)];
        self.slopes = if self.risk.is_small() { vec![0.0; n * c] } else { Vec::new() };
        self.fresh = false;
        self.promised.clear();
    }

    fn relax(&mut self, mu: Option<f64>) {
        self.loss = mu.and_then(|mu| self.risk.problem.loss.relaxed(mu));
        self.fresh = false;
    }

    fn evaluate(&mut self, with_dual: bool, grad: &mut [f64]) -> LossSums {
        let loss: &dyn Loss = self.loss.as_deref().unwrap_or(self.risk.problem.loss);
        self.fresh = !with_dual && !self.slopes.is_empty();
        if self.fresh {
            let value = self.risk.newton_pass(loss, &self.z, &self.dual, grad, &mut self.slopes, &mut self.h);
            return LossSums { value, ..LossSums::default() };
        }
        self.risk.loss_pass(loss, &self.z, with_dual, grad)
    }

    fn value(&self) -> f64 {
        self.risk.loss_at(self.loss(), &self.z, None)
    }

    fn exact_value(&self) -> f64 {
        self.risk.loss_at(self.risk.problem.loss, &self.z, None)
    }

    fn exact_value_at(&self, theta: &[f64]) -> f64 {
        let mut z = vec![0.0; self.risk.y.len() * self.risk.problem.classes];
        if theta.iter().any(|t| *t != 0.0) {
            self.risk.scores(theta, &mut z);
        }
        self.risk.loss_at(self.risk.problem.loss, &z, None)
    }

    fn shifted(&self, shift: &[f64]) -> Shifted {
        self.risk.shifted(self.loss(), &self.z, shift)
    }

    fn shifted_curvature(&self, shift: &[f64]) -> Vec<f64> {
        self.risk.shifted_curvature(self.loss(), &self.z, shift)
    }

    fn shift(&mut self, shift: &[f64]) {
        let rows = self.z.chunks_exact_mut(shift.len());
        rows.for_each(|row| row.iter_mut().zip(shift).for_each(|(z, s)| *z += s));
        self.fresh = false;
    }

    fn direct(&mut self, step: &[f64]) {
        self.risk.scores(step, &mut self.step_z);
    }

    fn values_along(&self, lengths: &[f64]) -> Vec<f64> {
        let value = |t: &f64| self.risk.loss_at(self.loss(), &self.z, Some((*t, &self.step_z)));
        lengths.iter().map(value).collect()
    }

    fn slopes_along(&self, lengths: &[f64]) -> Vec<(f64, f64)> {
        let value = |t: &f64| self.risk.loss_along(self.loss(), &self.z, &self.step_z, *t);
        lengths.iter().map(value).collect()
    }

    fn advance(&mut self, length: f64, with_slopes: bool) {
        let loss: &dyn Loss = self.loss.as_deref().unwrap_or(self.risk.problem.loss);
        self.promised.clear();
        if with_slopes && loss.shape() == Shape::SimplexAndLine && loss.has_dual_slopes() {
            self.promised = self.risk.promised_slopes(loss, &self.z, &self.h, &self.step_z);
        }
        let follows = self.fresh
            && length == 1.0
            && loss.follow_rows(&self.slopes, &self.h, self.risk.y, &self.step_z, &mut self.dual);
        if !follows {
            self.risk.move_dual(loss, &self.z, &self.step_z, length, &mut self.dual);
        }
        axpy(length, &self.step_z, &mut self.z);
        self.fresh = false;
    }

    fn has_duals(&self) -> bool {
        !self.dual.is_empty()
    }

    fn settle_duals(&mut self) {
        let loss: &dyn Loss = self.loss.as_deref().unwrap_or(self.risk.problem.loss);
        // A step of length 0 moves the duals to the point and nothing else.
        self.step_z.fill(0.0);
        self.risk.move_dual(loss, &self.z, &self.step_z, 1.0, &mut self.dual);
        self.fresh = false;
    }

    fn dual_sums(&mut self, grad: &mut [f64]) -> Option<LossSums> {
        self.risk.promised_pass(&self.dual, &self.promised, grad)
    }

    fn update_curvature(&mut self) {
        if !self.fresh {
            let loss: &dyn Loss = self.loss.as_deref().unwrap_or(self.risk.problem.loss);
            self.risk.curvature(loss, &self.z, &self.dual, &mut self.h);
        }
    }

    fn multiply(&self, v: &[f64], out: &mut [f64]) {
        self.risk.curvature_product(self.risk.problem.loss.shape(), &self.h, v, out);
    }

    fn keep_f32(&mut self, wanted: bool) -> bool {
        self.single = if wanted { FeaturesF32::of(&self.risk) } else { None };
        self.single.is_some()
    }

    fn multiply_f32(&self, v: &[f64], out: &mut [f64]) {
        match &self.single {
            Some(single) => single.multiply(&self.curved(), v, out),
            None => self.multiply(v, out),
        }
    }

    fn blocks(&mut self, how: WriteOut, add: &mut AddBlock<'_>) -> bool {
        let lump = how.heaviest.is_some() && how.lumps;
        let mut written = self.written.take().filter(|written| written.is_lumped() == lump);
        let blocks = written.get_or_insert_with(|| WrittenOut::new(&self.risk, lump));
        let is_rough = blocks.blocks(&self.curved(), how, add);
        self.written = written;
        is_rough
    }

    fn class_curvature(&self) -> Vec<f64> {
        sum(&self.curved())
    }

    fn moments(&self) -> Option<Moments> {
        Some(Moments::of(&self.curved()))
    }

    fn mean_squares(&self) -> Vec<f64> {
        let (n, mut squares) = (self.risk.x.rows(), vec![0.0; self.risk.x.cols()]);
        self.risk.x.for_each_row(|_, row| row.for_each(|j, v| squares[j] += v * v / n as f64));
        squares
    }

    fn heaviest(&self, most: usize, light: f64, entries: &mut Entries) -> Vec<f64> {
        entries.choose(&self.curved(), most, light)
    }

    fn count_heaviest(&self, most: usize, light: f64) -> usize {
        count(&self.curved(), most, light)
    }

    fn damp(&mut self, share: f64) {
        if share > 0.0 {
            damp(&self.risk, self.risk.problem.loss.shape(), share, &mut self.h);
        }
    }

    fn stored_in(&mut self, coordinates: &[Coordinate]) -> usize {
        let columns = self.fetch(coordinates);
        coordinates.iter().map(|a| columns.get(a.feature()).stored()).sum()
    }

    fn coordinate_gram(&mut self, coordinates: &[Coordinate]) -> Vec<f64> {
        self.fetch(coordinates);
        let curvature = ClassCurvature::new(&self.curved());
        self.columns.as_ref().map_or_else(Vec::new, |columns| coordinate_gram(&curvature, columns, coordinates))
    }

    fn implicit_gram<'q>(
        &'q mut self,
        coordinates: &'q [Coordinate],
        slopes: Vec<f64>,
        ridges: &'q [f64],
    ) -> Option<Box<dyn Quadratic + 'q>> {
        self.fetch(coordinates);
        let curvature = ClassCurvature::new(&self.curved());
        Some(Box::new(ImplicitGram::new(curvature, self.columns.as_ref()?, coordinates, slopes, ridges)))
    }

    fn take(&mut self, rows: &[u32], scale: &[f64], roughly: bool) -> HeavyRows {
        let (x, n) = (self.risk.x, self.risk.x.rows());
        if !roughly && self.gram_is_rough {
            self.gram.clear();
            self.gram_is_rough = false;
        }
        let single = self.single.as_ref().filter(|_| roughly && scale.is_empty());
        let taken = match single {
            Some(single) => EntryRows::Single(single.rows().take(rows)),
            None if scale.is_empty() => EntryRows::Double(x.take_rows(rows)),
            None => EntryRows::Double(x.take_rows(rows).map_columns(|j, v| v * scale[j])),
        };
        if n <= ENGINE.kept_gram && scale.is_empty() {
            if self.gram.is_empty() {
                let rough = |single: &FeaturesF32<'_>| single.rows().upper_gram().into_iter().map(f64::from).collect();
                self.gram = single.map_or_else(|| x.gram(), rough);
                self.gram_is_rough = single.is_some();
            }
            let kept = rows.iter().map(|&i| &self.gram[i as usize * n..(i as usize + 1) * n]);
            let gram = kept.flat_map(|row| rows.iter().map(|&j| row[j as usize])).collect();
            return HeavyRows { rows: taken, gram: HeavyGram::F64(gram), is_rough: self.gram_is_rough };
        }
        let gram = match &taken {
            EntryRows::Double(rows) => HeavyGram::F64(rows.gram()),
            EntryRows::Single(rows) => HeavyGram::F32(rows.upper_gram()),
        };
        HeavyRows { rows: taken, gram, is_rough: self.gram_is_rough }
    }
}

/// Adds a share of the largest curvature that a softmax can have to every row.
pub(super) fn damp(risk: &Risk<'_>, shape: Shape, share: f64, h: &mut [f64]) {
    let c = risk.problem.classes;
    for (i, h) in h.chunks_exact_mut(shape.len(c)).enumerate() {
        let (weight, y) = (risk.weight(i), risk.y[i] as usize);
        match shape {
            Shape::Simplex | Shape::SimplexAndLine => {
                h[..c].iter_mut().for_each(|h| *h = (1.0 - share) * *h + share * weight / c as f64);
            }
            Shape::Star => (0..c).filter(|k| *k != y).for_each(|k| h[k] += 0.25 * share * weight),
            Shape::Dense => (0..c * c).for_each(|at| {
                let own = if at / c == at % c { 1.0 } else { 0.0 };
                h[at] += 0.5 * share * weight * (own - 1.0 / c as f64);
            }),
        }
    }
}
