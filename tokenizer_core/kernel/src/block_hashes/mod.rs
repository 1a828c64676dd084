//! Hashes of the blocks of a KV cache: what engines publish of their blocks, and what routers compute to find them.
//!
//! Each scheme is a function over token ids that others wrote; the name has its version, since they change. Sources:
//! vLLM 0.32 (`kv_cache_utils.py`), SGLang 0.5.23 (`radix_cache` and HiCache), ai-dynamo-runtime 1.6, llm-d-router
//! (`token_processor.go`), TensorRT-LLM (`_block_radix_tree.py`).

mod cbor;
mod llmd;
mod pickle;
mod sha_chains;
mod vllm;

#[cfg(test)]
mod tests;

use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::{Code, Error, Result};

/// The most ids of a block; engines take 1 to 256.
pub const MAX_BLOCK: usize = 1 << 14;

/// The values that a scheme hashes beside the ids; the caller has checked which scheme takes which.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HashOptions {
    /// The seed of the first parent, as text.
    pub seed: Option<String>,
    /// The model's name.
    pub model: Option<String>,
    /// The name of a LoRA adapter.
    pub lora: Option<String>,
    /// The path of that adapter.
    pub lora_path: Option<String>,
    /// The number of a LoRA adapter.
    pub lora_task_id: Option<u64>,
    /// A salt that separates the caches of tenants.
    pub cache_salt: Option<String>,
    /// The same for Dynamo.
    pub cache_namespace: Option<String>,
    /// The same for SGLang, beside a salt.
    pub extra_key: Option<String>,
}

/// The hashes of a row of ids, in the order of the blocks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BlockHashes {
    /// The names of the blocks in events and indexes, of 64 bits each; some schemes read them as signed numbers.
    pub values: Vec<u64>,
    /// Whole digests one behind the other, 32 bytes each, if the scheme has any.
    pub digests: Vec<u8>,
    /// The hash of each block and all before it, where `values` are of the blocks alone.
    pub sequence: Vec<u64>,
}

/// Hash the blocks of `size` ids each.
///
/// # Errors
/// `invalid_option` at the option: an unknown scheme, a block of no ids, an id or a name that a scheme cannot write.
pub fn block_hashes(scheme: &str, ids: &[u32], size: usize, options: &HashOptions) -> Result<BlockHashes> {
    if size == 0 || size > MAX_BLOCK {
        return Err(wrong(format!("a block has 1 to {MAX_BLOCK} ids, not {size}"), "block_size"));
    }
    let full = ids.chunks_exact(size);
    match scheme {
        "dynamo-xxh3/1" => Ok(dynamo(full, options)),
        "llmd-cbor-fnv/1" => Ok(llmd::cbor_fnv(full, options)),
        "llmd-xxh64/1" => Ok(llmd::xxh64(full, options)),
        "vllm-sha256/2" => vllm::pickled(full, options),
        "vllm-sha256-cbor/2" => Ok(vllm::cbor(full, options)),
        // These hash a last block that is not full, too.
        "sglang-sha256/1" => Ok(sha_chains::sglang(ids.chunks(size), options)),
        "trtllm-v2" => Ok(sha_chains::trtllm(ids.chunks(size), options)),
        _ => Err(wrong(format!("there is no scheme {:?}", shortened(scheme)), "scheme")),
    }
}

fn wrong(message: String, field: &str) -> Error {
    Error::new(Code::InvalidOption, message).at_field(field)
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Ids as engines lay them out: four bytes each, the least one first.
fn add_ids(ids: &[u32], bytes: &mut Vec<u8>) {
    bytes.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
}

/// Dynamo's hashes of blocks alone, and of the way to each.
fn dynamo<'a>(blocks: impl Iterator<Item = &'a [u32]>, options: &HashOptions) -> BlockHashes {
    const SEED: u64 = 1337;
    let part = |text: &Option<String>, seed| match text.as_deref() {
        None | Some("") => 0,
        Some(text) => xxh3_64_with_seed(text.as_bytes(), seed),
    };
    let seed = SEED.wrapping_add(part(&options.lora, 0)).wrapping_add(part(&options.cache_namespace, 1));
    let mut hashes = BlockHashes::default();
    let mut bytes = Vec::new();
    for ids in blocks {
        bytes.clear();
        add_ids(ids, &mut bytes);
        let value = xxh3_64_with_seed(&bytes, seed);
        let sequence = match hashes.sequence.last() {
            None => value,
            Some(before) => {
                let pair = [before.to_le_bytes(), value.to_le_bytes()].concat();
                xxh3_64_with_seed(&pair, SEED)
            }
        };
        hashes.values.push(value);
        hashes.sequence.push(sequence);
    }
    hashes
}
