//! The parker of a thread, by the name that the scheduler has for it.

pub(crate) use crate::park::ThreadParker as Signal;
