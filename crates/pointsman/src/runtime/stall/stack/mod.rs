//! The stack of the thread that does not return, for reports of stalls.
//!
//! 1. The monitor sends the thread a signal; see `linux/capture.rs`. Its handler writes the registers and the bytes of the
//!    stack to a pipe.
//! 2. The monitor unwinds the copy; see `linux/unwind.rs`.
//! 3. Names and lines are found when a report is read. That reads the debug information of the program, which takes
//!    long the first time.
//!
//! So the handler needs no unwinder, none of which is async-signal-safe in every program: `backtrace` allocates and locks,
//! libgcc may lock the list of loaded modules.

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

// Its model.
#[cfg(all(test, loom))]
#[path = "linux/exchange.rs"]
mod exchange;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A function on the stack of a thread that does not return; see [`Stall::stack`](super::Stall::stack). Its
/// [`Display`](fmt::Display) is the function's name, and its place in the source text if it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackFrame {
    address: usize,
    function: Option<String>,
    file: Option<PathBuf>,
    line: Option<u32>,
}

impl StackFrame {
    /// Returns the address of the instruction. Functions that the compiler has inlined have the same.
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

/// The number of this thread, by which the system knows it; 0 on other systems.
#[cfg(feature = "stall-backtrace")]
#[inline]
pub(in crate::runtime) fn this_thread() -> i32 {
    platform::this_thread()
}

/// A stack as addresses, whose names are found when they are needed.
#[derive(Debug, Default)]
pub(super) struct Stack {
    /// Of each instruction that called the one before. Empty if the stack is not known.
    addresses: Vec<usize>,
    frames: OnceLock<Vec<StackFrame>>,
}

impl Stack {
    /// The stack of another thread of this process, if that answers.
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
