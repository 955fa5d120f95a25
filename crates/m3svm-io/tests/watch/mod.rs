//! An allocator that watches: how much is held, and nothing at all where more is asked for than any of these files can need. A decoder
//! that believes a length it was told then ends the test as it would end a program.
#![expect(unsafe_code, reason = "there is no other way to an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Most bytes that may be asked for at once.
const MOST: usize = 1 << 30;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Watch;

#[global_allocator]
static WATCH: Watch = Watch;

// SAFETY: everything is passed on to the allocator of the system, or refused, which is allowed.
unsafe impl GlobalAlloc for Watch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MOST {
            return std::ptr::null_mut();
        }
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(held, Relaxed);
        // SAFETY: what is asked of us is asked of it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > MOST {
            return std::ptr::null_mut();
        }
        let held = HELD.fetch_add(size, Relaxed) + size - layout.size();
        HELD.fetch_sub(layout.size(), Relaxed);
        PEAK.fetch_max(held, Relaxed);
        // SAFETY: what is asked of us is asked of it.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: it was got from there.
        unsafe { System.dealloc(at, layout) }
    }
}

/// The most bytes that were held at once while something was done, beyond those that were held before.
#[allow(dead_code, reason = "not every test asks")]
pub(crate) fn peak(work: impl FnOnce()) -> usize {
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    work();
    PEAK.load(Relaxed).saturating_sub(before)
}
