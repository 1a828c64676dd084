//! GPT-2's layout: `vocab.json` and `merges.txt`.

use std::borrow::Cow;

use serde::de::DeserializeSeed;

use super::entries::Entries;
use super::json;
use super::tokenizer_json::{Vocab, VocabSeed, split};
use crate::error::{Code, Error, Place, Result};
use crate::vocabulary::{Spelling, Vocabulary};

/// Read both files. The merges may begin with a `#version` line and need no newline at their end.
///
/// # Errors
/// As [`super::from_tokenizer_json`]; places are `vocab.json`, `vocab.json["entry"]` and `merges.txt line 3`.
pub fn from_vocab_merges(vocab: &[u8], merges: &[u8]) -> Result<Vocabulary> {
    let vocab = read_vocab(vocab).map_err(|error| Error { place: in_vocab(&error.place), ..error })?;
    let text = json::utf8(merges).map_err(|error| error.at_field("merges.txt"))?;
    let (header, text) = match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("#version") => (1, rest),
        None if text.starts_with("#version") => (1, ""),
        _ => (0, text),
    };
    let place = |index: usize| format!("merges.txt line {}", index + 1 + header);
    let mut pairs = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let (left, right) = split(line).ok_or_else(|| {
            let found = match line {
                "" => "an empty line",
                _ if line.starts_with("#version") => "a header, which only the first line can be",
                _ => "something else",
            };
            Error::new(
                Code::InvalidFile,
                format!("a line must be two parts with one space between, and this is {found}"),
            )
            .at_field(place(index))
        })?;
        pairs.push((Cow::Borrowed(left), Cow::Borrowed(right)));
    }
    let spelling = Spelling::ByteLevel;
    Entries { vocab: &vocab, merges: &pairs, vocab_path: "vocab.json", spelling, prefix: "", merge_place: &place }
        .build()
}

fn read_vocab(data: &[u8]) -> Result<Vec<(Cow<'_, str>, u32)>> {
    match json::read(json::utf8(data)?, |reader, deserializer| VocabSeed(reader).deserialize(deserializer))? {
        Vocab::Entries(vocab) => Ok(vocab),
        Vocab::Scored(_) => Err(Error::new(Code::InvalidFile, "the file is not an object of entries and ids")),
    }
}

fn in_vocab(place: &Place) -> Place {
    Place::Field(match place {
        Place::Field(path) if path.starts_with('[') => format!("vocab.json{path}"),
        Place::Field(path) => format!("vocab.json.{path}"),
        _ => "vocab.json".to_owned(),
    })
}
