//! What the subjects send back: echoed messages, and files.

/// Bytes of a message.
pub const MESSAGE: usize = 64;

/// A message that differs from every other of its connection and of other connections.
pub fn message(connection: u32, turn: u32) -> [u8; MESSAGE] {
    let mut message = [0x5a; MESSAGE];
    message[..4].copy_from_slice(&connection.to_le_bytes());
    message[MESSAGE - 4..].copy_from_slice(&turn.to_le_bytes());
    message
}

/// The content of a served file, in which no part is like another.
pub fn file_content(bytes: usize) -> Vec<u8> {
    let mut content: Vec<u8> = (0..bytes.div_ceil(8))
        .flat_map(|word| {
            ((word + 1) as u64)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .to_le_bytes()
        })
        .collect();
    content.truncate(bytes);
    content
}
