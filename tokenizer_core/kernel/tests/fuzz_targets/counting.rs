//! Counting for training: however the bytes of a corpus come, against cutting each document at once.

use std::collections::HashMap;

use tokd_kernel::config::Config;
use tokd_kernel::error::Code;
use tokd_kernel::normalize::{Normalizer, prefix_space};
use tokd_kernel::pretokenize::Pretokenizer;
use tokd_kernel::regex::StepBudget;
use tokd_kernel::train::counter::Counter;
use tokd_kernel::train::counts::Counts;
use tokd_kernel::train::skipped::OnError;
use tokd_kernel::train::stream::InvalidUtf8;

use super::{PATTERNS, Reader};

const NORMALIZERS: [&str; 7] = ["", "nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip_accents"];
const SPECIALS: [&str; 4] = ["<|end|>", "<s>", "<|end", "é!"];
/// A text is given to a thread when it is as long.
const BLOCK: usize = 1 << 20;

/// Count the documents that the input holds, which 0xFF parts, fed in blocks, as lines of JSON, and as their own
/// counts.
pub fn counting(data: &[u8]) {
    let mut reader = Reader::new(data);
    let flags = reader.byte();
    let [replaces, spaced, has_specials] = [0, 1, 2].map(|bit| flags >> bit & 1 != 0);
    // One in sixteen is counted in parts, and in no other way, since that takes seconds under a sanitizer.
    let is_long = flags >= 0xF0;
    let rule = if replaces { InvalidUtf8::Replace } else { InvalidUtf8::Refuse };
    let (pattern, normalizer) = (*reader.pick(&PATTERNS), *reader.pick(&NORMALIZERS));
    let (threads, block) =
        (1 + usize::from(reader.byte() % 3), 1 + if is_long { BLOCK / 8 } else { 0 } + reader.below(20));
    let stages = if normalizer.is_empty() { String::new() } else { format!(r#"{{"type":"{normalizer}"}}"#) };
    let config = format!(
        r#"{{"normalizer":[{stages}],"prefix_space":{spaced},
            "pretokenizer":[{{"type":"split","pattern":{{"name":"{pattern}"}},"behavior":"isolated"}}]}}"#
    );
    let config = Config::from_json(&config).unwrap();
    let specials = if has_specials { SPECIALS.map(String::from).to_vec() } else { Vec::new() };
    let times = |document: &[u8]| if is_long { BLOCK / document.len().max(1) + 2 } else { 1 };
    let documents: Vec<Vec<u8>> =
        reader.rest().split(|byte| *byte == 0xFF).map(|document| document.repeat(times(document))).collect();

    let begin = || Counter::new(&config, &specials, rule, threads).unwrap();
    let fed = || {
        let mut counter = begin();
        for document in &documents {
            document.chunks(block).try_for_each(|block| counter.feed(block))?;
            counter.end_document()?;
        }
        counter.finish()
    };
    if !replaces && documents.iter().any(|document| str::from_utf8(document).is_err()) {
        assert_eq!(fed().unwrap_err().code, Code::InvalidUtf8);
        return;
    }
    let texts: Vec<String> = documents.iter().map(|document| String::from_utf8_lossy(document).into_owned()).collect();
    let truth = count_slowly(&config, &specials, &texts);
    let counts = fed().unwrap();
    assert_eq!(counted(&counts), truth);
    assert_eq!(counts.bytes, texts.iter().map(|text| text.len() as u64).sum::<u64>());
    if is_long {
        return;
    }

    let lines: Vec<String> = texts.iter().map(|text| serde_json::json!({ "text": text, "n": 1 }).to_string()).collect();
    let mut counter = begin();
    lines.join("\n").as_bytes().chunks(block).for_each(|block| counter.feed_lines(block, "text", "", OnError::Stop));
    counter.end_lines();
    let of_lines = counter.finish().unwrap();
    assert_eq!((counted(&of_lines), of_lines.documents), (truth, texts.len() as u64));

    let mut written = Vec::new();
    counts.write_lines(0..usize::MAX, &mut written);
    let mut counter = begin();
    counter.add_counts(&written, 1).unwrap();
    let again = counter.finish().unwrap();
    assert!(again.iter().eq(counts.iter()), "a counts file says what it was written from");
}

fn counted(counts: &Counts) -> HashMap<String, u64> {
    let mut all = HashMap::new();
    for (piece, count) in counts.iter() {
        assert_eq!(all.insert(str::from_utf8(piece).unwrap().to_owned(), count), None, "every piece stands once");
    }
    all
}

/// Cut each document at the special tokens, the leftmost and then the longest first, and each stretch into pieces.
fn count_slowly(config: &Config, specials: &[String], documents: &[String]) -> HashMap<String, u64> {
    let normalizer = Normalizer::new(&config.normalizer).unwrap();
    let pretokenizer = Pretokenizer::new(&config.pretokenizer).unwrap();
    let mut counts = HashMap::new();
    let mut count = |stretch: &str| {
        let mut steps = StepBudget::default();
        let normalized = normalizer.normalize(stretch, &mut steps).unwrap();
        let text = normalized.as_ref().map_or(stretch, |new| &new.text);
        let spaced = config.prefix_space.then(|| prefix_space(text)).flatten();
        let text = spaced.as_ref().map_or(text, |new| &new.text);
        let mut start = 0;
        for end in pretokenizer.pieces(text, &mut steps).unwrap().ends(100).unwrap() {
            *counts.entry(text[start..end].to_owned()).or_default() += 1;
            start = end;
        }
    };
    for document in documents {
        let (mut start, mut at) = (0, 0);
        while at < document.len() {
            let here = specials.iter().filter(|special| document.as_bytes()[at..].starts_with(special.as_bytes()));
            match here.map(String::len).max() {
                Some(length) => {
                    count(&document[start..at]);
                    (start, at) = (at + length, at + length);
                }
                None => at += 1,
            }
        }
        count(&document[start..]);
    }
    counts
}
