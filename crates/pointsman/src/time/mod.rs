//! Waiting for time to pass.
