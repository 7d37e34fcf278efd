//! The subject's work on Pointsman.

fn main() {
    subject::main();
}
