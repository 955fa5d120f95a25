//! Room for many numbers that outlives a fit. The system hands out fresh memory page by page and slowly: a small fit would spend a third
//! of its time waiting for it, and searches run thousands of small fits.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Larger rooms are not kept, 4 MB.
const MOST: usize = 1 << 19;

thread_local! {
    static KEPT: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// Numbers in the room that this thread keeps, or in a new one where that is in use.
#[derive(Debug)]
pub(crate) struct Spare(Vec<f64>);

impl Spare {
    /// `len` zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        let mut room = KEPT.with(|kept| kept.take());
        if room.capacity() < len {
            return Self(vec![0.0; len]);
        }
        room.clear();
        room.resize(len, 0.0);
        Self(room)
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        let room = std::mem::take(&mut self.0);
        // At the end of a thread there may be nothing left to keep it in; the room is then freed.
        let _ = KEPT.try_with(|kept| {
            if room.capacity() <= MOST && room.capacity() > kept.borrow().capacity() {
                kept.replace(room);
            }
        });
    }
}

impl Deref for Spare {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl DerefMut for Spare {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_used_again_and_come_empty() {
        let first = {
            let mut room = Spare::zeros(1000);
            room.fill(7.0);
            // A second one at the same time is another room.
            assert!(Spare::zeros(10).iter().all(|v| *v == 0.0));
            room.as_ptr()
        };
        let again = Spare::zeros(500);
        assert_eq!((again.as_ptr(), again.len()), (first, 500));
        assert!(again.iter().all(|v| *v == 0.0));
    }
}
