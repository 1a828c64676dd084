//! Readers of vocabulary files; each refuses what it does not understand, with an error code and the place.

mod entries;
pub(crate) mod json;
mod lookup;
mod merges_from_ranks;
mod protobuf;
mod reconcile_added_tokens;
mod sentencepiece;
mod tiktoken;
mod tokenizer_json;
mod vocab_merges;

pub use reconcile_added_tokens::reconcile_added_tokens;
pub use sentencepiece::from_sentencepiece;
pub use tiktoken::from_tiktoken;
pub use tokenizer_json::from_tokenizer_json;
pub use vocab_merges::from_vocab_merges;
