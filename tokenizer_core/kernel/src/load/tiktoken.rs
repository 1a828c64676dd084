//! Rank files: one `base64 rank` a line.
//!
//! tiktoken merges any two neighbours whose joined bytes are a token. Only one pair can ever become a given token: the
//! one that is left when the token's own bytes are merged alone, since what happens inside its span does not depend on
//! what lies outside. So each token's merge is recovered by doing just that; a token that its bytes never become has no
//! merge, and is reached only as a whole piece.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::{Code, Error, Result};
use crate::vocabulary::{MAX_IDS, Merge, Vocabulary};

/// Read a rank file and recover the merge behind every token. Lines may end in CRLF; the last needs no newline.
///
/// # Errors
/// `invalid_file`, `duplicate_id`, `duplicate_token`, `id_out_of_range`, each with its line; `missing_byte`.
pub fn from_tiktoken(data: &[u8]) -> Result<Vocabulary> {
    let mut tokens = Vec::new();
    let body = data.strip_suffix(b"\n").unwrap_or(data);
    for (index, line) in body.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        tokens.push(parse(line).map_err(|error| error.at_field(place(index)))?);
    }
    let ranks = check(&tokens)?;
    let merges = Recovery::new(&ranks).merges(&tokens);
    drop(ranks);
    let vocabulary = Vocabulary::new(tokens, merges, Vec::new())?;
    vocabulary.byte_ids()?;
    Ok(vocabulary)
}

fn place(index: usize) -> String {
    format!("line {}", index + 1)
}

fn parse(line: &[u8]) -> Result<(u32, Vec<u8>)> {
    let invalid = |message: &str| Error::new(Code::InvalidFile, message);
    let mut parts = line.split(|byte| *byte == b' ');
    let (Some(token), Some(rank), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(invalid("a line must be a token in base64, one space and its rank"));
    };
    let bytes = STANDARD.decode(token).map_err(|error| invalid(&format!("the token is not base64: {error}")))?;
    if bytes.is_empty() {
        return Err(invalid("the token is empty"));
    }
    Ok((parse_rank(rank)?, bytes))
}

fn parse_rank(text: &[u8]) -> Result<u32> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Error::new(Code::InvalidFile, "the rank is not a number"));
    }
    // A number that does not fit is out of range as well.
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .filter(|rank| *rank < MAX_IDS)
        .ok_or_else(|| Error::new(Code::IdOutOfRange, format!("the rank is negative or not below {MAX_IDS}")))
}

fn check(tokens: &[(u32, Vec<u8>)]) -> Result<HashMap<&[u8], u32>> {
    let limit = tokens.iter().map(|(rank, _)| *rank as usize + 1).max().unwrap_or(0);
    let mut seen = vec![false; limit];
    let mut ranks = HashMap::with_capacity(tokens.len());
    for (index, (rank, bytes)) in tokens.iter().enumerate() {
        if std::mem::replace(&mut seen[*rank as usize], true) {
            return Err(Error::new(Code::DuplicateId, format!("the rank {rank} stands twice")).at_field(place(index)));
        }
        if ranks.insert(bytes.as_slice(), *rank).is_some() {
            return Err(Error::new(Code::DuplicateToken, "the token stands twice").at_field(place(index)));
        }
    }
    Ok(ranks)
}

/// No neighbour, or no token.
const NONE: u32 = u32::MAX;

/// A part of the token that is being merged; parts are known by the byte they begin at.
#[derive(Clone, Copy)]
struct Part {
    id: u32,
    previous: u32,
    /// Where the next part begins, which is where this one ends.
    next: u32,
    /// What this part and the next become, or `NONE`; also how a stale entry of the queue is known.
    product: u32,
}

/// Merges a token's own bytes with the whole table.
struct Recovery<'a> {
    ranks: &'a HashMap<&'a [u8], u32>,
    bytes: [u32; 256],
    /// Products already looked up by the ids of their parts, so that long parts are hashed once and not at every step.
    products: HashMap<(u32, u32), u32>,
    parts: Vec<Part>,
    queue: BinaryHeap<Reverse<(u32, u32)>>,
}

impl<'a> Recovery<'a> {
    fn new(ranks: &'a HashMap<&'a [u8], u32>) -> Self {
        let mut bytes = [NONE; 256];
        for byte in 0..=255_u8 {
            if let Some(rank) = ranks.get([byte].as_slice()) {
                bytes[byte as usize] = *rank;
            }
        }
        Self { ranks, bytes, products: HashMap::new(), parts: Vec::new(), queue: BinaryHeap::new() }
    }

    /// The merges of all tokens in rank order.
    fn merges(&mut self, tokens: &[(u32, Vec<u8>)]) -> Vec<Merge> {
        let mut merges: Vec<Merge> = tokens
            .iter()
            .filter(|(_, bytes)| bytes.len() > 1)
            .filter_map(|(rank, bytes)| self.last_merge(bytes).filter(|merge| merge.product == *rank))
            .collect();
        merges.sort_unstable_by_key(|merge| merge.product);
        merges
    }

    /// The merge after which nothing of `token` is left to merge, if it makes the whole of it.
    fn last_merge(&mut self, token: &[u8]) -> Option<Merge> {
        self.parts.clear();
        self.queue.clear();
        for (start, byte) in (0_u32..).zip(token) {
            let previous = start.checked_sub(1).unwrap_or(NONE);
            self.parts.push(Part { id: self.bytes[*byte as usize], previous, next: start + 1, product: NONE });
        }
        for start in 0..token.len() as u32 {
            self.look(token, start);
        }
        while let Some(Reverse((product, start))) = self.queue.pop() {
            let left = self.parts[start as usize];
            if left.product != product {
                continue;
            }
            let right = self.parts[left.next as usize];
            if start == 0 && right.next as usize == token.len() {
                return Some(Merge { left: left.id, right: right.id, product });
            }
            self.parts[left.next as usize].product = NONE;
            self.parts[start as usize] = Part { id: product, next: right.next, ..left };
            if let Some(after) = self.parts.get_mut(right.next as usize) {
                after.previous = start;
            }
            self.look(token, start);
            if left.previous != NONE {
                self.look(token, left.previous);
            }
        }
        None
    }

    /// Find what the part at `start` and the next one become, and queue it.
    fn look(&mut self, token: &[u8], start: u32) {
        let left = self.parts[start as usize];
        let product = match self.parts.get(left.next as usize) {
            None => NONE,
            Some(right) if left.id == NONE || right.id == NONE => NONE,
            Some(right) => *self.products.entry((left.id, right.id)).or_insert_with(|| {
                self.ranks.get(&token[start as usize..right.next as usize]).copied().unwrap_or(NONE)
            }),
        };
        self.parts[start as usize].product = product;
        if product != NONE {
            self.queue.push(Reverse((product, start)));
        }
    }
}
