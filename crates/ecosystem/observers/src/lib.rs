//! Programs that are observed by tools for Tokio, one per tool, in `src/bin`. Each checks what its tool reports and
//! ends with a line about it.
