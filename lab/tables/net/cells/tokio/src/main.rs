//! The subject's work on Tokio.

fn main() {
    subject::main();
}
