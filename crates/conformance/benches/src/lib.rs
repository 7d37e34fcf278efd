//! Holds the dependencies of the benches.
