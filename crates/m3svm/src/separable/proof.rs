//! The proof that no linear scores are without a mistake.
//!
//! Weights α > 0 of some demands aᵢₖ = (xᵢ, 1) ⊗ (e_y − eₖ) whose sum r is not zero but small are near others that cancel exactly: with
//! M = Σ α²aaᵀ the correction δ = −α²·aᵀM⁻¹r brings the sum to zero, and |δ| < α wherever rᵀM⁻¹r < 1. So `‖r‖² < θ` with `M ⪰ θI` proves that
//! there are weights, and both can be shown in floating point: the first by what rounding may have done to r, the second by a factorisation of
//! M − θI that succeeds. Features that depend on others are left out, where that can be shown in whole numbers.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

use super::CrossingRow;
use crate::features::{BlockRoom, Features};
use crate::hard_margin::LeadingRows;
use crate::linalg::dot;
use crate::rounding::{length, of_sum};
use crate::scale::Scaler;

/// Two equal rows of different classes.
pub(super) fn same_rows(x: &Features<'_>, y: &[u32]) -> Option<Vec<CrossingRow>> {
    let mut room = BlockRoom::default();
    let mut content = |i: u32| {
        let mut out: Vec<(usize, u64)> = Vec::new();
        x.block(i as usize..i as usize + 1, &mut room).row(0).for_each(|j, v| {
            if v != 0.0 {
                out.push((j, v.to_bits()));
            }
        });
        out
    };
    let mut seen: HashMap<u64, Vec<u32>> = HashMap::new();
    for i in 0..y.len() as u32 {
        let own = content(i);
        let mut hasher = DefaultHasher::new();
        own.hash(&mut hasher);
        let known = seen.entry(hasher.finish()).or_default();
        // One row of each class will do.
        if known.iter().any(|j| y[*j as usize] == y[i as usize]) {
            continue;
        }
        if let Some(j) = known.iter().find(|j| content(**j) == own) {
            let demand = |row: u32, rival: u32| CrossingRow { row, rival: y[rival as usize], weight: 0.5 };
            return Some(vec![demand(*j, i), demand(i, *j)]);
        }
        known.push(i);
    }
    None
}

/// One demand: a row, the class it has to lead, and its weight.
struct Demand {
    row: usize,
    rival: usize,
    weight: f64,
}

/// Weights that prove it, from slopes of a problem with slack (n×c); `standard` are the rows as `scaler` makes them.
pub(super) fn farkas(
    rows: LeadingRows<'_>,
    scaler: &Scaler,
    standard: &Features<'_>,
    slopes: &[f64],
) -> Option<Vec<CrossingRow>> {
    /// Unknowns of a combination, and multiplications, that are not too many.
    const MOST: (usize, f64) = (3000, 5e10);
    const ROUNDS: usize = 10;
    let c = rows.classes;
    let top = slopes.iter().map(|s| s.abs()).fold(0.0, f64::max);
    let mut demands = Vec::new();
    for (i, y) in rows.y.iter().enumerate() {
        for k in (0..c).filter(|k| *k != *y as usize) {
            let weight = slopes[i * c + k].abs() / top;
            if weight > 1e-9 {
                demands.push(Demand { row: i, rival: k, weight });
            }
        }
    }
    let (n, d) = (rows.x.rows() as f64, rows.x.cols());
    if demands.is_empty() || d > MOST.0 || n * (d as f64).powi(2) > MOST.1 {
        return None;
    }
    let basis = basis(rows, standard, scaler)?;
    let size = (basis.len() + usize::from(rows.intercept)) * (c - 1);
    if size == 0 || size > MOST.0 || demands.len() as f64 * (size / (c - 1)).pow(2) as f64 * 3.0 > MOST.1 {
        return None;
    }
    let system = System::new(rows, scaler, &basis, demands);
    system.prove(ROUNDS)
}

/// Demands in the features that stand for all.
struct System<'a> {
    rows: LeadingRows<'a>,
    demands: Vec<Demand>,
    /// Numbers per class: features and the 1.
    width: usize,
    /// The rows that have demands, in the basis, and how far each may be off.
    points: HashMap<usize, (Vec<f64>, f64)>,
}

impl<'a> System<'a> {
    fn new(rows: LeadingRows<'a>, scaler: &Scaler, basis: &[usize], demands: Vec<Demand>) -> Self {
        let (mut points, mut room) = (HashMap::new(), BlockRoom::default());
        let mut place = vec![usize::MAX; rows.x.cols()];
        basis.iter().enumerate().for_each(|(at, j)| place[*j] = at);
        for demand in &demands {
            let i = demand.row;
            points.entry(i).or_insert_with(|| {
                let mut point: Vec<f64> =
                    basis.iter().map(|j| (0.0 - scaler.shift()[*j]) * scaler.factor()[*j]).collect();
                let mut off = 0.0;
                for j in basis {
                    off += (scaler.shift()[*j] * scaler.factor()[*j]).powi(2);
                }
                rows.x.block(i..i + 1, &mut room).row(0).for_each(|j, v| {
                    if place[j] < usize::MAX {
                        point[place[j]] = (v - scaler.shift()[j]) * scaler.factor()[j];
                        off += (v * scaler.factor()[j]).powi(2);
                    }
                });
                if rows.intercept {
                    point.push(1.0);
                }
                (point, 8.0 * f64::EPSILON * off.sqrt())
            });
        }
        Self { rows, demands, width: basis.len() + usize::from(rows.intercept), points }
    }

    fn size(&self) -> usize {
        self.width * (self.rows.classes - 1)
    }

    /// The blocks that a demand has entries in, with their signs; the last class has none.
    fn blocks(&self, demand: &Demand) -> impl Iterator<Item = (usize, f64)> + use<> {
        let (own, rival, last) = (self.rows.y[demand.row] as usize, demand.rival, self.rows.classes - 1);
        [(own, 1.0), (rival, -1.0)].into_iter().filter(move |(k, _)| *k < last)
    }

    fn point(&self, demand: &Demand) -> (&[f64], f64) {
        self.points.get(&demand.row).map_or((&[], 0.0), |(point, off)| (point.as_slice(), *off))
    }

    /// Σ αa, and how far it can be off.
    fn sum(&self) -> (Vec<f64>, f64) {
        let (mut out, mut mass, mut off) = (vec![0.0; self.size()], 0.0, 0.0);
        for demand in &self.demands {
            let (point, error) = self.point(demand);
            for (block, sign) in self.blocks(demand) {
                let own = &mut out[block * self.width..][..self.width];
                own.iter_mut().zip(point).for_each(|(o, v)| *o += sign * demand.weight * v);
            }
            mass += demand.weight * 2.0 * length(point);
            off += demand.weight * 2.0 * error;
        }
        (out, of_sum(self.demands.len()) * mass + off)
    }

    /// Σ α²aaᵀ, its trace, and how far it can be off.
    fn matrix(&self) -> (Mat<f64>, f64, f64) {
        let mut m = Mat::<f64>::zeros(self.size(), self.size());
        let (mut trace, mut off) = (0.0, 0.0);
        for demand in &self.demands {
            let (point, error) = self.point(demand);
            let weight = demand.weight * demand.weight;
            for (a, first) in self.blocks(demand) {
                for (b, second) in self.blocks(demand) {
                    for (q, right) in point.iter().enumerate() {
                        let scaled = weight * first * second * right;
                        for (p, left) in point.iter().enumerate() {
                            m[(a * self.width + p, b * self.width + q)] += scaled * left;
                        }
                    }
                }
            }
            let long = length(point);
            trace += 2.0 * weight * long * long;
            off += weight * 4.0 * (2.0 * long + error) * error;
        }
        (m, trace, of_sum(self.demands.len()) * trace * 2.0 + off)
    }

    fn prove(mut self, rounds: usize) -> Option<Vec<CrossingRow>> {
        let mut proven: Option<(f64, Vec<f64>)> = None;
        for _ in 0..rounds {
            let (matrix, trace, off) = self.matrix();
            let (sum, error) = self.sum();
            let long = length(&sum) + error;
            // Not more than this is needed.
            let needed = (long * long) * 1.0001 + off + of_sum(2 * self.size()) * trace;
            if needed < trace && is_above(&matrix, needed, trace, self.size()) {
                // Weights that cancel are near these; as near as rounding lets them come is what is shown.
                let before = proven.replace((long, self.weights()));
                if before.is_some_and(|(known, _)| long > 0.5 * known) {
                    break;
                }
            }
            let Ok(factored) = matrix.llt(Side::Lower) else { break };
            let solved = factored.solve(Mat::from_fn(sum.len(), 1, |i, _| sum[i]));
            let column: Vec<f64> = (0..sum.len()).map(|i| solved[(i, 0)]).collect();
            if column.iter().any(|v| !v.is_finite()) {
                break;
            }
            let changes: Vec<f64> = self
                .demands
                .iter()
                .map(|demand| {
                    let (point, _) = self.point(demand);
                    let along: f64 = self
                        .blocks(demand)
                        .map(|(block, sign)| sign * dot(&column[block * self.width..][..self.width], point))
                        .sum();
                    -demand.weight * along
                })
                .collect();
            // Half of a weight at most, so that none gets lost.
            for (demand, change) in self.demands.iter_mut().zip(changes) {
                demand.weight *= (1.0 + change).max(0.1);
            }
            let top = self.demands.iter().map(|demand| demand.weight).fold(0.0, f64::max);
            self.demands.iter_mut().for_each(|demand| demand.weight /= top);
        }
        let (_, weights) = proven?;
        self.demands.iter_mut().zip(weights).for_each(|(demand, weight)| demand.weight = weight);
        Some(self.combination())
    }

    fn weights(&self) -> Vec<f64> {
        self.demands.iter().map(|demand| demand.weight).collect()
    }

    fn combination(self) -> Vec<CrossingRow> {
        let total: f64 = self.demands.iter().map(|demand| demand.weight).sum();
        let row = |demand: Demand| CrossingRow {
            row: demand.row as u32,
            rival: demand.rival as u32,
            weight: demand.weight / total,
        };
        self.demands.into_iter().map(row).collect()
    }
}

/// Whether M ⪰ θI: a factorisation of M − θ′I that succeeds shows it, for a θ′ above θ by what its rounding can amount to.
fn is_above(m: &Mat<f64>, theta: f64, trace: f64, size: usize) -> bool {
    let shift = theta + of_sum(2 * size) * trace;
    let lower = Mat::from_fn(size, size, |i, j| m[(i, j)] - if i == j { shift } else { 0.0 });
    lower.llt(Side::Lower).is_ok()
}

/// Features whose values say those of all others, exactly. `None` where that cannot be shown.
fn basis(rows: LeadingRows<'_>, standard: &Features<'_>, scaler: &Scaler) -> Option<Vec<usize>> {
    /// What is left of the square of a feature that depends on others.
    const LEFT: f64 = 1e-9;
    let (n, d) = (rows.x.rows(), rows.x.cols());
    // The Gram matrix of the features and the 1, which comes first.
    let extra = usize::from(rows.intercept);
    let size = d + extra;
    let mut gram = vec![0.0; size * size];
    let mut row = vec![0.0; size];
    standard.for_each_row(|_, values| {
        row.fill(0.0);
        if extra == 1 {
            row[0] = 1.0;
        }
        values.for_each(|j, v| row[j + extra] = v);
        for (a, left) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            gram[a * size..][..=a].iter_mut().zip(&row).for_each(|(g, v)| *g += left * v);
        }
    });
    let at = |a: usize, b: usize| gram[a.max(b) * size + a.min(b)];
    let whole: Vec<f64> = (0..size).map(|a| at(a, a)).collect();
    // Cholesky with pivots, the 1 first.
    let (mut left, mut factor, mut pivots): (Vec<f64>, Vec<Vec<f64>>, Vec<usize>) =
        (whole.clone(), Vec::new(), Vec::new());
    while pivots.len() < size.min(n) {
        let share = |a: &usize| if whole[*a] > 0.0 { left[*a] / whole[*a] } else { 0.0 };
        let open = (0..size).filter(|a| !pivots.contains(a));
        let next =
            if extra == 1 && pivots.is_empty() { Some(0) } else { open.max_by(|a, b| share(a).total_cmp(&share(b))) };
        let Some(next) = next.filter(|a| share(a) > LEFT) else { break };
        let root = left[next].sqrt();
        let column: Vec<f64> =
            (0..size).map(|a| (at(a, next) - factor.iter().map(|f| f[a] * f[next]).sum::<f64>()) / root).collect();
        left.iter_mut().zip(&column).for_each(|(l, v)| *l = (*l - v * v).max(0.0));
        left[next] = 0.0;
        factor.push(column);
        pivots.push(next);
    }
    let chosen: Vec<usize> = pivots.iter().filter(|a| **a >= extra).map(|a| a - extra).collect();
    for j in (0..d).filter(|j| !chosen.contains(j)) {
        // Coefficients of the pivots: back through the triangle.
        let r = pivots.len();
        let mut solution = vec![0.0; r];
        for a in (0..r).rev() {
            let rest: f64 = (a + 1..r).map(|b| factor[a][pivots[b]] * solution[b]).sum();
            solution[a] = (factor[a][j + extra] - rest) / factor[a][pivots[a]];
        }
        let mut constant = scaler.shift()[j];
        let mut of = Vec::new();
        for (pivot, value) in pivots.iter().zip(&solution) {
            if *pivot < extra {
                constant += value / scaler.factor()[j];
            } else {
                let k = pivot - extra;
                let value = value * scaler.factor()[k] / scaler.factor()[j];
                constant -= value * scaler.shift()[k];
                of.push((k, value));
            }
        }
        if !depends(rows.x, j, &of, if extra == 1 { constant } else { 0.0 }) {
            return None;
        }
    }
    Some(chosen)
}

/// Whether a feature is exactly `Σ value·feature + constant` with fractions for values: shown in whole numbers.
fn depends(x: &Features<'_>, j: usize, of: &[(usize, f64)], constant: f64) -> bool {
    /// Digits behind the point, in binary, and denominators that are tried.
    const DIGITS: i32 = 20;
    const DENOMINATORS: i64 = 12;
    let own = x.column(j);
    if of.iter().all(|(_, v)| v.abs() < 1e-6) && constant != 0.0 {
        // The same in all rows is a multiple of the 1, whatever it is.
        return own.iter().all(|v| *v == own[0]);
    }
    let whole = |v: f64| {
        let scaled = v * f64::from(1 << DIGITS);
        (scaled == scaled.round() && scaled.abs() < 1e15).then_some(scaled as i128)
    };
    for q in 1..=DENOMINATORS {
        let near = |v: f64| {
            let scaled = v * q as f64;
            ((scaled - scaled.round()).abs() < 1e-5 && scaled.abs() < 1e6).then_some(scaled.round() as i128)
        };
        let parts: Option<Vec<(usize, i128)>> =
            of.iter().map(|(k, v)| near(*v).map(|v| (*k, v))).filter(|part| !matches!(part, Some((_, 0)))).collect();
        let shift = whole((constant * q as f64 * 64.0).round() / 64.0);
        let (Some(parts), Some(shift)) = (parts, shift) else { continue };
        let columns: Vec<_> = parts.iter().map(|(k, v)| (x.column(*k), *v)).collect();
        let holds = (0..own.len()).all(|i| {
            let right: Option<i128> =
                columns.iter().try_fold(shift, |sum, (column, v)| whole(column[i]).map(|x| sum + x * v));
            whole(own[i]).map(|left| left * i128::from(q)).is_some_and(|left| right == Some(left))
        });
        if holds {
            return true;
        }
    }
    false
}
