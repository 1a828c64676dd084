//! Files that anybody may send: every one is read or refused, never a crash, and what is read is whole.

use std::sync::Arc;

use tokd_kernel::added_tokens::SpecialPolicy;
use tokd_kernel::config::Config;
use tokd_kernel::encode::{EncodeOptions, Pipeline};
use tokd_kernel::formats::{from_tiktoken, from_tokenizer_json, from_vocab_merges};
use tokd_kernel::vocabulary::Vocabulary;

/// Read the input as each of the formats; the last byte 0xFF in it parts `vocab.json` from `merges.txt`.
pub fn load(data: &[u8]) {
    let middle = data.iter().rposition(|byte| *byte == 0xFF).unwrap_or(data.len());
    let (vocab, merges) = (&data[..middle], data.get(middle + 1..).unwrap_or_default());
    let read = [
        from_tokenizer_json(data).map(|(vocabulary, _)| vocabulary),
        from_tiktoken(data),
        from_vocab_merges(vocab, merges),
    ];
    for vocabulary in read.into_iter().flatten() {
        check(vocabulary);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        // Any answer will do: the point is that there is one.
        let _ = Config::from_json(text);
    }
}

/// A vocabulary that was read survives being taken apart, and encodes.
fn check(vocabulary: Vocabulary) {
    let tokens = vocabulary.tokens().map(|(id, bytes)| (id, bytes.to_vec())).collect();
    let opaque = vocabulary.tokens().map(|(id, _)| id).filter(|id| vocabulary.is_opaque(*id)).collect();
    let again = Vocabulary::new(tokens, vocabulary.merges().to_vec(), opaque).unwrap();
    assert_eq!(again.digest(), vocabulary.digest());
    let Ok(pipeline) = Pipeline::new(Arc::new(vocabulary), &Config::default(), 1 << 16) else {
        return;
    };
    let text = "The quick brown fox, 12345 times: \u{E9}\u{4E2D}\u{1F600}";
    let options = EncodeOptions { policy: SpecialPolicy::Parse, add_special_tokens: true };
    let mut ids = Vec::new();
    pipeline.encode(text, options, &mut ids).unwrap();
    assert_eq!(pipeline.tokens().decode(&ids, false).unwrap(), text.as_bytes());
}
