//! The stack of the thread that does not return, for reports of stalls.
//!
//! 1. The monitor sends the thread a signal; see `linux/capture.rs`. Its handler writes the registers and the bytes of
//!    the stack to a pipe.
//! 2. The monitor unwinds the copy; see `linux/unwind.rs`.
//! 3. Names and lines are looked up when a report is read. The first time this reads the debug information of the
//!    program, which takes long.
//!
//! So the handler needs no unwinder. No unwinder is async-signal-safe in every program: `backtrace` allocates and
//! locks, and libgcc may lock the list of loaded modules.

#[cfg(all(
    feature = "stall-backtrace",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(miri, all(test, loom)))
))]
#[path = "linux/mod.rs"]
mod platform;
#[cfg(not(all(
    feature = "stall-backtrace",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(miri, all(test, loom)))
)))]
#[path = "other.rs"]
mod platform;

// For the loom model of the exchange.
#[cfg(all(test, loom))]
#[path = "linux/exchange.rs"]
mod exchange;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A function on the stack of a thread that does not return; see [`Stall::stack`](super::Stall::stack).
/// [`Display`](fmt::Display) formats the function's name and, if it is known, its place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackFrame {
    address: usize,
    function: Option<String>,
    file: Option<PathBuf>,
    line: Option<u32>,
}

impl StackFrame {
    /// Returns the address of the instruction. Inlined functions have the address of the function that contains them.
    #[must_use]
    pub fn address(&self) -> usize {
        self.address
    }

    /// Returns the name of the function, unless the program has no symbols.
    #[must_use]
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }

    /// Returns the source file, if the program has debug information.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the line in the source file, if the program has debug information.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        self.line
    }
}

impl fmt::Display for StackFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            Some(function) => f.write_str(function)?,
            None => write!(f, "{:#x}", self.address)?,
        }
        if let (Some(file), Some(line)) = (&self.file, self.line) {
            write!(f, " ({}:{line})", file.display())?;
        }
        Ok(())
    }
}

/// Returns the system's id of this thread; 0 where stacks are not supported.
#[cfg(feature = "stall-backtrace")]
#[inline]
pub(in crate::runtime) fn this_thread() -> i32 {
    platform::this_thread()
}

/// A stack as addresses. Their names are looked up when they are needed.
#[derive(Debug, Default)]
pub(super) struct Stack {
    /// The addresses of instructions: each called the function of the one before. Empty if the stack is not known.
    addresses: Vec<usize>,
    frames: OnceLock<Vec<StackFrame>>,
}

impl Stack {
    /// Returns the stack of another thread of this process; empty if that thread does not answer.
    pub(super) fn of(thread: i32) -> Self {
        Self {
            addresses: platform::addresses(thread),
            frames: OnceLock::new(),
        }
    }

    pub(super) fn frames(&self) -> &[StackFrame] {
        self.frames
            .get_or_init(|| platform::resolve(&self.addresses))
    }
}
