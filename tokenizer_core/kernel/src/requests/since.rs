//! Answers to callers who keep ids: what comes behind those that they have, if the answer begins with them.

use serde::Deserialize;
use xxhash_rust::xxh3::Xxh3;

use super::answer::write_field;
use crate::json::numbers::{write_ids, write_number};

/// The most ids that a caller may have.
const MAX_COUNT: usize = 1 << 31;
/// Ids that are hashed at once.
const BLOCK: usize = 1 << 10;

/// The ids that a caller has: their number and [`prefix_hash`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Since {
    count: usize,
    #[serde(default)]
    hash: String,
}

impl Since {
    /// Read JSON; `None` if the service has to say what is wrong with it.
    pub fn read(json: &str) -> Option<Self> {
        let since: Self = serde_json::from_str(json).ok()?;
        let is_hash =
            since.hash.len() == 32 && since.hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_count = since.count <= MAX_COUNT;
        (is_count && (is_hash || since.hash.is_empty())).then_some(since)
    }

    /// Write the members of an answer.
    pub fn write(&self, ids: &[u32], json: &mut Vec<u8>) {
        let kept = ids.get(..self.count).filter(|kept| kept.is_empty() || prefix_hash(kept) == self.hash);
        let new = &ids[kept.map_or(0, <[u32]>::len)..];
        write_field("new_ids", json, |json| write_ids(new, json));
        json.push(b',');
        write_field("prefix_hash", json, |json| json.extend(format!("\"{}\"", prefix_hash(ids)).bytes()));
        json.push(b',');
        write_field("since", json, |json| match kept {
            None => json.extend_from_slice(b"null"),
            Some(_) => {
                json.push(b'{');
                write_field("count", json, |json| write_number(self.count, json));
                json.extend(format!(",\"hash\":\"{}\"}}", self.hash).bytes());
            }
        });
    }
}

/// The XXH3 of 128 bits of ids as four bytes each, the least one first, in hexadecimal.
pub fn prefix_hash(ids: &[u32]) -> String {
    let mut hasher = Xxh3::new();
    let mut bytes = Vec::with_capacity(4 * BLOCK);
    for block in ids.chunks(BLOCK) {
        bytes.clear();
        bytes.extend(block.iter().flat_map(|id| id.to_le_bytes()));
        hasher.update(&bytes);
    }
    format!("{:032x}", hasher.digest128())
}
