//! The cells on this runtime.

fn main() {
    cells::main();
}
