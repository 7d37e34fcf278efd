//! Interruptions, writers that accept nothing, empty buffers, and streams that break their contract.

#![cfg(feature = "io-util")]

#[path = "common/script.rs"]
mod script;

use std::io::{self, Cursor, ErrorKind, IoSlice};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use futures::FutureExt;
use pointsman::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufStream,
    BufWriter, ReadBuf, copy, copy_buf, duplex,
};
use script::{Script, Step, give};

/// The output of a future that must be ready at once.
macro_rules! now {
    ($future:expr) => {
        $future.now_or_never().expect("it does not wait")
    };
}

/// Reads "0\n" despite interruptions.
fn interrupted_reader() -> Script {
    let interruption = Step::Fail(ErrorKind::Interrupted);
    Script::new([interruption.clone(), give("0"), interruption, give("\n")])
}

fn interrupted_writer() -> Script {
    let interruption = Step::Fail(ErrorKind::Interrupted);
    Script::new([interruption.clone(), Step::Take(1), interruption])
}

#[test]
fn repeated_reads_continue_after_an_interruption() {
    let (mut bytes, mut vec, mut text) = ([0; 2], Vec::new(), String::new());
    now!(interrupted_reader().read_exact(&mut bytes)).unwrap();
    assert_eq!(&bytes, b"0\n");
    assert_eq!(now!(interrupted_reader().read_u16_le()).unwrap(), 0x0a30);
    now!(interrupted_reader().read_to_end(&mut vec)).unwrap();
    assert_eq!(vec, b"0\n");
    now!(interrupted_reader().read_to_string(&mut text)).unwrap();
    now!(BufReader::new(interrupted_reader()).read_line(&mut text)).unwrap();
    assert_eq!(text, "0\n0\n");
    let mut lines = BufReader::new(interrupted_reader()).lines();
    assert_eq!(now!(lines.next_line()).unwrap().unwrap(), "0");
    now!(copy(&mut interrupted_reader(), &mut vec)).unwrap();
    now!(copy_buf(
        &mut BufReader::new(interrupted_reader()),
        &mut vec
    ))
    .unwrap();
    assert_eq!(vec, b"0\n0\n0\n");

    // A single read returns the interruption and has read nothing.
    let mut reader = interrupted_reader();
    let error = now!(reader.read(&mut bytes)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    assert_eq!(now!(reader.read(&mut bytes)).unwrap(), 1);
}

#[test]
fn repeated_writes_continue_after_an_interruption() {
    let mut writer = interrupted_writer();
    now!(writer.write_all(b"ab")).unwrap();
    assert_eq!(writer.written, b"ab");
    let mut writer = interrupted_writer();
    now!(writer.write_all_buf(&mut &b"ab"[..])).unwrap();
    assert_eq!(writer.written, b"ab");
    let mut writer = interrupted_writer();
    now!(writer.write_u16(0x6162)).unwrap();
    assert_eq!(writer.written, b"ab");
    let mut writer = BufWriter::new(interrupted_writer());
    now!(writer.write_all(b"ab")).unwrap();
    now!(writer.shutdown()).unwrap();
    assert_eq!(writer.get_ref().written, b"ab");
    let mut writer = interrupted_writer();
    now!(copy_buf(&mut &b"ab"[..], &mut writer)).unwrap();
    assert_eq!(writer.written, b"ab");
}

#[test]
fn a_writer_that_accepts_nothing_is_an_error_for_write_all() {
    let full = || Script::new([Step::Take(1), Step::Take(0)]);
    let kind = |result: io::Result<()>| result.unwrap_err().kind();
    let mut rest = &b"ab"[..];
    assert_eq!(kind(now!(full().write_all(b"ab"))), ErrorKind::WriteZero);
    let result = now!(full().write_all_buf(&mut rest));
    assert_eq!(kind(result), ErrorKind::WriteZero);
    assert_eq!(rest, b"b");
    assert_eq!(kind(now!(full().write_u16(7))), ErrorKind::WriteZero);
    let result = now!(copy(&mut &b"ab"[..], &mut full()));
    assert_eq!(kind(result.map(drop)), ErrorKind::WriteZero);
    let result = now!(copy_buf(&mut &b"ab"[..], &mut full()));
    assert_eq!(kind(result.map(drop)), ErrorKind::WriteZero);

    let mut writer = BufWriter::new(full());
    now!(writer.write_all(b"ab")).unwrap();
    assert_eq!(kind(now!(writer.flush())), ErrorKind::WriteZero);
    assert_eq!(writer.buffer(), b"b");
    now!(writer.flush()).unwrap();
    assert_eq!(writer.get_ref().written, b"ab");

    assert_eq!(now!(Script::new([Step::Take(0)]).write(b"ab")).unwrap(), 0);
}

#[test]
fn no_bytes_need_no_stream() {
    let mut stream = Script::new([Step::Wait]);
    now!(stream.read_exact(&mut [])).unwrap();
    now!(stream.write_all(&[])).unwrap();
    now!(stream.write_all_buf(&mut &b""[..])).unwrap();
    assert_eq!(now!(stream.write_buf(&mut &b""[..])).unwrap(), 0);
    let mut full = Cursor::new([0; 0]);
    assert_eq!(
        now!(stream.read_buf(&mut full.get_mut().as_mut_slice())).unwrap(),
        0
    );
    now!((&mut stream).take(0).read_to_end(&mut Vec::new())).unwrap();
    let mut writer = BufWriter::new(&mut stream);
    let nothing = [IoSlice::new(&[]), IoSlice::new(&[])];
    assert_eq!(now!(writer.write_vectored(&nothing)).unwrap(), 0);
    assert_eq!(stream.calls, 0);

    // A read into an empty buffer is not the end of the first stream.
    let mut chain = (&b"a"[..]).chain(&b"b"[..]);
    assert_eq!(now!(chain.read(&mut [])).unwrap(), 0);
    assert_eq!(now!(chain.read_u8()).unwrap(), b'a');
}

#[test]
fn swapped_buffers_keep_their_contents() {
    let script = Script::new([give("hello")]);
    let mut stream = BufWriter::new(BufReader::new(script));
    now!(stream.get_mut().fill_buf()).unwrap();
    now!(stream.write_all(b"world")).unwrap();

    let mut stream = BufStream::from(stream);
    let mut text = String::new();
    now!(stream.read_to_string(&mut text)).unwrap();
    assert_eq!(text, "hello");
    now!(stream.flush()).unwrap();
    assert_eq!(stream.get_ref().written, b"world");
}

/// What the reader does to its buffer.
struct Liar(fn(&mut ReadBuf<'_>) -> Poll<()>);

impl AsyncRead for Liar {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        (self.0)(buf).map(Ok)
    }
}

/// Claims one byte more than it was given.
struct Boaster;

impl AsyncWrite for Boaster {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len() + 1))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn panics(run: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(run)).is_err()
}

#[test]
fn another_buffer_in_place_of_the_given_one_is_found_out_where_memory_depends_on_it() {
    let liar = || {
        Liar(|buf| {
            *buf = ReadBuf::new(&mut []);
            Poll::Ready(())
        })
    };
    assert!(panics(|| drop(now!(liar().read_to_end(&mut vec![1])))));
    assert!(panics(|| drop(now!(liar().read_buf(&mut vec![1])))));
    assert!(panics(|| drop(now!(liar().take(4).read_u8()))));
}

#[test]
fn contents_before_the_call_are_kept() {
    let mut vec = b"before".to_vec();
    let mut liar = Liar(|buf| {
        buf.clear();
        Poll::Ready(())
    });
    assert_eq!(now!(liar.read_to_end(&mut vec)).unwrap(), 0);
    assert_eq!(vec, b"before");
}

#[test]
fn a_pending_read_consumes_nothing() {
    let mut vec = b"before".to_vec();
    let mut liar = Liar(|buf| {
        buf.put_slice(b"!");
        Poll::Pending
    });
    assert!(liar.read_to_end(&mut vec).now_or_never().is_none());
    assert_eq!(vec, b"before");
    assert!(copy(&mut liar, &mut vec).now_or_never().is_none());
    assert_eq!(vec, b"before");
}

#[test]
fn more_taken_than_given_is_found_out() {
    assert!(panics(|| drop(now!(Boaster.write_all(b"ab")))));
    assert!(panics(|| drop(now!(
        Boaster.write_all_buf(&mut &b"ab"[..])
    ))));
    assert!(panics(|| drop(now!(Boaster.write_u16(7)))));
    assert!(panics(|| drop(now!(copy(&mut &b"ab"[..], &mut Boaster)))));
    assert!(panics(|| {
        let mut writer = BufWriter::new(Boaster);
        now!(writer.write_all(b"ab")).unwrap();
        drop(now!(writer.flush()));
    }));
}

#[test]
fn a_waker_that_panics_while_it_is_cloned_leaves_the_pipe_as_it_was() {
    const FAILS: RawWakerVTable =
        RawWakerVTable::new(|_| panic!("this waker fails"), |_| (), |_| (), |_| ());
    // SAFETY: the table's functions ignore the pointer, which is never dereferenced.
    let waker = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &FAILS)) };
    let mut cx = Context::from_waker(&waker);
    let (mut one, mut other) = duplex(8);
    let mut bytes = [0; 8];
    let mut buf = ReadBuf::new(&mut bytes);
    assert!(panics(|| drop(
        Pin::new(&mut one).poll_read(&mut cx, &mut buf)
    )));
    now!(other.write_all(b"ping")).unwrap();
    assert_eq!(now!(one.read(&mut bytes)).unwrap(), 4);
}
