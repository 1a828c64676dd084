//! Text from one encoding of Unicode to another, many characters at a time.

pub mod utf8;
