//! A matrix that is cheap to invert but for few columns:
//!
//! ```text
//! (B + V D Vᵀ)⁻¹ = B⁻¹ − B⁻¹ V (D⁻¹ + Vᵀ B⁻¹ V)⁻¹ Vᵀ B⁻¹
//! ```

use crate::linalg::axpy;

/// Such a matrix, whose small system D⁻¹ + VᵀB⁻¹V has been factored.
pub(crate) trait LowRankUpdate {
    /// `out = B⁻¹·r`.
    fn base(&self, r: &[f64], out: &mut [f64]);

    /// Vᵀ·w.
    fn gather(&mut self, w: &[f64]) -> Vec<f64>;

    /// Replaces a right-hand side of the small system by its solution.
    fn solve_small(&self, rhs: &mut [f64]);

    /// `out += V·small`.
    fn spread(&mut self, small: &[f64], out: &mut [f64]);

    /// Turns B⁻¹·r into the inverse of the whole matrix times r.
    fn update(&mut self, out: &mut [f64], [pulled, back]: &mut [Vec<f64>; 2]) {
        let mut small = self.gather(out);
        self.solve_small(&mut small);
        pulled.clear();
        pulled.resize(out.len(), 0.0);
        self.spread(&small, pulled);
        back.resize(out.len(), 0.0);
        self.base(pulled, back);
        axpy(-1.0, back, out);
    }
}
