//! A client that does not finish its request. The clock is paused, and jumps when all tasks wait.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::{Request, StatusCode, header::CONTENT_TYPE};
use axum_on_pointsman::{PLACES, app};
use futures_util::stream;
use pointsman::time::{Duration, Instant};
use tower::ServiceExt;

fn request(body: Body) -> Request<Body> {
    let request = Request::post("/texts").header(CONTENT_TYPE, "application/json");
    request.body(body).unwrap()
}

#[pointsman::test(start_paused = true)]
async fn it_times_out_and_its_place_is_free_again() {
    let (router, keeper) = app();
    let start = Instant::now();
    let unfinished = (0..PLACES).map(|_| {
        let silence = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        pointsman::spawn(router.clone().oneshot(request(silence)))
    });
    for response in unfinished.collect::<Vec<_>>() {
        assert_eq!(
            response.await.unwrap().unwrap().status(),
            StatusCode::REQUEST_TIMEOUT
        );
    }
    assert_eq!(start.elapsed(), Duration::from_secs(10));

    let finished = request(Body::from(r#"{ "text": "one two" }"#));
    assert_eq!(
        router.oneshot(finished).await.unwrap().status(),
        StatusCode::OK
    );
    // The router is dropped, so the background task ends.
    let sums = keeper.await;
    assert_eq!((sums.texts, sums.words), (1, 2));
}
