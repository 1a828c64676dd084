//! SGLang's and TensorRT-LLM's chains of SHA-256 over plain ids; both hash a last block that is not full, too.

use sha2::{Digest, Sha256};

use super::{BlockHashes, HashOptions, add_ids};

type Hash = [u8; 32];

fn hash(parts: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

/// The first bytes of a digest as a number.
fn high(digest: &Hash) -> u64 {
    u64::from_be_bytes(digest.first_chunk().copied().unwrap_or_default())
}

fn next(prior: Option<&Hash>, ids: &[u32], bytes: &mut Vec<u8>) -> Hash {
    bytes.clear();
    bytes.extend(prior.into_iter().flatten());
    add_ids(ids, bytes);
    hash(&[bytes])
}

/// Digests of pages in storage, and the numbers of KV events, which SGLang reads as signed.
pub fn sglang<'a>(pages: impl Iterator<Item = &'a [u32]>, options: &HashOptions) -> BlockHashes {
    let part = |text: &Option<String>| match text.as_deref() {
        None => vec![0],
        Some(text) => [&[1], &(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat(),
    };
    let is_named = options.extra_key.is_some() || options.cache_salt.is_some();
    let names = [part(&options.extra_key), part(&options.cache_salt)].concat();
    let namespace = |tag: &str| is_named.then(|| hash(&[tag.as_bytes(), &names]));
    let of_events = namespace("sglang-kv-event-namespace-v1");
    let salted = |salt: &String| hash(&[b"sglang-cache-salt-v1\0", salt.as_bytes()]);
    let (mut stored, mut event) = (namespace("sglang-cache-namespace-v1"), options.cache_salt.as_ref().map(salted));
    let mut hashes = BlockHashes::default();
    let mut bytes = Vec::new();
    for ids in pages {
        let page = next(stored.as_ref(), ids, &mut bytes);
        let link = next(event.as_ref(), ids, &mut bytes);
        hashes.digests.extend(page);
        let value = high(&link);
        hashes.values.push(match &of_events {
            None => value,
            Some(namespace) => high(&hash(&[namespace, &value.to_be_bytes()])),
        });
        (stored, event) = (Some(page), Some(link));
    }
    hashes
}

/// Digests of blocks, and their first 64 bits.
pub fn trtllm<'a>(blocks: impl Iterator<Item = &'a [u32]>, options: &HashOptions) -> BlockHashes {
    let salt = options
        .cache_salt
        .as_ref()
        .map(|salt| u64::from_le_bytes(hash(&[salt.as_bytes()]).first_chunk().copied().unwrap_or_default()));
    let numbers = [options.lora_task_id, salt];
    let mask = numbers.iter().enumerate().map(|(bit, number)| u8::from(number.is_some()) << bit).sum();
    let mut root = vec![mask];
    root.extend(numbers.into_iter().flatten().flat_map(u64::to_le_bytes));
    let mut prior = hash(&[&root]);
    let mut hashes = BlockHashes::default();
    let mut bytes = Vec::new();
    for ids in blocks {
        prior = next(Some(&prior), ids, &mut bytes);
        hashes.values.push(high(&prior));
        hashes.digests.extend(prior);
    }
    hashes
}
