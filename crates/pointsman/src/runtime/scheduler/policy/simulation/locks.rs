//! To be written.
pub(super) fn print_tables() {}
