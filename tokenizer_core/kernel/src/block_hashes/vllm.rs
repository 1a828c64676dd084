//! vLLM's two hashes by SHA-256: over pickled tuples (its default) and over canonical CBOR.

use sha2::{Digest, Sha256};

use super::pickle::{MAX_FRAME, Pickle};
use super::{BlockHashes, HashOptions, cbor, wrong};
use crate::error::Result;

/// The seed of a server that sets no `PYTHONHASHSEED`.
const SEED: &str = "vllm-none-hash";

type Hash = [u8; 32];

/// List what a block has beside its ids: tuples of a name and its values, in vLLM's order.
fn extras(options: &HashOptions, is_first: bool) -> Vec<Vec<&str>> {
    let mut found = Vec::new();
    if let Some(lora) = options.lora.as_deref() {
        found.push(vec!["lora", lora, options.lora_path.as_deref().unwrap_or_default()]);
    }
    if let Some(salt) = options.cache_salt.as_deref().filter(|_| is_first) {
        found.push(vec!["cache_salt", salt]);
    }
    found
}

/// Over canonical CBOR.
pub fn cbor<'a>(blocks: impl Iterator<Item = &'a [u32]>, options: &HashOptions) -> BlockHashes {
    let mut bytes = Vec::new();
    cbor::add_text(options.seed.as_deref().unwrap_or(SEED), &mut bytes);
    chain(blocks, options, hash(&bytes), |parent, ids, extra| {
        bytes.clear();
        cbor::begin_list(3, &mut bytes);
        cbor::add_bytes(parent, &mut bytes);
        cbor::add_ids(ids, &mut bytes);
        if extra.is_empty() {
            bytes.push(cbor::NULL);
        } else {
            cbor::begin_list(extra.len(), &mut bytes);
        }
        for values in extra {
            cbor::begin_list(values.len(), &mut bytes);
            values.iter().for_each(|value| cbor::add_text(value, &mut bytes));
        }
        hash(&bytes)
    })
}

/// Over pickled tuples.
///
/// # Errors
/// `invalid_option`: what pickle writes depends on more than the values.
pub fn pickled<'a>(blocks: impl Iterator<Item = &'a [u32]> + Clone, options: &HashOptions) -> Result<BlockHashes> {
    if blocks.clone().flatten().any(|&id| id > i32::MAX as u32) {
        return Err(wrong("vllm-sha256 takes ids below 2147483648; use vllm-sha256-cbor".to_owned(), "ids"));
    }
    let texts: Vec<&str> = extras(options, true).concat();
    if texts.iter().enumerate().any(|(at, text)| texts[..at].contains(text)) {
        let message = "two names are equal, and what pickle writes depends on whether they are one object; use \
                       vllm-sha256-cbor";
        return Err(wrong(message.to_owned(), "options"));
    }
    let size =
        blocks.clone().next().map_or(0, <[u32]>::len) * 5 + texts.iter().map(|text| text.len() + 16).sum::<usize>();
    if size + 64 > MAX_FRAME {
        return Err(wrong("a block and its names are more than pickle frames at once".to_owned(), "block_size"));
    }
    let mut none = Pickle::new();
    none.add_text(options.seed.as_deref().unwrap_or(SEED));
    Ok(chain(blocks, options, hash(&none.finish()), |parent, ids, extra| {
        let mut pickle = Pickle::new();
        pickle.add_bytes(parent);
        pickle.add_numbers(ids);
        for values in extra {
            values.iter().for_each(|value| pickle.add_text(value));
            pickle.end_tuple(values.len());
        }
        if extra.is_empty() {
            pickle.add_none();
        } else {
            pickle.end_tuple(extra.len());
        }
        pickle.end_tuple(3);
        hash(&pickle.finish())
    }))
}

fn chain<'a>(
    blocks: impl Iterator<Item = &'a [u32]>,
    options: &HashOptions,
    none: Hash,
    mut next: impl FnMut(&Hash, &[u32], &[Vec<&str>]) -> Hash,
) -> BlockHashes {
    let mut hashes = BlockHashes::default();
    let (first, others) = (extras(options, true), extras(options, false));
    let mut parent = none;
    for ids in blocks {
        parent = next(&parent, ids, if hashes.values.is_empty() { &first } else { &others });
        // Events have the last bytes of a digest.
        let low = parent.last_chunk().copied().unwrap_or_default();
        hashes.values.push(u64::from_be_bytes(low));
        hashes.digests.extend(parent);
    }
    hashes
}

fn hash(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}
