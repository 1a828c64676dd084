//! Read the vocabulary and the merges of a Hugging Face `tokenizer.json`; return the rest as JSON.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::entries::{Entries, Parts};
use super::json::{self, JsonReader, JsonStep, JsonText, insert, read_items, read_once};
use crate::error::{Code, Error, Result};
use crate::vocabulary::{MAX_IDS, Spelling, Vocabulary};

/// Read `model.vocab` and `model.merges` into a vocabulary, and return the rest of the document as JSON text in which
/// the two are left out. A BPE without a byte-level stage, or with affixes of words, has entries that are text, as all
/// other models have.
///
/// # Errors
/// `invalid_file` (also: too deeply nested, duplicate keys, not UTF-8), `duplicate_id`, `duplicate_token`,
/// `id_out_of_range`, `merge_out_of_vocab`, `unsupported` (a model that is not known); each with the path
/// of the field.
pub fn from_tokenizer_json(data: &[u8]) -> Result<(Vocabulary, String)> {
    let document = json::read(json::utf8(data)?, |reader, deserializer| {
        deserializer.deserialize_map(DocumentVisitor { reader, document: Document::default() })
    })?;
    let model = document.model.ok_or_else(|| missing("model"))?;
    let kind = model.rest.get("type").map_or(Some("BPE"), Value::as_str);
    let merges = match kind {
        Some("BPE") => model.merges.ok_or_else(|| missing("model.merges"))?,
        Some("WordLevel" | "WordPiece" | "Unigram") => Vec::new(),
        _ => {
            let kind = model.rest.get("type").map(Value::to_string).unwrap_or_default();
            let message = format!("a model of type {} is not known", json::quote(&kind));
            return Err(Error::new(Code::Unsupported, message).at_field("model.type"));
        }
    };
    let is_byte_level = kind == Some("BPE") && is_byte_level(&document.rest) && !has_affixes(&model.rest);
    let vocabulary = match model.vocab {
        Some(Vocab::Scored(entries)) if kind == Some("Unigram") => scored(entries)?,
        Some(Vocab::Entries(vocab)) if kind != Some("Unigram") => Entries {
            vocab: &vocab,
            merges: &merges,
            vocab_path: "model.vocab",
            spelling: if is_byte_level { Spelling::ByteLevel } else { Spelling::Text },
            prefix: affix(&model.rest, "continuing_subword_prefix"),
            merge_place: &|rank| format!("model.merges[{rank}]"),
        }
        .build()?,
        _ => return Err(missing("model.vocab")),
    };
    let mut rest = document.rest;
    rest.insert("model".to_owned(), Value::Object(model.rest));
    Ok((vocabulary, Value::Object(rest).to_string()))
}

fn missing(field: &str) -> Error {
    Error::new(Code::InvalidFile, format!("the file has no {field} as its model.type has")).at_field(field)
}

/// Tell whether text is written in the byte alphabet as the last step before it comes to the model. If it is written so
/// earlier, the stages behind see that alphabet, and entries are texts in it.
fn is_byte_level(document: &Map<String, Value>) -> bool {
    let kinds = |key: &str, list: &str| document.get(key).map_or_else(Vec::new, |stage| kinds(stage, list));
    let is_alphabet = |kind: &&str| *kind == "ByteLevel";
    let cuts = kinds("pre_tokenizer", "pretokenizers");
    cuts.last().is_some_and(is_alphabet)
        && cuts.iter().filter(|kind| is_alphabet(kind)).count() == 1
        && !kinds("normalizer", "normalizers").iter().any(is_alphabet)
}

/// The types of a stage, or of the stages of a sequence in their order.
fn kinds<'v>(stage: &'v Value, list: &str) -> Vec<&'v str> {
    match (stage.get("type").and_then(Value::as_str), stage.get(list).and_then(Value::as_array)) {
        (Some("Sequence"), Some(stages)) => stages.iter().flat_map(|stage| kinds(stage, list)).collect(),
        (kind, _) => kind.into_iter().collect(),
    }
}

/// Tell whether entries begin or end with a mark of their position in a word.
fn has_affixes(model: &Map<String, Value>) -> bool {
    ["continuing_subword_prefix", "end_of_word_suffix"].iter().any(|key| !affix(model, key).is_empty())
}

/// Return the affix that surrounds entries in a word, or nothing.
fn affix<'v>(model: &'v Map<String, Value>, key: &str) -> &'v str {
    model.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The vocabulary of entries with scores, whose ids are their places.
fn scored(entries: Vec<(Cow<'_, str>, f64)>) -> Result<Vocabulary> {
    let place = |index: usize| format!("model.vocab[{index}]");
    if entries.len() > MAX_IDS as usize {
        let message = format!("there are {} entries, and ids are below {MAX_IDS}", entries.len());
        return Err(Error::new(Code::IdOutOfRange, message).at_field(place(MAX_IDS as usize)));
    }
    let mut seen = HashSet::new();
    for (index, (entry, _)) in entries.iter().enumerate() {
        if entry.is_empty() {
            return Err(Error::new(Code::InvalidFile, "an entry is empty").at_field(place(index)));
        }
        if !seen.insert(entry.as_ref()) {
            let message = format!("the entry {} stands twice", json::quote(entry));
            return Err(Error::new(Code::DuplicateToken, message).at_field(place(index)));
        }
    }
    let scores = entries.iter().map(|(_, score)| *score).collect();
    Vocabulary::of_texts((0..).zip(entries.iter().map(|(entry, _)| entry.as_bytes())).collect(), Vec::new(), scores)
}

#[derive(Default)]
struct Document<'de> {
    model: Option<ModelFields<'de>>,
    rest: Map<String, Value>,
}

#[derive(Default)]
struct ModelFields<'de> {
    vocab: Option<Vocab<'de>>,
    merges: Option<Vec<Parts<'de>>>,
    rest: Map<String, Value>,
}

/// The entries.
pub enum Vocab<'de> {
    /// `(entry, id)` in the order of the file.
    Entries(Vec<(Cow<'de, str>, u32)>),
    /// `(entry, score)` in the order of ids.
    Scored(Vec<(Cow<'de, str>, f64)>),
}

struct DocumentVisitor<'r, 'de> {
    reader: &'r mut JsonReader<'de>,
    document: Document<'de>,
}

impl<'de> Visitor<'de> for DocumentVisitor<'_, 'de> {
    type Value = Document<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> std::result::Result<Document<'de>, A::Error> {
        while let Some(JsonText(key)) = entries.next_key()? {
            if key != "model" {
                insert(self.reader, &mut self.document.rest, key, &mut entries)?;
                continue;
            }
            let is_new = self.document.model.is_none();
            let model = read_once(self.reader, key, is_new, |reader| entries.next_value_seed(ModelSeed(reader)))?;
            self.document.model = Some(model);
        }
        Ok(self.document)
    }
}

/// Define what reads one kind of value, and tells the path to a [`JsonReader`].
macro_rules! seed {
    ($(#[$doc:meta])* $visibility:vis $name:ident, $value:ty, $kind:ident) => {
        $(#[$doc])*
        $visibility struct $name<'r, 'de>($visibility &'r mut JsonReader<'de>);

        impl<'de> DeserializeSeed<'de> for $name<'_, 'de> {
            type Value = $value;
            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<$value, D::Error> {
                deserializer.$kind(self)
            }
        }
    };
}

seed!(ModelSeed, ModelFields<'de>, deserialize_map);

impl<'de> Visitor<'de> for ModelSeed<'_, 'de> {
    type Value = ModelFields<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<ModelFields<'de>, A::Error> {
        let (reader, mut model) = (self.0, ModelFields::default());
        while let Some(JsonText(key)) = entries.next_key()? {
            match key.as_ref() {
                "vocab" => {
                    let is_new = model.vocab.is_none();
                    let vocab = read_once(reader, key, is_new, |reader| entries.next_value_seed(VocabSeed(reader)))?;
                    model.vocab = Some(vocab);
                }
                "merges" => {
                    let is_new = model.merges.is_none();
                    let merges = read_once(reader, key, is_new, |reader| entries.next_value_seed(MergesSeed(reader)))?;
                    model.merges = Some(merges);
                }
                _ => insert(reader, &mut model.rest, key, &mut entries)?,
            }
        }
        Ok(model)
    }
}

seed!(
    /// Reads the object of entries; `vocab.json` is nothing else.
    pub VocabSeed, Vocab<'de>, deserialize_any
);

impl<'de> Visitor<'de> for VocabSeed<'_, 'de> {
    type Value = Vocab<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of entries and ids")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Vocab<'de>, A::Error> {
        read_items(self.0, |reader| items.next_element_seed(ScoredSeed(reader))).map(Vocab::Scored)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Vocab<'de>, A::Error> {
        let mut vocab = Vec::new();
        self.0.enter(JsonStep::Index(0));
        while let Some(JsonText(key)) = entries.next_key()? {
            self.0.turn(JsonStep::Key(key.clone()));
            let id = entries.next_value_seed(IdSeed(self.0))?;
            vocab.push((key, id));
        }
        self.0.leave();
        Ok(Vocab::Entries(vocab))
    }
}

seed!(
    /// Reads an entry with its score: a list of the two.
    ScoredSeed, (Cow<'de, str>, f64), deserialize_seq
);

impl<'de> Visitor<'de> for ScoredSeed<'_, 'de> {
    type Value = (Cow<'de, str>, f64);
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an entry with its score: [\"entry\", score]")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Self::Value, A::Error> {
        match (items.next_element()?, items.next_element()?, items.next_element::<IgnoredAny>()?) {
            (Some(JsonText(entry)), Some(score), None) => Ok((entry, score)),
            _ => Err(self.0.fail(Code::InvalidFile, "an entry is a list of a text and its score")),
        }
    }
}

seed!(IdSeed, u32, deserialize_any);

impl<'de> Visitor<'de> for IdSeed<'_, 'de> {
    type Value = u32;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id")
    }
    fn visit_u64<E: de::Error>(self, id: u64) -> std::result::Result<u32, E> {
        match u32::try_from(id) {
            Ok(id) if id < MAX_IDS => Ok(id),
            _ => Err(self.0.fail(Code::IdOutOfRange, format!("id {id} is not below {MAX_IDS}"))),
        }
    }
    fn visit_i64<E: de::Error>(self, id: i64) -> std::result::Result<u32, E> {
        Err(self.0.fail(Code::IdOutOfRange, format!("id {id} is negative")))
    }
    fn visit_f64<E: de::Error>(self, id: f64) -> std::result::Result<u32, E> {
        Err(self.0.fail(Code::IdOutOfRange, format!("id {id} is not an integer in range")))
    }
}

seed!(MergesSeed, Vec<Parts<'de>>, deserialize_seq);

impl<'de> Visitor<'de> for MergesSeed<'_, 'de> {
    type Value = Vec<Parts<'de>>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of merges")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Self::Value, A::Error> {
        read_items(self.0, |reader| items.next_element_seed(MergeSeed(reader)))
    }
}

seed!(MergeSeed, Parts<'de>, deserialize_any);

impl<'de> Visitor<'de> for MergeSeed<'_, 'de> {
    type Value = Parts<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a merge: \"left right\" or [\"left\", \"right\"]")
    }
    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> std::result::Result<Parts<'de>, E> {
        match split(text) {
            Some((left, right)) => Ok((Cow::Borrowed(left), Cow::Borrowed(right))),
            None => Err(not_two(self.0)),
        }
    }
    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Parts<'de>, E> {
        match split(text) {
            Some((left, right)) => Ok((Cow::Owned(left.to_owned()), Cow::Owned(right.to_owned()))),
            None => Err(not_two(self.0)),
        }
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Parts<'de>, A::Error> {
        match (items.next_element()?, items.next_element()?, items.next_element::<IgnoredAny>()?) {
            (Some(JsonText(left)), Some(JsonText(right)), None) => Ok((left, right)),
            _ => Err(not_two(self.0)),
        }
    }
}

fn not_two<E: de::Error>(reader: &mut JsonReader<'_>) -> E {
    reader.fail(
        Code::InvalidFile,
        "a merge must have exactly two parts; as one string it must not begin with #version, since readers skip that",
    )
}

/// The two parts of `left right`, or `None` when there are fewer or more, and where Hugging Face takes it for a header.
pub fn split(text: &str) -> Option<(&str, &str)> {
    text.split_once(' ').filter(|(left, right)| !right.contains(' ') && !left.starts_with("#version"))
}
