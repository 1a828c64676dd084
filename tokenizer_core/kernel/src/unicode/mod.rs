//! Character classes of one pinned version of Unicode.

/// The version of every class table; fancy-regex and unicode-normalization are held to the same.
pub const UNICODE_VERSION: &str = "16.0.0";
