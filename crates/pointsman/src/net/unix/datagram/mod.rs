//! Unix datagram sockets.

mod readiness;
pub(in crate::net) mod socket;
mod transfer;
