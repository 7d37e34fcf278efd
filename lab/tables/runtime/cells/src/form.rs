//! The form of a test.

use std::thread;

/// The primitives that the subjects use, and the number of workers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As published: the same channels for all, each runtime built as the document builds it.
    Published,
    /// Each runtime as its own documentation says, with its own channels if it has them, and with a worker for each
    /// core where the document has more than two.
    Native,
    /// The work alone, without a runtime.
    Floor,
}

impl Form {
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "published" => Self::Published,
            "native" => Self::Native,
            "floor" => Self::Floor,
            _ => panic!("expected published, native or floor, got {name}"),
        }
    }

    /// The number of workers of a test for which the document has `published`.
    pub(crate) fn workers(self, published: usize) -> usize {
        if self == Self::Native {
            cores()
        } else {
            published
        }
    }
}

pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
