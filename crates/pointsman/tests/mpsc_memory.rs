//! Memory that a drained channel keeps. In its own file, because it counts all memory of a thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Counted for this thread only: the test harness allocates on another.
    static USED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: forwards to the system's allocator, which guarantees what `GlobalAlloc` asks.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        USED.set(USED.get().wrapping_add(layout.size()));
        // SAFETY: the caller's guarantees are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.set(USED.get().wrapping_sub(layout.size()));
        // SAFETY: the caller's guarantees are those that the system's allocator asks for.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_drained_channel_frees_its_memory() {
    let before = USED.get();
    let (tx, mut rx) = pointsman::sync::mpsc::unbounded_channel::<[u64; 8]>();
    let idle = USED.get().wrapping_sub(before);
    assert!(idle < 128, "{idle} bytes for an idle channel");
    tx.send([0; 8]).unwrap();
    let first = USED.get().wrapping_sub(before);
    assert!(first < 512, "{first} bytes for a channel with a message");
    for _ in 0..10_000 {
        tx.send([0; 8]).unwrap();
    }
    assert!(USED.get().wrapping_sub(before) > 640_000);
    while rx.try_recv().is_ok() {}
    let drained = USED.get().wrapping_sub(before);
    assert!(drained < 16_000, "{drained} bytes for a drained channel");
    for _ in 0..10_000 {
        tx.send([0; 8]).unwrap();
    }
    drop(rx);
    assert_eq!(
        USED.get().wrapping_sub(before),
        idle,
        "a sender keeps no messages"
    );
    drop(tx);
    assert_eq!(USED.get(), before);
}
