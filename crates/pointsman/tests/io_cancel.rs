//! The state after the future of an operation is dropped before completion.

#![cfg(feature = "io-util")]

#[path = "common/script.rs"]
mod script;

use std::future::Future;
use std::io::ErrorKind;

use futures::executor::block_on;
use pointsman::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, BufWriter, copy_bidirectional,
    copy_buf, duplex,
};
use script::{Script, Step, give};
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok};

/// Polls once and drops the future.
fn poll_once_and_drop<F: Future<Output: std::fmt::Debug>>(future: F) {
    assert_pending!(spawn(future).poll());
}

/// Polls once; the future must be ready.
fn done<T, F: Future<Output = std::io::Result<T>>>(future: F) -> T
where
    T: std::fmt::Debug,
{
    assert_ready_ok!(spawn(future).poll())
}

#[test]
fn a_single_read_has_read_nothing() {
    let (mut client, mut server) = duplex(64);
    let (mut bytes, mut vec) = ([0; 8], Vec::new());
    poll_once_and_drop(server.read(&mut bytes));
    poll_once_and_drop(server.read_buf(&mut vec));
    poll_once_and_drop(server.read_u8());
    done(client.write_all(b"hello"));
    assert_eq!(done(server.read(&mut bytes)), 5);
}

#[test]
fn a_cancelled_read_exact_leaves_its_bytes_in_the_buffer() {
    let mut stream = Script::new([give("hel"), Step::Wait, give("lo")]);
    let mut bytes = [0; 5];
    poll_once_and_drop(stream.read_exact(&mut bytes));
    assert_eq!(&bytes, b"hel\0\0");
    done(stream.read_exact(&mut bytes[3..]));
    assert_eq!(&bytes, b"hello");
}

#[test]
fn a_cancelled_read_of_a_number_loses_its_bytes() {
    let mut stream = Script::new([give("\0"), Step::Wait, give("\0\x07")]);
    poll_once_and_drop(stream.read_u16());
    assert_eq!(done(stream.read_u16()), 7);
}

#[test]
fn reading_to_a_delimiter_or_the_end_continues_in_the_same_vector() {
    let script = [give("a"), Step::Wait, give("b,c"), Step::Wait, give("d")];
    let (mut stream, mut vec) = (BufReader::new(Script::new(script)), Vec::new());
    poll_once_and_drop(stream.read_until(b',', &mut vec));
    assert_eq!(done(stream.read_until(b',', &mut vec)), 2);
    assert_eq!(vec, b"ab,");
    poll_once_and_drop(stream.read_to_end(&mut vec));
    assert_eq!(done(stream.read_to_end(&mut vec)), 1);
    assert_eq!(vec, b"ab,cd");
}

#[test]
fn cancelled_lines_and_segments_keep_their_bytes() {
    let script = [give("a"), Step::Wait, give("b\nc"), Step::Wait];
    let mut lines = BufReader::new(Script::new(script.clone())).lines();
    poll_once_and_drop(lines.next_line());
    assert_eq!(done(lines.next_line()).unwrap(), "ab");
    poll_once_and_drop(lines.next_line());
    assert_eq!(done(lines.next_line()).unwrap(), "c");

    let mut segments = BufReader::new(Script::new(script)).split(b'\n');
    poll_once_and_drop(segments.next_segment());
    assert_eq!(done(segments.next_segment()).unwrap(), b"ab");
    poll_once_and_drop(segments.next_segment());
    assert_eq!(done(segments.next_segment()).unwrap(), b"c");
}

#[test]
fn a_string_that_is_being_read_is_empty() {
    let mut stream = BufReader::new(Script::new([Step::Wait, Step::Wait]));
    let mut text = String::from("before");
    poll_once_and_drop(stream.read_line(&mut text));
    assert_eq!(text, "");
    text.push_str("before");
    poll_once_and_drop(stream.read_to_string(&mut text));
    assert_eq!(text, "");
}

#[test]
fn a_buffered_writer_keeps_track_of_written_bytes() {
    let (mut client, mut server) = duplex(4);
    let (mut text, mut bytes) = (&b"hello, world"[..], [0; 12]);
    for part in bytes.chunks_mut(4).take(2) {
        poll_once_and_drop(client.write_all_buf(&mut text));
        done(server.read_exact(part));
    }
    assert_eq!(text, b"orld");
    done(client.write_all_buf(&mut text));
    done(server.read_exact(&mut bytes[8..]));
    assert_eq!(&bytes, b"hello, world");
}

#[test]
fn writing_all_has_written_a_beginning() {
    let (mut client, mut server) = duplex(4);
    poll_once_and_drop(client.write_all(b"hello"));
    drop(client);
    let mut bytes = Vec::new();
    done(server.read_to_end(&mut bytes));
    assert_eq!(bytes, b"hell");
}

#[test]
fn a_flush_continues_after_cancellation_and_after_an_error() {
    let error = Step::Fail(ErrorKind::TimedOut);
    let mut writer = BufWriter::new(Script::new([Step::Take(2), Step::Wait, error]));
    done(writer.write_all(b"hello"));
    poll_once_and_drop(writer.flush());
    assert_ready_err!(spawn(writer.flush()).poll());
    assert_eq!(writer.buffer(), b"llo");
    done(writer.flush());
    assert_eq!(writer.get_ref().written, b"hello");
    assert!(writer.buffer().is_empty());
}

#[test]
fn a_cancelled_copy_from_a_buffer_can_be_continued() {
    let mut reader = BufReader::new(Script::new([give("hello"), Step::Wait, give("!")]));
    let mut writer = Script::new([Step::Take(2), Step::Wait]);
    poll_once_and_drop(copy_buf(&mut reader, &mut writer));
    assert_eq!(reader.buffer(), b"llo");
    poll_once_and_drop(copy_buf(&mut reader, &mut writer));
    assert_eq!(done(copy_buf(&mut reader, &mut writer)), 1);
    assert_eq!(writer.written, b"hello!");
}

#[test]
fn two_streams_that_were_copied_into_each_other_are_whole() {
    let (mut client, mut a) = duplex(64);
    let (mut b, mut server) = duplex(64);
    done(client.write_all(b"ping"));
    poll_once_and_drop(copy_bidirectional(&mut a, &mut b));

    // No data was in transit, and neither end was shut down.
    block_on(async {
        let mut message = [0; 4];
        server.read_exact(&mut message).await.unwrap();
        assert_eq!(&message, b"ping");
        server.write_all(b"pong").await.unwrap();
        b.read_exact(&mut message).await.unwrap();
        a.write_all(&message).await.unwrap();
        client.read_exact(&mut message).await.unwrap();
        assert_eq!(&message, b"pong");
    });
}
