//! Bodies of the fuzz targets: each takes any bytes and panics when a promise of the kernel is broken.
//!
//! `cargo test` drives them with random bytes (`tests/fuzz.rs`), `cargo fuzz` with coverage (`fuzz/`).

pub mod added_tokens;
pub mod body;
pub mod decode;
pub mod encode;
pub mod load;
pub mod paths;

/// The names of all scanners but Llama 3's, which is that of cl100k_base.
pub const PATTERNS: [&str; 4] = ["gpt2", "cl100k_base", "o200k_base", "qwen2"];

/// Reads small numbers off the front of the fuzzer's bytes; 0 when there are no more.
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    pub fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()])) % limit
    }

    /// All that is left, as text.
    pub fn text(self) -> String {
        String::from_utf8_lossy(self.0).into_owned()
    }
}
