//! Convert text between encodings of Unicode, many characters at a time.

pub mod utf8;
