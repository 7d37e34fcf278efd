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
        let place = self.slab.take(class_of(layout));
        place.unwrap_or_else(|| self.slab.grow(layout, ptr::null(), &self.chunks))
    }

    fn take_back(&mut self, places: impl IntoIterator<Item = NonNull<Header>>) {
        for place in places {
            // SAFETY: taken before, once, and no task was made there.
            unsafe { self.slab.take_back(place, &self.chunks) };
        }
    }

    /// Of each chunk.
    fn bytes(&self) -> Vec<usize> {
        // SAFETY: chunks of the list are there.
        let size = |chunk: &NonNull<Chunk>| unsafe { chunk.as_ref() }.layout.size();
        lock(&self.chunks.0).iter().map(size).collect()
    }

    fn used(&self) -> usize {
        // SAFETY: this is the owner.
        unsafe { self.chunks.used() }
    }
}

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

#[test]
fn places_are_as_large_and_aligned_as_their_tasks() {
    let mut bench = Bench::new();
    let smallest = size_of::<Header>();
    let sizes = [
        smallest,
        2 * STEP - 1,
        2 * STEP,
        2 * STEP + 1,
        LARGEST_PLACE - 1,
        LARGEST_PLACE,
        LARGEST_PLACE + 1,
        5 * LARGEST_PLACE,
    ];
    let mut taken = Vec::new();
    for size in sizes {
        for align in [8, STEP, 2 * STEP, 4 * STEP, 4096] {
            for _ in 0..10 {
                let place = bench.take(layout(size, align)).cast::<u8>();
                assert_eq!(place.addr().get() % align, 0);
                // All of it may be written, and belongs to nobody else.
                let number = taken.len() as u8;
                let begin = smallest;
                // SAFETY: the place has this size.
                unsafe { place.add(begin).write_bytes(number, size - begin) };
                taken.push((place, size - begin, number));
            }
        }
    }
    for &(place, size, number) in &taken {
        for offset in 0..size {
            // SAFETY: written above.
            assert_eq!(unsafe { place.add(smallest + offset).read() }, number);
        }
    }
    assert_eq!(bench.used(), taken.len());
    bench.take_back(taken.into_iter().map(|(place, ..)| place.cast()));
    assert_eq!(bench.used(), 0);
}

#[test]
fn classes_end_at_multiples_of_a_step() {
    assert_eq!(class_of(layout(STEP, 8)), 0);
    assert_eq!(class_of(layout(STEP + 1, 8)), 1);
    assert_eq!(class_of(layout(2 * STEP, STEP)), 1);
    assert_eq!(class_of(layout(LARGEST_PLACE, STEP)), CLASSES - 1);
    assert_eq!(class_of(layout(LARGEST_PLACE + 1, 8)), ALONE);
    assert_eq!(class_of(layout(STEP, 2 * STEP)), ALONE);
}

#[test]
fn what_is_large_is_freed_at_once() {
    let mut bench = Bench::new();
    let places: Vec<_> = (0..3)
        .map(|_| bench.take(layout(LARGEST_PLACE + 1, 8)))
        .collect();
    assert_eq!(bench.bytes().len(), 3);
    for (index, place) in places.into_iter().enumerate() {
        bench.take_back([place]);
        assert_eq!(bench.bytes().len(), 2 - index);
    }
}

#[test]
fn chunks_without_a_task_are_kept_up_to_a_limit_and_used_again() {
    let mut bench = Bench::new();
    let place = layout(LARGEST_PLACE, 8);
    let count = (MOST_KEPT + 4 * LARGEST_CHUNK) / LARGEST_PLACE;
    let places: Vec<_> = (0..count).map(|_| bench.take(place)).collect();
    let bytes = bench.bytes();
    assert_eq!(bytes[..3], [FIRST_CHUNK, 2 * FIRST_CHUNK, 4 * FIRST_CHUNK]);
    assert_eq!(bytes.last(), Some(&LARGEST_CHUNK));
    let at_peak: usize = bytes.iter().sum();
    bench.take_back(places);
    let kept: usize = bench.bytes().iter().sum();
    assert!(kept < at_peak, "nothing was freed");
    // The one that is cut from counts for nothing.
    assert!(bench.slab.kept <= MOST_KEPT && kept <= MOST_KEPT + LARGEST_CHUNK);
    assert!(bench.slab.kept > MOST_KEPT - LARGEST_CHUNK);

    let places: Vec<_> = (0..bench.slab.kept / LARGEST_CHUNK * 200)
        .map(|_| bench.take(place))
        .collect();
    assert_eq!(
        bench.bytes().iter().sum::<usize>(),
        kept,
        "memory was taken"
    );
    bench.take_back(places);
    assert_eq!(bench.bytes().iter().sum::<usize>(), kept);
}

#[test]
fn a_chunk_is_freed_with_its_last_place() {
    let mut bench = Bench::new();
    let place = layout(LARGEST_PLACE, 8);
    let count = (MOST_KEPT + 4 * LARGEST_CHUNK) / LARGEST_PLACE;
    let mut places: Vec<_> = (0..count).map(|_| bench.take(place)).collect();
    // No more is kept.
    bench.slab.kept = MOST_KEPT;
    // SAFETY: a place that was taken knows its chunk.
    let chunk_of = |place: &NonNull<Header>| unsafe { place.as_ref() }.chunk;
    let full = chunk_of(&places[0]);
    let last = places.iter().rposition(|place| chunk_of(place) == full);
    let last = places.remove(last.unwrap());
    let (of_full, others): (Vec<_>, Vec<_>) = places
        .into_iter()
        .partition(|place| chunk_of(place) == full);
    let before = bench.bytes().len();
    bench.take_back(of_full);
    assert_eq!(bench.bytes().len(), before);
    bench.take_back([last]);
    assert_eq!(bench.bytes().len(), before - 1);
    bench.take_back(others);
    assert_eq!(bench.used(), 0);
}
