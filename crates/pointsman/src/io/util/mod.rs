//! Extension methods, buffers, copies and in-memory pipes, built on the traits.
//!
//! Invariant: no item here uses a driver. Each is pending only if the underlying stream is, or if the task's budget is
//! exhausted.

#![cfg_attr(
    not(feature = "io-util"),
    allow(unreachable_pub, reason = "no public method returns the futures")
)]

mod operation;
pub(crate) mod read_to_end;

macro_rules! of_io_util {
    ($($item:item)*) => {$(#[cfg(feature = "io-util")] $item)*};
}

of_io_util! {
    mod async_buf_read_ext;
    mod async_read_ext;
    mod async_seek_ext;
    mod async_write_ext;
    mod buf_reader;
    mod buf_stream;
    mod buf_writer;
    mod chain;
    mod copy;
    mod copy_bidirectional;
    mod copy_buf;
    mod empty;
    mod lines;
    mod memory;
    mod read;
    mod read_until;
    mod repeat;
    mod split;
    mod take;
    mod text;
    mod write;

    pub use async_buf_read_ext::AsyncBufReadExt;
    pub use async_read_ext::AsyncReadExt;
    pub use async_seek_ext::AsyncSeekExt;
    pub use async_write_ext::AsyncWriteExt;
    pub use buf_reader::BufReader;
    pub use buf_stream::BufStream;
    pub use buf_writer::BufWriter;
    pub use chain::Chain;
    pub use copy::copy;
    pub use copy_bidirectional::{copy_bidirectional, copy_bidirectional_with_sizes};
    pub use copy_buf::copy_buf;
    pub use empty::{Empty, Sink, empty, sink};
    pub use lines::Lines;
    pub use memory::{DuplexStream, SimplexStream, duplex, simplex};
    pub use repeat::{Repeat, repeat};
    pub use split::Split;
    pub use take::Take;

    const BUFFER: usize = 8 * 1024;
}
