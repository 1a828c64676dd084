//! llm-d-router's two hashes: FNV-1a over CBOR, and XXH64 over plain bytes; both chain over the blocks before.

use xxhash_rust::xxh64::xxh64 as xxh64_of;

use super::{BlockHashes, HashOptions, add_ids, cbor};

/// FNV-1a over canonical CBOR of the parent, the ids and what else tells blocks apart.
pub fn cbor_fnv<'a>(blocks: impl Iterator<Item = &'a [u32]>, options: &HashOptions) -> BlockHashes {
    let model = options.model.as_deref().unwrap_or_default();
    let mut bytes = Vec::new();
    cbor::begin_list(3, &mut bytes);
    cbor::add_number(fnv(options.seed.as_deref().unwrap_or_default().as_bytes()), &mut bytes);
    bytes.push(cbor::NULL);
    cbor::add_text(model, &mut bytes);
    chain(blocks, options, fnv(&bytes), |parent, ids, salt| {
        bytes.clear();
        cbor::begin_list(3, &mut bytes);
        cbor::add_number(parent, &mut bytes);
        cbor::add_ids(ids, &mut bytes);
        match salt {
            None => bytes.push(cbor::NULL),
            Some(salt) => {
                cbor::begin_list(1, &mut bytes);
                cbor::begin_map(1, &mut bytes);
                cbor::add_text("Hash", &mut bytes);
                cbor::add_text(salt, &mut bytes);
            }
        }
        fnv(&bytes)
    })
}

/// XXH64 over the parent, the ids, and what else tells blocks apart with its length; the root's is the model.
pub fn xxh64<'a>(blocks: impl Iterator<Item = &'a [u32]>, options: &HashOptions) -> BlockHashes {
    let mut bytes = Vec::new();
    let mut node = |parent: u64, ids: &[u32], extra: Option<&str>| {
        bytes.clear();
        bytes.extend(parent.to_le_bytes());
        add_ids(ids, &mut bytes);
        if let Some(extra) = extra {
            bytes.extend((extra.len() as u64).to_le_bytes());
            bytes.extend(extra.as_bytes());
        }
        xxh64_of(&bytes, 0)
    };
    let seed = xxh64_of(options.seed.as_deref().unwrap_or_default().as_bytes(), 0);
    let root = node(seed, &[], Some(options.model.as_deref().unwrap_or_default()));
    chain(blocks, options, root, node)
}

/// Hash each block with the one before it; the first has the salt.
fn chain<'a>(
    blocks: impl Iterator<Item = &'a [u32]>,
    options: &HashOptions,
    root: u64,
    mut node: impl FnMut(u64, &[u32], Option<&str>) -> u64,
) -> BlockHashes {
    let mut parent = root;
    let mut salt = options.cache_salt.as_deref().filter(|salt| !salt.is_empty());
    let values = blocks.map(|ids| {
        parent = node(parent, ids, salt.take());
        parent
    });
    BlockHashes { values: values.collect(), ..BlockHashes::default() }
}

/// FNV-1a with 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}
