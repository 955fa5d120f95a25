//! Numbers of either precision in the vectors of the machine.

use std::cell::RefCell;
use std::thread::LocalKey;

use pulp::Simd;

/// A precision to compute with.
pub(crate) trait Lanes: Copy + Default + std::fmt::Debug + Send + Sync + 'static {
    /// As many numbers as are added at once.
    type Vector<S: Simd>: Copy;

    fn rounded(value: f64) -> Self;
    fn widened(self) -> f64;
    fn times(self, other: Self) -> Self;

    /// Whole vectors of a slice.
    fn vectors<S: Simd>(numbers: &[Self]) -> &[Self::Vector<S>];
    fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [Self::Vector<S>];
    fn splat<S: Simd>(simd: S, number: Self) -> Self::Vector<S>;
    /// a·b + c.
    fn mul_add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>) -> Self::Vector<S>;

    /// What [`crate::workspace::Workspace`] keeps on this thread.
    fn kept() -> &'static LocalKey<RefCell<Vec<Self>>>;
}

macro_rules! lanes {
    ($number:ty, $vector:ident, $vectors:ident, $vectors_mut:ident, $splat:ident, $mul_add:ident) => {
        impl Lanes for $number {
            type Vector<S: Simd> = S::$vector;

            #[inline(always)]
            fn rounded(value: f64) -> Self {
                value as $number
            }

            #[inline(always)]
            fn widened(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }

            #[inline(always)]
            fn vectors<S: Simd>(numbers: &[Self]) -> &[S::$vector] {
                S::$vectors(numbers).0
            }

            #[inline(always)]
            fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [S::$vector] {
                S::$vectors_mut(numbers).0
            }

            #[inline(always)]
            fn splat<S: Simd>(simd: S, number: Self) -> S::$vector {
                simd.$splat(number)
            }

            #[inline(always)]
            fn mul_add<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
                simd.$mul_add(a, b, c)
            }

            fn kept() -> &'static LocalKey<RefCell<Vec<Self>>> {
                thread_local! {
                    static KEPT: RefCell<Vec<$number>> = const { RefCell::new(Vec::new()) };
                }
                &KEPT
            }
        }
    };
}

lanes!(f32, f32s, as_simd_f32s, as_mut_simd_f32s, splat_f32s, mul_add_f32s);
lanes!(f64, f64s, as_simd_f64s, as_mut_simd_f64s, splat_f64s, mul_add_f64s);
