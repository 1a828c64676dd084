//! Documents of a corpus as the bytes of their ids: what a file of tokens is made of.
//!
//! `encoder` takes a block of lines or some texts and returns [`ids::Documents`], whose bytes are written as they are.

pub mod encoder;
pub mod ids;
