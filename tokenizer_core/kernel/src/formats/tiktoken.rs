//! Rank files: one `base64 rank` a line.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::merges_from_ranks::merges;
use crate::error::{Code, Error, Result};
use crate::model::bpe::token_index::TokenIndex;
use crate::vocabulary::{MAX_IDS, Vocabulary};

/// Read a rank file and recover the merge that makes each token. Lines may end in CRLF; the last needs no newline.
///
/// # Errors
/// `invalid_file`, `duplicate_id`, `duplicate_token`, `id_out_of_range`, each with its line; `missing_byte`.
pub fn from_tiktoken(data: &[u8]) -> Result<Vocabulary> {
    let body = data.strip_suffix(b"\n").unwrap_or(data);
    let lines = || body.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    // All tokens are in one vector: a vector for each took a tenth of the time and of the memory.
    let mut bytes = Vec::with_capacity(data.len());
    let mut ranks = Vec::new();
    for (index, line) in lines().enumerate() {
        let rank = parse(line, &mut bytes).map_err(|error| error.at_field(place(index)))?;
        ranks.push((rank, bytes.len()));
    }
    check_ranks(&ranks)?;
    let starts = std::iter::once(0).chain(ranks.iter().map(|(_, end)| *end));
    let tokens = starts.zip(&ranks).map(|(start, (rank, end))| (*rank, &bytes[start..*end]));
    let (tokens, empty): (Vec<(u32, &[u8])>, Vec<_>) = tokens.partition(|(_, token)| !token.is_empty());
    if empty.len() > 1 {
        return Err(Error::new(Code::DuplicateToken, "more than one token is empty"));
    }
    let empty = empty.first().map(|(rank, _)| *rank);
    let vocabulary = Vocabulary::new(tokens.clone(), Vec::new(), Vec::new())?;
    let index = TokenIndex::of_all(&vocabulary)?;
    check_tokens(&tokens, &index)?;
    drop(tokens);
    drop((ranks, bytes));
    let merges = merges(&vocabulary, &index)?;
    Ok(vocabulary.with_merges(merges).with_empty(empty))
}

fn place(index: usize) -> String {
    format!("line {}", index + 1)
}

/// Read a line: append its token to `bytes`, and return its rank.
fn parse(line: &[u8], bytes: &mut Vec<u8>) -> Result<u32> {
    let invalid = |message: &str| Error::new(Code::InvalidFile, message);
    let mut parts = line.split(|byte| *byte == b' ');
    let (Some(token), Some(rank), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(invalid("a line must be a token in base64, one space and its rank"));
    };
    if token.is_empty() {
        return Err(invalid("the token is empty"));
    }
    if token == b"=" {
        // Written for the empty token, as in Whisper's `multilingual.tiktoken`.
        return parse_rank(rank);
    }
    let start = bytes.len();
    bytes.resize(start + base64::decoded_len_estimate(token.len()), 0);
    let length = STANDARD
        .decode_slice(token, &mut bytes[start..])
        .map_err(|error| invalid(&format!("the token is not base64: {error}")))?;
    bytes.truncate(start + length);
    parse_rank(rank)
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

fn check_ranks(ranks: &[(u32, usize)]) -> Result<()> {
    let limit = ranks.iter().map(|(rank, _)| *rank as usize + 1).max().unwrap_or(0);
    let mut seen = vec![false; limit];
    for (index, (rank, _)) in ranks.iter().enumerate() {
        if std::mem::replace(&mut seen[*rank as usize], true) {
            return Err(Error::new(Code::DuplicateId, format!("the rank {rank} stands twice")).at_field(place(index)));
        }
    }
    Ok(())
}

fn check_tokens(tokens: &[(u32, &[u8])], index: &TokenIndex) -> Result<()> {
    if index.distinct() == tokens.len() {
        return Ok(());
    }
    let mut seen = HashSet::new();
    match tokens.iter().position(|(_, bytes)| !seen.insert(bytes)) {
        Some(twice) => Err(Error::new(Code::DuplicateToken, "the token stands twice").at_field(place(twice))),
        None => Ok(()),
    }
}
