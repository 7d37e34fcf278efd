use super::*;

struct Bench {
    slab: Slab,
    chunks: Chunks,
}

impl Bench {
    fn new() -> Self {
        Self {
            slab: Slab::new(),
            chunks: Chunks::new(),
        }
    }

    fn take(&mut self, layout: Layout) -> NonNull<Header> {
        let slot = self.slab.take(class_of(layout));
        slot.unwrap_or_else(|| self.slab.grow(layout, ptr::null(), &self.chunks))
    }

    fn take_back(&mut self, slots: impl IntoIterator<Item = NonNull<Header>>) {
        for slot in slots {
            // SAFETY: each slot was taken from this slab once, and no task was written to it.
            unsafe { self.slab.take_back(slot, &self.chunks) };
        }
    }

    /// The size of each chunk.
    fn bytes(&self) -> Vec<usize> {
        // SAFETY: chunks in the list are live.
        let size = |chunk: &NonNull<Chunk>| unsafe { chunk.as_ref() }.layout.size();
        lock(&self.chunks.0).iter().map(size).collect()
    }

    fn used(&self) -> usize {
        // SAFETY: this thread owns the slab.
        unsafe { self.chunks.used() }
    }
}

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

#[test]
fn slots_have_the_size_and_alignment_of_their_tasks() {
    let mut bench = Bench::new();
    let smallest = size_of::<Header>();
    let sizes = [
        smallest,
        smallest + STEP - 1,
        smallest + STEP,
        smallest + STEP + 1,
        LARGEST_SLOT - 1,
        LARGEST_SLOT,
        LARGEST_SLOT + 1,
        5 * LARGEST_SLOT,
    ];
    let mut taken = Vec::new();
    for size in sizes {
        for align in [8, STEP, 2 * STEP, 4 * STEP, 4096] {
            for _ in 0..10 {
                let slot = bench.take(layout(size, align)).cast::<u8>();
                assert_eq!(slot.addr().get() % align, 0);
                // All of the slot is writable, and overlaps no other.
                let number = taken.len() as u8;
                let begin = smallest;
                // SAFETY: the slot has `size` bytes, and `begin` is below that.
                unsafe { slot.add(begin).write_bytes(number, size - begin) };
                taken.push((slot, size - begin, number));
            }
        }
    }
    for &(slot, size, number) in &taken {
        for offset in 0..size {
            // SAFETY: the byte was written above.
            assert_eq!(unsafe { slot.add(smallest + offset).read() }, number);
        }
    }
    assert_eq!(bench.used(), taken.len());
    bench.take_back(taken.into_iter().map(|(slot, ..)| slot.cast()));
    assert_eq!(bench.used(), 0);
}

#[test]
fn a_slot_with_a_great_alignment_leads_to_its_chunk() {
    let mut bench = Bench::new();
    let align = 1 << 20;
    let slot = bench.take(layout(align, align));
    assert_eq!(slot.addr().get() % align, 0);
    assert_eq!(bench.used(), 1);
    bench.take_back([slot]);
    assert_eq!(bench.bytes().len(), 0);
}

#[test]
fn size_classes_end_at_multiples_of_the_step() {
    assert_eq!(class_of(layout(STEP, 8)), 0);
    assert_eq!(class_of(layout(STEP + 1, 8)), 1);
    assert_eq!(class_of(layout(2 * STEP, STEP)), 1);
    assert_eq!(class_of(layout(LARGEST_SLOT, STEP)), CLASSES - 1);
    assert_eq!(class_of(layout(LARGEST_SLOT + 1, 8)), DEDICATED);
    assert_eq!(class_of(layout(STEP, 2 * STEP)), DEDICATED);
}

#[test]
fn a_dedicated_chunk_is_freed_with_its_task() {
    let mut bench = Bench::new();
    let slots: Vec<_> = (0..3)
        .map(|_| bench.take(layout(LARGEST_SLOT + 1, 8)))
        .collect();
    assert_eq!(bench.bytes().len(), 3);
    for (index, slot) in slots.into_iter().enumerate() {
        bench.take_back([slot]);
        assert_eq!(bench.bytes().len(), 2 - index);
    }
}

#[test]
fn empty_chunks_are_retained_up_to_a_limit_and_reused() {
    let mut bench = Bench::new();
    let of_largest = layout(LARGEST_SLOT, 8);
    let count = (MAX_RETAINED + 4 * MAX_CHUNK) / LARGEST_SLOT;
    let slots: Vec<_> = (0..count).map(|_| bench.take(of_largest)).collect();
    let bytes = bench.bytes();
    assert_eq!(bytes[..3], [MIN_CHUNK, 2 * MIN_CHUNK, 4 * MIN_CHUNK]);
    assert_eq!(bytes.last(), Some(&MAX_CHUNK));
    let at_peak: usize = bytes.iter().sum();
    bench.take_back(slots);
    let retained: usize = bench.bytes().iter().sum();
    assert!(retained < at_peak, "nothing was freed");
    // The first chunk of the class does not count.
    assert!(bench.slab.retained <= MAX_RETAINED && retained <= MAX_RETAINED + MAX_CHUNK);
    assert!(bench.slab.retained > MAX_RETAINED - MAX_CHUNK);

    let slots: Vec<_> = (0..bench.slab.retained / MAX_CHUNK * 200)
        .map(|_| bench.take(of_largest))
        .collect();
    assert_eq!(
        bench.bytes().iter().sum::<usize>(),
        retained,
        "memory was taken"
    );
    bench.take_back(slots);
    assert_eq!(bench.bytes().iter().sum::<usize>(), retained);
}

#[test]
fn a_chunk_is_freed_with_its_last_slot() {
    let mut bench = Bench::new();
    let of_largest = layout(LARGEST_SLOT, 8);
    let count = (MAX_RETAINED + 4 * MAX_CHUNK) / LARGEST_SLOT;
    let mut slots: Vec<_> = (0..count).map(|_| bench.take(of_largest)).collect();
    // The limit is reached: no further chunk is retained.
    bench.slab.retained = MAX_RETAINED;
    // SAFETY: `init_slot` set the chunk of each slot that was taken.
    let chunk_of = |slot: &NonNull<Header>| unsafe { Header::chunk(*slot) };
    let full = chunk_of(&slots[0]);
    let last = slots.iter().rposition(|slot| chunk_of(slot) == full);
    let last = slots.remove(last.unwrap());
    let (of_full, others): (Vec<_>, Vec<_>) =
        slots.into_iter().partition(|slot| chunk_of(slot) == full);
    let before = bench.bytes().len();
    bench.take_back(of_full);
    assert_eq!(bench.bytes().len(), before);
    bench.take_back([last]);
    assert_eq!(bench.bytes().len(), before - 1);
    bench.take_back(others);
    assert_eq!(bench.used(), 0);
}
