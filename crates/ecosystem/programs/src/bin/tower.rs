//! A service behind a buffer, a timeout, a rate limit and a concurrency limit, with retries and load shedding.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use tokio::time;
use tower::retry::Policy;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};

/// Retries after a failure, this many times.
#[derive(Clone)]
struct Again(usize);

impl Policy<usize, usize, BoxError> for Again {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut usize, result: &mut Result<usize, BoxError>) -> Option<Ready<()>> {
        if result.is_ok() || self.0 == 0 {
            return None;
        }
        self.0 -= 1;
        Some(ready(()))
    }

    fn clone_request(&mut self, request: &usize) -> Option<usize> {
        Some(*request)
    }
}

#[tokio::main]
async fn main() {
    let (inside, most, calls) = <(Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let counted = (inside.clone(), most.clone(), calls.clone());
    let work = service_fn(move |number: usize| {
        let (inside, most, calls) = counted.clone();
        async move {
            most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            time::sleep(Duration::from_millis(1)).await;
            inside.fetch_sub(1, Ordering::SeqCst);
            // Every third call fails.
            match calls.fetch_add(1, Ordering::SeqCst) % 3 {
                2 => Err(BoxError::from("by chance")),
                _ => Ok(number * 2),
            }
        }
    });
    let service = ServiceBuilder::new()
        .buffer(32)
        .retry(Again(20))
        .concurrency_limit(5)
        .timeout(Duration::from_secs(20))
        .service(work);
    let asked = (0..200).map(|number| {
        let service = service.clone();
        async move { service.oneshot(number).await.unwrap() }
    });
    for (number, answer) in join_all(asked).await.into_iter().enumerate() {
        assert_eq!(answer, number * 2);
    }
    assert!(most.load(Ordering::SeqCst) <= 5);
    assert!(calls.load(Ordering::SeqCst) > 200);

    let never = || service_fn(|_: ()| std::future::pending::<Result<(), BoxError>>());
    let patient = ServiceBuilder::new()
        .timeout(Duration::from_millis(20))
        .service(never());
    let error = patient.oneshot(()).await.unwrap_err();
    assert!(error.is::<tower::timeout::error::Elapsed>());

    let mut shedding = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(1)
        .service(never());
    let first = shedding.ready().await.unwrap().call(());
    let error = shedding.ready().await.unwrap().call(()).await.unwrap_err();
    assert!(error.is::<tower::load_shed::error::Overloaded>());
    drop(first);

    let (rate, per) = (10, Duration::from_millis(50));
    let mut limited = ServiceBuilder::new()
        .rate_limit(rate, per)
        .service(service_fn(|_: ()| ready(Ok::<_, BoxError>(()))));
    let begun = time::Instant::now();
    for _ in 0..rate * 3 {
        limited.ready().await.unwrap().call(()).await.unwrap();
    }
    assert!(begun.elapsed() >= 2 * per);
    println!("{} calls for 200 answers", calls.load(Ordering::SeqCst));
}
