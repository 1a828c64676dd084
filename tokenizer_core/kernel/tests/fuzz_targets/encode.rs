//! A whole pipeline over a small random vocabulary, against merges done one after the other in a list.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use tokd_kernel::added_tokens::SpecialPolicy;
use tokd_kernel::config::Config;
use tokd_kernel::decode::StreamDecoder;
use tokd_kernel::decode::token_widths::Unit;
use tokd_kernel::encode::{EncodeOptions, Pipeline};
use tokd_kernel::json::numbers::write_ids;
use tokd_kernel::output::count::Count;
use tokd_kernel::output::offsets::Offsets;
use tokd_kernel::vocabulary::{Merge, Vocabulary};

use super::{PATTERNS, Reader};

const OPTIONS: EncodeOptions = EncodeOptions { policy: SpecialPolicy::Reject, add_special_tokens: false };
/// In characters: the slow way takes time in the square of a piece.
const TEXT_LIMIT: usize = 1_000;
const TOKEN_LIMIT: usize = 24;
/// What tokens are made of: letters, spaces and digits, and parts of wider characters.
const BYTES: &[u8] = "aabbcst' \n\t12.é中中あ🙂".as_bytes();
/// Making a pipeline costs as much as a thousand short texts, so there are a few of them, made once.
const VOCABULARIES: usize = 8;
const CASES: usize = VOCABULARIES * PATTERNS.len() * 2;

/// One pipeline and what it was made from.
struct Case {
    tokens: Vec<Vec<u8>>,
    merges: Vec<Merge>,
    ignore_merges: bool,
    pipeline: Pipeline,
}

/// Encode the input's text with the pipeline that its first bytes choose, and hold every way out against the slow one.
pub fn encode(data: &[u8]) {
    static MADE: [OnceLock<Case>; CASES] = [const { OnceLock::new() }; CASES];
    let mut reader = Reader::new(data);
    let number = reader.below(CASES);
    let case = MADE[number].get_or_init(|| make_case(number));
    // Alone on the heap, so that a sanitizer sees a byte read too far.
    let text = reader.text().chars().take(TEXT_LIMIT).collect::<String>().into_boxed_str();

    let pieces = case.pipeline.pieces(&text).unwrap();
    assert_eq!(pieces.concat(), *text, "pieces tile the text");
    let whole: HashMap<&[u8], u32> =
        case.tokens.iter().enumerate().map(|(id, bytes)| (&bytes[..], id as u32)).collect();
    let expected: Vec<u32> = pieces
        .iter()
        .flat_map(|piece| match whole.get(piece.as_bytes()) {
            Some(id) if case.ignore_merges => vec![*id],
            _ => merge_slowly(piece.as_bytes(), &case.merges),
        })
        .collect();

    for _ in 0..2 {
        let mut ids = Vec::new();
        case.pipeline.encode(&text, OPTIONS, &mut ids).unwrap();
        assert_eq!(ids, expected, "fast merges equal slow ones, cached or not");
    }
    check_ways_out(case, &text, &expected);
}

/// The pipeline of a number: every combination of vocabulary, pattern and `ignore_merges`.
fn make_case(number: usize) -> Case {
    let (pattern, ignore_merges) = (PATTERNS[number % PATTERNS.len()], number / PATTERNS.len() % 2 == 1);
    let seed = number / (PATTERNS.len() * 2);
    let (tokens, merges) = vocabulary(seed as u64);
    let config = format!(
        r#"{{"pretokenizer":[{{"type":"split","pattern":{{"name":"{pattern}"}},"behavior":"isolated"}}],
            "ignore_merges":{ignore_merges}}}"#
    );
    let numbered = tokens.iter().enumerate().map(|(id, bytes)| (id as u32, bytes.clone())).collect();
    let built = Arc::new(Vocabulary::new(numbered, merges.clone(), Vec::new()).unwrap());
    // Caches from far too small to ample.
    let pipeline = Pipeline::new(built, &Config::from_json(&config).unwrap(), 1 << (2 * seed + 4)).unwrap();
    Case { tokens, merges, ignore_merges, pipeline }
}

/// Bytes by id, and the merges, each joining two earlier tokens into a new one; larger seeds make more of them.
fn vocabulary(seed: u64) -> (Vec<Vec<u8>>, Vec<Merge>) {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let mut merges = Vec::new();
    let mut state = seed;
    // Splitmix64: any generator would do that is the same everywhere.
    let mut below = |limit: usize| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    };
    for _ in 0..100 * (seed + 1) {
        let mut part = |tokens: &[Vec<u8>]| match below(3) {
            0 if tokens.len() > 256 => 256 + below(tokens.len() - 256),
            _ => usize::from(BYTES[below(BYTES.len())]),
        };
        let (left, right) = (part(&tokens), part(&tokens));
        let product = [&tokens[left][..], &tokens[right][..]].concat();
        if product.len() <= TOKEN_LIMIT && !tokens.contains(&product) {
            merges.push(Merge { left: left as u32, right: right as u32, product: tokens.len() as u32 });
            tokens.push(product);
        }
    }
    (tokens, merges)
}

/// The definition: the lowest rank first, the leftmost among equals, until none applies.
fn merge_slowly(piece: &[u8], merges: &[Merge]) -> Vec<u32> {
    let mut ids: Vec<u32> = piece.iter().map(|byte| u32::from(*byte)).collect();
    let ranks: HashMap<[u32; 2], usize> =
        merges.iter().enumerate().map(|(rank, merge)| ([merge.left, merge.right], rank)).collect();
    let rank = |pair: &[u32]| ranks.get(&[pair[0], pair[1]]).copied();
    while let Some((rank, at)) = ids.windows(2).enumerate().filter_map(|(at, pair)| Some((rank(pair)?, at))).min() {
        ids.splice(at..at + 2, [merges[rank].product]);
    }
    ids
}

/// Count, JSON, offsets, decode and streamed decode say the same as the ids.
fn check_ways_out(case: &Case, text: &str, ids: &[u32]) {
    let Case { pipeline, tokens, .. } = case;
    let mut count = Count::default();
    pipeline.encode(text, OPTIONS, &mut count).unwrap();
    assert_eq!(count.0, ids.len());

    let mut json = Vec::new();
    write_ids(ids, &mut json);
    assert_eq!(serde_json::from_slice::<Vec<u32>>(&json).unwrap(), ids);

    assert_eq!(pipeline.tokens().decode(ids, false).unwrap(), text.as_bytes(), "decode gives the text back");
    let mut stream = StreamDecoder::default();
    let mut streamed: String = ids.iter().map(|id| stream.push(&tokens[*id as usize])).collect();
    streamed += &stream.finish();
    assert_eq!(streamed, text);

    for unit in [Unit::Byte, Unit::Char, Unit::Utf16] {
        let mut sink = Offsets::new(pipeline.tokens(), text, unit);
        pipeline.encode(text, OPTIONS, &mut sink).unwrap();
        let spans = sink.spans;
        let mut start = 0;
        for (id, span) in ids.iter().zip(spans.iter()) {
            let end = start + tokens[*id as usize].len();
            assert_eq!(*span, slow_span(text, start, end, unit), "a span is the smallest that covers the bytes");
            start = end;
        }
        assert_eq!(spans.len(), ids.len());
    }
}

/// Walk the characters of the whole text for one span.
fn slow_span(text: &str, start: usize, end: usize, unit: Unit) -> [u32; 2] {
    let size = |character: char| match unit {
        Unit::Byte => character.len_utf8(),
        Unit::Char => 1,
        Unit::Utf16 => character.len_utf16(),
    };
    if unit == Unit::Byte {
        return [start as u32, end as u32];
    }
    let (mut from, mut to, mut units) = (0, 0, 0);
    for (at, character) in text.char_indices() {
        if at <= start {
            from = units;
        }
        units += size(character);
        if at < end {
            to = units;
        }
    }
    [from as u32, to as u32]
}
