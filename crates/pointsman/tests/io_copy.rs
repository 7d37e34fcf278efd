//! Copies between all kinds of readers and writers, and in both directions at once.

#![cfg(feature = "io-util")]

mod common;
#[path = "common/script.rs"]
mod script;

use std::future::Future;
use std::io::ErrorKind;
use std::pin::pin;
use std::task::{Context, Poll};

use common::must_end;
use futures::task::noop_waker_ref;
use pointsman::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, BufWriter, copy, copy_bidirectional,
    copy_bidirectional_with_sizes, copy_buf, duplex, join,
};
use pointsman::runtime::Runtime;
use proptest::prelude::*;
use script::{Script, Step, give};

/// Polls until ready, without waiting for a wakeup.
fn drive<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        let mut cx = Context::from_waker(noop_waker_ref());
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
    }
}

/// Runs a test in its own runtime, and fails if it hangs.
fn run(test: impl Future<Output = ()> + Send + 'static) {
    must_end(|| Runtime::new().unwrap().block_on(test));
}

#[test]
fn each_direction_ends_for_itself() {
    // Pipes so small that all parties wait for each other.
    let (mut client, mut a) = duplex(3);
    let (mut b, mut server) = duplex(3);
    run(async move {
        let proxy =
            pointsman::spawn(
                async move { copy_bidirectional_with_sizes(&mut a, &mut b, 2, 5).await },
            );
        let request = pointsman::spawn(async move {
            client.write_all(b"a long request").await.unwrap();
            client.shutdown().await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            answer
        });

        // The request ends before the response begins.
        let mut text = String::new();
        server.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "a long request");
        server.write_all(b"a long answer").await.unwrap();
        drop(server);
        assert_eq!(request.await.unwrap(), "a long answer");
        assert_eq!(proxy.await.unwrap().unwrap(), (14, 13));
    });
}

#[test]
fn an_error_of_one_direction_does_not_wait_for_the_other() {
    for is_first in [true, false] {
        let (mut silent, other) = duplex(64);
        let reader = Script::new([give("hello"), Step::Fail(ErrorKind::ConnectionReset)]);
        let mut failing = join(reader, Script::default());
        run(async move {
            let result = if is_first {
                copy_bidirectional(&mut failing, &mut silent).await
            } else {
                copy_bidirectional(&mut silent, &mut failing).await
            };
            assert_eq!(result.unwrap_err().kind(), ErrorKind::ConnectionReset);
            drop(other);
        });
    }
}

#[test]
#[should_panic(expected = "`b_to_a_buf_size` must be greater than 0")]
fn a_buffer_of_no_size_is_refused() {
    let (mut a, mut b) = duplex(64);
    let _ = drive(copy_bidirectional_with_sizes(&mut a, &mut b, 1, 0));
}

#[test]
fn while_the_writer_waits_the_reader_is_read() {
    let mut reader = Script::new([give("a"), give("b"), give("c"), Step::Wait]);
    let mut writer = Script::new([Step::Wait]);
    assert_eq!(drive(copy(&mut reader, &mut writer)).unwrap(), 3);
    // One call for everything that had arrived, instead of three.
    assert_eq!((writer.written.as_slice(), writer.calls), (&b"abc"[..], 2));
}

fn obstacles() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        Just(Step::Wait),
        Just(Step::Fail(ErrorKind::Interrupted)),
        (1_usize..20).prop_map(Step::Take),
    ];
    prop::collection::vec(step, 0..20)
}

fn source() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        Just(Step::Wait),
        Just(Step::Fail(ErrorKind::Interrupted)),
        "[ab\r\n]{1,12}".prop_map(|text| Step::Give(text.into())),
    ];
    prop::collection::vec(step, 0..20)
}

fn text(source: &[Step]) -> Vec<u8> {
    let parts = source.iter().map(|step| match step {
        Step::Give(bytes) => bytes.as_slice(),
        _ => &[],
    });
    parts.collect::<Vec<_>>().concat()
}

proptest! {
    #[test]
    fn copied_bytes_equal_read_bytes(source in source(), obstacles in obstacles(), size in 1_usize..10) {
        let expected = text(&source);
        let len = expected.len() as u64;

        let (mut reader, mut writer) = (Script::new(source.clone()), Script::new(obstacles.clone()));
        prop_assert_eq!(drive(copy(&mut reader, &mut writer)).unwrap(), len);
        prop_assert_eq!(&writer.written, &expected);

        let mut reader = BufReader::with_capacity(size, Script::new(source.clone()));
        let mut writer = BufWriter::with_capacity(size, Script::new(obstacles));
        prop_assert_eq!(drive(copy_buf(&mut reader, &mut writer)).unwrap(), len);
        prop_assert_eq!(&writer.get_ref().written, &expected);
    }

    #[test]
    fn reads_equal_those_of_the_standard_library(source in source(), size in 1_usize..10, split in 0_u64..40) {
        let expected = text(&source);
        let reader = || BufReader::with_capacity(size, Script::new(source.clone()));

        let mut lines = reader().lines();
        for line in std::io::BufRead::lines(expected.as_slice()) {
            prop_assert_eq!(drive(lines.next_line()).unwrap(), Some(line.unwrap()));
        }
        prop_assert_eq!(drive(lines.next_line()).unwrap(), None);

        let mut whole = reader();
        let (mut first, mut both) = (Vec::new(), Vec::new());
        drive((&mut whole).take(split).read_to_end(&mut first)).unwrap();
        prop_assert_eq!(first.len() as u64, split.min(expected.len() as u64));
        drive(first.as_slice().chain(whole).read_to_end(&mut both)).unwrap();
        prop_assert_eq!(both, expected);
    }
}
