//! The attributes of pointsman.
