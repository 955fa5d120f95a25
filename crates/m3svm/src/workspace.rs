//! Room for many numbers that outlives a fit. The system hands out fresh memory page by page and slowly: a small fit would spend a third
//! of its time waiting for it, and searches run thousands of small fits.

use std::ops::{Deref, DerefMut};

use crate::lanes::Lanes;

/// Larger rooms are not kept, 4 MB in double precision.
const MOST_KEPT: usize = 1 << 19;

/// Where the numbers begin is a multiple of this, a line of the cache: vectors that lie across two lines are read twice.
const LINE: usize = 64;

/// Numbers in the room that this thread keeps, or in a new one where that is in use.
#[derive(Debug)]
pub(crate) struct Workspace<T: Lanes> {
    room: Vec<T>,
    /// What comes before the first line.
    unused: usize,
}

impl<T: Lanes> Workspace<T> {
    /// `len` numbers of any value.
    pub(crate) fn of(len: usize) -> Self {
        let all = len + LINE / size_of::<T>();
        let mut room = T::kept().take();
        if room.capacity() < all {
            room = vec![T::default(); all];
        } else {
            room.resize(all, T::default());
        }
        let unused = room.as_ptr().align_offset(LINE).min(all - len);
        room.truncate(unused + len);
        Self { room, unused }
    }
}

impl<T: Lanes> Drop for Workspace<T> {
    fn drop(&mut self) {
        let room = std::mem::take(&mut self.room);
        // At the end of a thread there may be nothing left to keep it in; the room is then freed.
        let _ = T::kept().try_with(|kept| {
            if room.capacity() <= MOST_KEPT + LINE && room.capacity() > kept.borrow().capacity() {
                kept.replace(room);
            }
        });
    }
}

impl<T: Lanes> Deref for Workspace<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.room[self.unused..]
    }
}

impl<T: Lanes> DerefMut for Workspace<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.room[self.unused..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_used_again_one_by_one() {
        let first = {
            let mut room = Workspace::of(1000);
            room.fill(7.0);
            // A second one at the same time is another room.
            assert!(Workspace::<f64>::of(10).iter().all(|v| *v == 0.0));
            room.as_ptr()
        };
        for len in [500, 1000] {
            let again = Workspace::<f64>::of(len);
            assert_eq!((again.as_ptr(), again.len()), (first, len));
        }
    }

    #[test]
    fn rooms_begin_with_a_line_of_the_cache() {
        for len in [0, 1, 7, 64, 1000, 100_000] {
            let (double, single) = (Workspace::<f64>::of(len), Workspace::<f32>::of(len));
            assert_eq!((double.len(), single.len()), (len, len));
            assert_eq!((double.as_ptr() as usize % LINE, single.as_ptr() as usize % LINE), (0, 0), "{len}");
        }
    }
}
