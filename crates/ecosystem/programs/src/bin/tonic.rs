//! A bidirectional stream of running sums. The service is written by hand, as a build script would need a protobuf
//! compiler.

use std::convert::Infallible;
use std::future::Ready;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use http::uri::PathAndQuery;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service};
use tonic::server::{Grpc, NamedService};
use tonic::transport::{Endpoint, Server};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

#[derive(Clone, PartialEq, prost::Message)]
struct Number {
    #[prost(uint64, tag = "1")]
    value: u64,
}

type Answers = Pin<Box<dyn Stream<Item = Result<Number, Status>> + Send>>;

#[derive(Clone)]
struct Sums;

impl Service<Request<Streaming<Number>>> for Sums {
    type Response = Response<Answers>;
    type Error = Status;
    type Future = Ready<Result<Self::Response, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Streaming<Number>>) -> Self::Future {
        let (answers, receiver) = mpsc::channel(4);
        let mut numbers = request.into_inner();
        tokio::spawn(async move {
            let mut sum = 0_u64;
            while let Some(Ok(Number { value })) = numbers.next().await {
                let answer = sum
                    .checked_add(value)
                    .map(|value| Number { value })
                    .ok_or_else(|| Status::out_of_range("the sum is too large"));
                sum = sum.wrapping_add(value);
                if answers.send(answer).await.is_err() {
                    return;
                }
            }
        });
        let answers: Answers = Box::pin(ReceiverStream::new(receiver));
        std::future::ready(Ok(Response::new(answers)))
    }
}

#[derive(Clone)]
struct SumsServer;

impl NamedService for SumsServer {
    const NAME: &'static str = "sums.Sums";
}

impl Service<http::Request<Body>> for SumsServer {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            let mut grpc = Grpc::new(ProstCodec::<Number, Number>::default());
            Ok(grpc.streaming(Sums, request).await)
        })
    }
}

#[tokio::main]
async fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = Server::builder()
        .add_service(SumsServer)
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), async {
            let _ = stopped.await;
        });
    let server = tokio::spawn(server);
    let channel = Endpoint::from_shared(format!("http://{address}"))
        .unwrap()
        .connect()
        .await
        .unwrap();

    // Several streams over one connection, each answer awaited before the next number is sent.
    let talk = |step: u64| {
        let mut grpc = tonic::client::Grpc::new(channel.clone());
        async move {
            let (numbers, receiver) = mpsc::channel(1);
            grpc.ready().await.unwrap();
            let mut answers = grpc
                .streaming(
                    Request::new(ReceiverStream::new(receiver)),
                    PathAndQuery::from_static("/sums.Sums/Sums"),
                    ProstCodec::<Number, Number>::default(),
                )
                .await
                .unwrap()
                .into_inner();
            for turn in 1..=200 {
                numbers.send(Number { value: step }).await.unwrap();
                let answer: Number = answers.message().await.unwrap().unwrap();
                assert_eq!(answer.value, turn * step);
            }
            numbers.send(Number { value: u64::MAX }).await.unwrap();
            let status = answers.message().await.unwrap_err();
            assert_eq!(status.code(), Code::OutOfRange);
            200
        }
    };
    let answers: u64 = stream::iter(1..=10)
        .map(talk)
        .buffer_unordered(10)
        .fold(0, |sum, count| async move { sum + count })
        .await;
    assert_eq!(answers, 2_000);
    drop(channel);
    stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(20), server)
        .await
        .expect("the server does not end")
        .unwrap()
        .unwrap();
    println!("{answers} answers in 10 streams over one connection");
}
