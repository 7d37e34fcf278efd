//! A task computes without an `.await`, and the other tasks of its thread wait.

use pointsman::task::yield_now;

fn is_prime(number: u64) -> bool {
    (2..number).all(|divisor| number % divisor != 0)
}

#[pointsman::main(flavor = "current_thread")]
pub(crate) async fn main() {
    pointsman::spawn(async { (1..).filter(|number| is_prime(*number)).last() });
    pointsman::spawn(async { println!("has no turn") });
    pointsman::spawn(async { println!("neither") });
    yield_now().await;
}
