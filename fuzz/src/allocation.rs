//! An allocator that ends the program where an input asks for more memory than it may.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

thread_local! {
    /// Bytes in use. Freed by another thread than took them they are counted wrong, which targets do not do.
    static USED: Cell<isize> = const { Cell::new(0) };
    /// Bytes that may be in use.
    static MOST: Cell<isize> = const { Cell::new(isize::MAX) };
}

/// No machine has so much: to be refused it is an answer like any other, and what cannot take it aborts.
const ABSURD: usize = 1 << 40;

/// The allocator of the system, with a limit for each thread.
pub struct Watched;

/// Runs `f` with so many bytes more than are in use now.
pub(crate) fn limited<T>(bytes: usize, f: impl FnOnce() -> T) -> T {
    struct Unlimited;
    impl Drop for Unlimited {
        fn drop(&mut self) {
            MOST.set(isize::MAX);
        }
    }
    MOST.set(USED.get().saturating_add_unsigned(bytes));
    let _end = Unlimited;
    f()
}

/// Counts bytes that are taken or given back. A thread that ends has no counters any more.
fn count(change: isize) {
    let _ = USED.try_with(|used| {
        used.set(used.get().wrapping_add(change));
        let over = MOST.try_with(|most| change > 0 && used.get() > most.get() && most.replace(isize::MAX) < isize::MAX);
        if over == Ok(true) {
            too_much(change);
        }
    });
}

/// A panic could not be told from those that decoders are allowed.
#[cold]
#[expect(clippy::print_stderr, reason = "the program ends here")]
fn too_much(bytes: isize) -> ! {
    eprintln!(
        "too much memory, the last request was for {bytes} bytes\n{}",
        std::backtrace::Backtrace::force_capture()
    );
    std::process::abort()
}

#[expect(unsafe_code, reason = "there is no other way to see what is allocated; all work is the system's")]
// SAFETY: every call is passed on to the system's allocator as it came; where it is not, null says that there is no memory.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > ABSURD {
            return null_mut();
        }
        count(layout.size() as isize);
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() > ABSURD {
            return null_mut();
        }
        count(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > ABSURD {
            return null_mut();
        }
        count(size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}
