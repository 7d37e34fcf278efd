//! Holds the dependencies of the tests.
