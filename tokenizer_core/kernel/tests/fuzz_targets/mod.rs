//! Bodies of the fuzz targets: each takes any bytes and panics when a promise of the kernel is broken.
//!
//! `cargo test` drives them with random bytes (`tests/fuzz.rs`), `cargo fuzz` with coverage (`fuzz/`).

pub mod added_tokens;
pub mod body;
pub mod chats;
pub mod counting;
pub mod decode;
pub mod encode;
pub mod expressions;
pub mod from_utf32;
pub mod load;
pub mod normalizers;
pub mod paths;
pub mod responses;
pub mod sentencepiece;
pub mod templates;

use std::sync::Arc;

use tokd_kernel::config::{AddedToken, Config};
use tokd_kernel::encode::Pipeline;
use tokd_kernel::vocabulary::Vocabulary;

/// The names of all scanners but Llama 3's, which is that of cl100k_base.
pub const PATTERNS: [&str; 4] = ["gpt2", "cl100k_base", "o200k_base", "qwen2"];

/// Reads small numbers off the front of the fuzzer's bytes; 0 when there are no more.
#[derive(Clone)]
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

    /// One of `items`.
    pub fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }

    /// All that is left.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    /// All that is left, as text.
    pub fn text(self) -> String {
        String::from_utf8_lossy(self.0).into_owned()
    }
}

/// A token whose kinds are the bits of `flags`: special, `lstrip`, `rstrip`, `single_word`, `normalized`.
pub fn added_token(id: u32, content: &str, flags: u8) -> AddedToken {
    let has = |bit: u8| flags >> bit & 1 != 0;
    AddedToken {
        id,
        content: content.to_owned(),
        special: has(0),
        lstrip: has(1),
        rstrip: has(2),
        single_word: has(3),
        normalized: has(4),
    }
}

/// Every byte a token, and no merges.
pub fn pipeline_of_bytes(config: &Config) -> Pipeline {
    let tokens = (0..=255_u8).map(|byte| (u32::from(byte), vec![byte])).collect();
    let vocabulary = Vocabulary::new(tokens, Vec::new(), Vec::new()).unwrap();
    Pipeline::new(Arc::new(vocabulary), config, 1 << 12).unwrap()
}
