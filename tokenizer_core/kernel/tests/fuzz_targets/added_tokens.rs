//! Literals made from the input, found in the input's text, against a scan of every place with every literal.

use tokd_kernel::added_tokens::{AddedTokens, Pass, SpecialPolicy};
use tokd_kernel::config::AddedToken;
use tokd_kernel::error::Code;
use tokd_kernel::normalize::Normalizer;

use super::{Reader, added_token};

const LITERALS: [&str; 10] = ["<s>", "</s>", "<", "ab", "abc", "b", "é", "\u{1F600}", " ", "<|end|>"];

/// Split the input's text at the input's literals.
pub fn added_tokens(data: &[u8]) {
    let mut reader = Reader::new(data);
    let chosen = reader.below(1 << LITERALS.len());
    let plain = reader.byte() % 2 == 1;
    let mut tokens = Vec::new();
    for (at, literal) in LITERALS.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1) {
        // None is looked for in normalized text.
        let flags = reader.byte() & if plain { 1 } else { 0xF };
        tokens.push(added_token(at as u32, literal, flags));
    }
    let text = reader.text();
    let compiled = AddedTokens::new(&tokens, &Normalizer::new(&[]).unwrap()).unwrap();
    for policy in [SpecialPolicy::Parse, SpecialPolicy::Text, SpecialPolicy::Reject, SpecialPolicy::Ordinary] {
        let mut segments = Vec::new();
        let outcome = compiled.split(&text, Pass::Raw, policy, &mut segments);
        if let Err(error) = outcome {
            assert_eq!((policy, error.code), (SpecialPolicy::Reject, Code::ReservedLiteral));
            continue;
        }
        let ends: Vec<usize> = segments.iter().map(|segment| segment.bytes.end).collect();
        let starts: Vec<usize> = segments.iter().map(|segment| segment.bytes.start).collect();
        assert!(segments.iter().all(|segment| !segment.bytes.is_empty()));
        assert_eq!(starts.first().copied().unwrap_or(0), 0);
        assert_eq!(ends.last().copied().unwrap_or(0), text.len());
        assert!(starts.iter().skip(1).eq(ends.iter().take(ends.len().saturating_sub(1))), "segments tile the text");
        if plain {
            let found: Vec<_> = segments.iter().filter_map(|s| Some((s.bytes.start, s.id?))).collect();
            assert_eq!(found, scan_slowly(&text, &tokens, policy), "leftmost, then longest");
        }
    }
}

/// At each place from the left take the longest literal that stands there, and go on behind it.
pub fn scan_slowly(text: &str, tokens: &[AddedToken], policy: SpecialPolicy) -> Vec<(usize, u32)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let here = tokens.iter().filter(|token| text.as_bytes()[at..].starts_with(token.content.as_bytes()));
        // A special literal that is text still takes its place: what stands inside it is part of it.
        let Some(token) = here.max_by_key(|token| token.content.len()) else {
            at += 1;
            continue;
        };
        let wanted = match policy {
            SpecialPolicy::Ordinary => false,
            SpecialPolicy::Text => !token.special,
            SpecialPolicy::Parse | SpecialPolicy::Reject => true,
        };
        if wanted {
            found.push((at, token.id));
        }
        at += token.content.len();
    }
    found
}
