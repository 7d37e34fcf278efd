//! Counts the words of texts. At most two texts are read at once; further ones wait for a second and are then refused.
//! A background task keeps the sums.
//!
//! Invariant: the sums include every count that a client received, also when the server ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::{StatusCode, header::RETRY_AFTER, request::Parts};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use pointsman::net::TcpListener;
use pointsman::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use pointsman::time::timeout;
use serde::{Deserialize, Serialize};

/// The number of texts that are read at once.
pub const PLACES: usize = 2;
const WAIT_FOR_A_PLACE: Duration = Duration::from_secs(1);
const WHOLE_REQUEST: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Clone, Copy, Default, Serialize)]
pub struct Sums {
    pub texts: u64,
    pub words: u64,
}

#[derive(Clone)]
struct App {
    places: Arc<Semaphore>,
    counted: mpsc::Sender<u64>,
    sums: watch::Receiver<Sums>,
}

/// As a handler's first argument: acquires a place before the body is read, and releases it when the handler is done.
struct Place {
    _permit: OwnedSemaphorePermit,
}

impl FromRequestParts<App> for Place {
    type Rejection = Response;

    async fn from_request_parts(_: &mut Parts, app: &App) -> Result<Self, Response> {
        match timeout(WAIT_FOR_A_PLACE, app.places.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Self { _permit: permit }),
            _ => Err((StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1")]).into_response()),
        }
    }
}

async fn count(_: Place, State(app): State<App>, Json(text): Json<Text>) -> Response {
    let words = text.text.split_whitespace().count() as u64;
    match app.counted.send(words).await {
        Ok(()) => Json(Sums { texts: 1, words }).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn in_time(request: Request, next: Next) -> Response {
    let answer = timeout(WHOLE_REQUEST, next.run(request)).await;
    answer.unwrap_or_else(|_| StatusCode::REQUEST_TIMEOUT.into_response())
}

/// Keeps the sums until all senders are dropped.
async fn keep(mut counted: mpsc::Receiver<u64>, sums: watch::Sender<Sums>) -> Sums {
    while let Some(words) = counted.recv().await {
        sums.send_modify(|sums| {
            sums.texts += 1;
            sums.words += words;
        });
    }
    *sums.borrow()
}

/// The router, and the background task, which ends with the sums when the router is dropped.
pub fn app() -> (Router, impl Future<Output = Sums> + Send) {
    let (counted, received) = mpsc::channel(64);
    let (sender, sums) = watch::channel(Sums::default());
    let router = Router::new()
        .route("/texts", post(count))
        .route(
            "/sums",
            get(async |State(app): State<App>| Json(*app.sums.borrow())),
        )
        .layer(from_fn(in_time))
        .with_state(App {
            places: Arc::new(Semaphore::new(PLACES)),
            counted,
            sums,
        });
    (router, keep(received, sender))
}

/// Serves until `stop` completes, and then finishes the running requests.
pub async fn serve(
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<Sums> {
    let (router, keeper) = app();
    let keeper = pointsman::spawn(keeper);
    axum::serve(listener, router)
        .with_graceful_shutdown(stop)
        .await?;
    Ok(keeper.await?)
}
