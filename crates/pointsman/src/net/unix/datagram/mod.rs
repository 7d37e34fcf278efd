//! Sockets of datagrams.

pub(in crate::net) mod socket;
