//! The cells on this runtime, without its diagnostics.

fn main() {
    cells::main();
}
