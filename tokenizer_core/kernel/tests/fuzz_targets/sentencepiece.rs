//! SentencePiece models: read or refused, and what is read encodes any text and decodes any ids.

use std::sync::Arc;

use tokd_kernel::added_tokens::SpecialPolicy;
use tokd_kernel::config::Config;
use tokd_kernel::encode::{EncodeOptions, Pipeline};
use tokd_kernel::formats::from_sentencepiece;

use super::Reader;

/// Read the input as a model; and put what it has after its first bytes into a model's charsmap.
pub fn sentencepiece(data: &[u8]) {
    let mut reader = Reader::new(data);
    let damage = [reader.byte(), reader.byte(), reader.byte(), reader.byte()];
    let mut model = MODEL.to_vec();
    let at = usize::from(u16::from_le_bytes([damage[0], damage[1]])) % model.len();
    model[at] ^= damage[2];
    model.truncate(model.len() - usize::from(damage[3] % 3));
    for bytes in [data, &model] {
        if let Ok((vocabulary, rest)) = from_sentencepiece(bytes) {
            assert!(vocabulary.scores().iter().all(|score| score.is_finite()));
            let rest: serde_json::Value = serde_json::from_str(&rest).unwrap();
            encode(Arc::new(vocabulary), &rest["normalizer"]["charsmap"], &reader);
        }
    }
    charsmap(reader);
}

/// `<unk>`, `▁`, `a` and `ab`, with scores.
const MODEL: &[u8] = b"\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\x02\x0a\x0a\x0a\x03\xE2\x96\x81\x15\0\0\0\xC0\
    \x0a\x08\x0a\x01a\x15\0\0\x40\xC0\x0a\x09\x0a\x02ab\x15\0\0\x80\xC0\x12\x02\x18\x01";

fn encode(vocabulary: Arc<tokd_kernel::vocabulary::Vocabulary>, charsmap: &serde_json::Value, text: &Reader<'_>) {
    let json = format!(
        r#"{{"normalizer":[{{"type":"sentence_piece","charsmap":{charsmap},"symbols":[],"dummy_prefix":true,
        "suffix":false,"fold":true,"escape":true}}],"model":{{"type":"unigram","unk":0,"sums":"float"}}}}"#
    );
    let config = Config::from_json(&json).unwrap();
    let Ok(pipeline) = Pipeline::new(vocabulary, &config, 1 << 12) else { return };
    let text = text.clone().text();
    let options = EncodeOptions { policy: SpecialPolicy::Text, add_special_tokens: false };
    let mut ids = Vec::new();
    if pipeline.encode(&text, options, &mut ids).is_ok() {
        assert!(ids.iter().all(|id| pipeline.tokens().get(*id).is_some()));
    }
}

/// A map of the input's own bytes, with the size that it must have.
fn charsmap(reader: Reader<'_>) {
    let mut units = reader.rest().to_vec();
    units.resize(units.len().next_multiple_of(1024).max(1024), 0);
    let map = [&(units.len() as u32).to_le_bytes()[..], &units, b"x\0"].concat();
    let stage = tokd_kernel::config::NormalizerStage::Precompiled { charsmap: tokd_kernel::config::Base64(map) };
    if let Ok(normalizer) = tokd_kernel::normalize::Normalizer::new(&[stage]) {
        let _ = normalizer.normalize("a\u{301}b \u{FB01}\u{3042}", &mut tokd_kernel::regex::StepBudget::default());
    }
}
