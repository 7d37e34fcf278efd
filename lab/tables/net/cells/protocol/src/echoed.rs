//! The echoed messages.

/// Bytes of a message.
pub const MESSAGE: usize = 64;

/// A message that differs from every other of its connection and of other connections.
pub fn message(connection: u32, turn: u32) -> [u8; MESSAGE] {
    let mut message = [0x5a; MESSAGE];
    message[..4].copy_from_slice(&connection.to_le_bytes());
    message[MESSAGE - 4..].copy_from_slice(&turn.to_le_bytes());
    message
}
