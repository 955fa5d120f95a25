//! An intercept on a leash: what moves of one row at a time need to get anywhere.
//!
//! The dual pays ‖v‖²/(4ε) for v = Σᵢ ωᵢαᵢ, the pull of the slopes at the intercept. With ε = 1e-6 no single row could move. A proximal term
//! ρ‖b − b₀‖²/2 makes that ‖v‖²/(2ρ + 4ε) with a price ⟨b₀, v⟩ beside it, as if the intercept belonged to one more feature. After every pass
//! b₀ goes to where b has got to: the method of multipliers (Rockafellar 1976). At its fixed point v + 2εb = 0, whatever ρ.

use crate::linalg::dot;
use crate::tuning::tuning;

tuning! {
    /// Intercepts on a leash.
    HOLD: HoldTuning {
        /// ρ, beside 2ε.
        strength: f64 = 10.0, "curvatures of the penalty per mean square of the lengths of rows", "0.2 to 20 tried on news20: 5 to 20 are alike, less is slower";
    }
}

/// b = (ρb₀ − v)/(ρ + 2ε).
pub(super) struct Hold {
    b: Vec<f64>,
    /// v.
    pulled: Vec<f64>,
    /// ρ + 2ε.
    strength: f64,
    epsilon: f64,
}

impl Hold {
    /// An intercept of so many classes at 0, held about as strongly as the curvature `bend` of the penalty holds the scores of rows of such
    /// lengths.
    pub(super) fn new(classes: usize, epsilon: f64, bend: f64, lengths: &[f64]) -> Self {
        let square = dot(lengths, lengths) / lengths.len().max(1) as f64;
        let strength = 2.0 * epsilon + if square > 0.0 { HOLD.strength * bend / square } else { 0.0 };
        Self { b: vec![0.0; classes], pulled: vec![0.0; classes], strength, epsilon }
    }

    pub(super) fn intercept(&self) -> &[f64] {
        &self.b
    }

    /// How far the scores of a row of weight 1 move with its own slopes, through the intercept.
    pub(super) fn reach(&self) -> f64 {
        self.strength.recip()
    }

    /// v.
    pub(super) fn pulled(&self) -> &[f64] {
        &self.pulled
    }

    /// Takes the change of Σ ωα.
    pub(super) fn pull(&mut self, change: &[f64]) {
        for ((b, pulled), change) in self.b.iter_mut().zip(&mut self.pulled).zip(change) {
            *pulled += change;
            *b -= change / self.strength;
        }
    }

    /// The same of some classes.
    pub(super) fn pull_some(&mut self, classes: &[u32], change: &[f64]) {
        for (&k, change) in classes.iter().zip(change) {
            self.pulled[k as usize] += change;
            self.b[k as usize] -= change / self.strength;
        }
    }

    /// Holds the intercept where it is from now on.
    pub(super) fn let_go(&mut self) {
        for (b, pulled) in self.b.iter_mut().zip(&self.pulled) {
            *b -= (pulled + 2.0 * self.epsilon * *b) / self.strength;
        }
    }
}
