//! What is sent and comes back.

/// Bytes of a message.
pub const MESSAGE: usize = 64;

/// No two messages of a connection are the same, and none is that of another connection.
pub fn message(connection: u32, turn: u32) -> [u8; MESSAGE] {
    let mut message = [0x5a; MESSAGE];
    message[..4].copy_from_slice(&connection.to_le_bytes());
    message[MESSAGE - 4..].copy_from_slice(&turn.to_le_bytes());
    message
}
