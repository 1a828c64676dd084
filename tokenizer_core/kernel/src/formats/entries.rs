//! Build a vocabulary from entries and merges as text: shared by `tokenizer.json` and `vocab.json`.

use std::borrow::Cow;

use super::json::{key_path, quote};
use super::lookup::Lookup;
use crate::byte_level::append_bytes;
use crate::error::{Code, Error, Result};
use crate::parallel::join;
use crate::vocabulary::{MAX_IDS, Merge, Spelling, Vocabulary};

/// The two parts of a merge, as the file has them.
pub type Parts<'de> = (Cow<'de, str>, Cow<'de, str>);

/// Entries and merges as they stand in a file, and how that file names its places.
pub struct Entries<'de, 'a> {
    /// `(entry, id)` in the order of the file.
    pub vocab: &'a [(Cow<'de, str>, u32)],
    /// Lowest rank first.
    pub merges: &'a [Parts<'de>],
    /// The path of the object that holds the entries.
    pub vocab_path: &'a str,
    /// The spelling of the entries.
    pub spelling: Spelling,
    /// The beginning of entries within a word, which is not repeated where two of them are joined.
    pub prefix: &'a str,
    /// The place of a merge by its index.
    pub merge_place: &'a dyn Fn(usize) -> String,
}

impl Entries<'_, '_> {
    /// Look up every part and product, and build the vocabulary.
    ///
    /// # Errors
    /// `duplicate_id`, `duplicate_token`, `id_out_of_range`, `invalid_file`, `merge_out_of_vocab`.
    pub fn build(&self) -> Result<Vocabulary> {
        let ids = self.index()?;
        self.check_ids()?;
        let vocab = self.vocab;
        if self.spelling == Spelling::Text {
            let merges = self.resolve(&ids)?;
            let tokens = vocab.iter().map(|(entry, id)| (*id, entry.as_bytes())).collect();
            return Vocabulary::of_texts(tokens, merges, Vec::new());
        }
        let (merges, (bytes, ends, opaque)) = join(|| self.resolve(&ids), || bytes_of(vocab));
        let merges = merges?;
        drop(ids);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let ranges = starts.zip(&ends).map(|(start, end)| &bytes[start..*end]);
        let tokens = self.vocab.iter().map(|(_, id)| *id).zip(ranges).filter(|(_, bytes)| !bytes.is_empty()).collect();
        let empty = self.vocab.iter().find(|(entry, _)| entry.is_empty()).map(|(_, id)| *id);
        Ok(Vocabulary::new(tokens, merges, opaque)?.with_empty(empty))
    }

    fn index(&self) -> Result<Lookup<'_>> {
        let is_refused = |entry: &str| entry.is_empty() && self.spelling == Spelling::Text;
        if let Some((entry, _)) = self.vocab.iter().find(|(entry, _)| is_refused(entry)) {
            return Err(Error::new(Code::InvalidFile, "an entry is empty").at_field(self.entry_place(entry)));
        }
        Lookup::new(self.vocab).map_err(|index| {
            let entry = &self.vocab[index].0;
            Error::new(Code::DuplicateToken, format!("the entry {} stands twice", quote(entry)))
                .at_field(self.entry_place(entry))
        })
    }

    fn check_ids(&self) -> Result<()> {
        let limit = self.vocab.iter().map(|(_, id)| *id as usize + 1).max().unwrap_or(0);
        let mut seen = vec![false; limit.min(MAX_IDS as usize)];
        for (entry, id) in self.vocab {
            let Some(seen) = seen.get_mut(*id as usize) else {
                return Err(Error::new(Code::IdOutOfRange, format!("id {id} is not below {MAX_IDS}"))
                    .at_field(self.entry_place(entry)));
            };
            if std::mem::replace(seen, true) {
                return Err(Error::new(Code::DuplicateId, format!("another entry has the id {id}"))
                    .at_field(self.entry_place(entry)));
            }
        }
        Ok(())
    }

    fn resolve(&self, ids: &Lookup<'_>) -> Result<Vec<Merge>> {
        let mut merges: Vec<Merge> = Vec::with_capacity(self.merges.len());
        let mut seen = Splits::default();
        let (mut parts, mut others) = (Vec::new(), Vec::new());
        // Most files have the products of their merges one after the other among the entries.
        let mut next = 0;
        for batch in self.merges.chunks(BATCH) {
            let texts: Vec<[&str; 1]> =
                batch.iter().flat_map(|(left, right)| [[left.as_ref()], [right.as_ref()]]).collect();
            // As in Hugging Face, it is not asked whether that is the prefix.
            let joined = batch.iter().map(|(left, right)| [left.as_ref(), self.inner(right)]);
            let joined: Vec<[&str; 2]> = joined.collect();
            ids.find(&texts, &mut parts);
            let mut products: Vec<Option<usize>> =
                joined.iter().map(|parts| ids.is_at(next, parts).inspect(|found| next = found + 1)).collect();
            if products.contains(&None) {
                ids.find(&joined, &mut others);
                products.copy_from_slice(&others);
                next = products.last().copied().flatten().map_or(next, |last| last + 1);
            }
            let id_of = |index: Option<usize>| index.map(|index| self.vocab[index].1);
            for (index, (left, right)) in batch.iter().enumerate() {
                let refuse =
                    |code, message: String| Err(Error::new(code, message).at_field((self.merge_place)(merges.len())));
                let missing =
                    |text: &str| refuse(Code::MergeOutOfVocab, format!("{} is not in the vocabulary", quote(text)));
                let Some(left_id) = id_of(parts[2 * index]) else { return missing(left) };
                let Some(right_id) = id_of(parts[2 * index + 1]) else { return missing(right) };
                let Some(product) = id_of(products[index]) else { return missing(&format!("{left}{right}")) };
                let merge = Merge { left: left_id, right: right_id, product };
                if !seen.insert(&merges, merge) {
                    return refuse(Code::InvalidFile, "the merge stands twice".to_owned());
                }
                merges.push(merge);
            }
        }
        Ok(merges)
    }

    /// A right part without the prefix.
    fn inner<'t>(&self, right: &'t str) -> &'t str {
        right.get(self.prefix.len()..).unwrap_or(right)
    }

    fn entry_place(&self, entry: &str) -> String {
        key_path(self.vocab_path, entry)
    }
}

/// The bytes of all entries one after the other, where each ends, and the ids of those outside the byte alphabet.
///
/// All bytes are in one vector: a vector for each entry took a fifth of the time.
fn bytes_of(vocab: &[(Cow<'_, str>, u32)]) -> (Vec<u8>, Vec<usize>, Vec<u32>) {
    let mut bytes = Vec::with_capacity(vocab.iter().map(|(entry, _)| entry.len()).sum());
    let (mut ends, mut opaque) = (Vec::with_capacity(vocab.len()), Vec::new());
    for (entry, id) in vocab {
        if !append_bytes(entry, &mut bytes) {
            opaque.push(*id);
            bytes.extend_from_slice(entry.as_bytes());
        }
        ends.push(bytes.len());
    }
    (bytes, ends, opaque)
}

/// Merges that are looked up at once.
const BATCH: usize = 64;

/// The merges of each product, as chains from the last to the first. A pair has one product, and a product has at most
/// as many pairs as there are places to cut it, so chains are short.
#[derive(Default)]
struct Splits {
    /// One more than the index of the last merge of each product.
    last: Vec<u32>,
    /// One more than the index of the merge before, of the same product.
    before: Vec<u32>,
}

impl Splits {
    /// Add the merge that comes after `merges`; `false` if it is among them.
    fn insert(&mut self, merges: &[Merge], merge: Merge) -> bool {
        let product = merge.product as usize;
        if self.last.len() <= product {
            self.last.resize(product + 1, 0);
        }
        let mut at = self.last[product];
        self.before.push(at);
        while let Some(other) = merges.get((at as usize).wrapping_sub(1)) {
            if (other.left, other.right) == (merge.left, merge.right) {
                return false;
            }
            at = self.before[at as usize - 1];
        }
        self.last[product] = merges.len() as u32 + 1;
        true
    }
}
