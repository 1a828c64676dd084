//! Kept segments: ids never depend on what was kept, for whom, or in how much room.

use std::sync::Arc;
use std::thread;

use crate::common;
use proptest::prelude::*;
use tokd_kernel::config::Config;
use tokd_kernel::encode::Pipeline;
use tokd_kernel::segment_cache::{Owner, SegmentCache, Segments};

/// Added tokens with every flag; `MORE` are further members of the configuration.
fn pipeline(more: &str, normalized: bool) -> Pipeline {
    let token = |id: u32, content: &str, flags: &str| {
        format!(r#"{{"id":{id},"content":"{content}","special":true,"normalized":{normalized}{flags}}}"#)
    };
    let added = [
        token(900, "<a>", ""),
        token(901, "<l>", r#","lstrip":true"#),
        token(902, "<r>", r#","rstrip":true"#),
        token(903, "<w>", r#","single_word":true"#),
    ];
    let config = Config::from_json(&format!(r#"{{"added_tokens":[{}]{more}}}"#, added.join(","))).unwrap();
    let merges = [("a", "b"), ("ab", "c"), (" ", "a"), ("\n", "\n"), ("c", "a"), (">", "\n")];
    Pipeline::new(Arc::new(common::vocabulary(&merges)), &config, 1 << 16).unwrap()
}

/// Tokenizers whose segments are kept, one of which puts a space before every segment, and one before the first.
const KEPT: [&str; 3] = [
    "",
    r#","prefix_space":true,"pretokenizer":[{"type":"split","pattern":{"name":"gpt2"},"behavior":"isolated"}]"#,
    r#","pretokenizer":[{"type":"metaspace","replacement":" ","prepend":"first","split":true}]"#,
];

fn ids(pipeline: &Pipeline, parts: &[(String, bool)], guarded: bool, segments: Option<Segments<'_>>) -> Vec<u32> {
    let (mut text, mut caller) = (String::new(), Vec::new());
    for (part, is_callers) in parts {
        if *is_callers && !part.is_empty() {
            caller.push(text.len()..text.len() + part.len());
        }
        text.push_str(part);
    }
    let mut ids = Vec::new();
    pipeline.encode_rendered(&text, guarded.then_some(&caller), segments, &mut ids).unwrap();
    ids
}

fn parts() -> impl Strategy<Value = Vec<(String, bool)>> {
    let pieces = prop::sample::select(vec!["<a>", "<l>", "<r>", "<w>", "abc", " abcab", "\n", "x ", "é漢 ", "<", "a>"]);
    let text = prop::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.concat());
    prop::collection::vec((text, any::<bool>()), 0..6)
}

proptest! {
    #[test]
    fn ids_are_the_same_whatever_is_kept(chats in prop::collection::vec(parts(), 1..8), guarded: bool) {
        for more in KEPT {
            let pipeline = pipeline(more, false);
            let (full, tiny) = (SegmentCache::new(1 << 20, 1), SegmentCache::new(600, 1));
            for chat in chats.iter().chain(&chats) {
                let expected = ids(&pipeline, chat, guarded, None);
                for (cache, key) in [(&full, ""), (&full, "other"), (&tiny, "")] {
                    let segments = Some(cache.of(Owner::new(key, "")));
                    prop_assert_eq!(&ids(&pipeline, chat, guarded, segments), &expected);
                }
            }
        }
    }
}

fn long() -> [(String, bool); 3] {
    [("<a>".to_owned(), false), ("abc ".repeat(100), true), ("<a>".to_owned(), false)]
}

#[test]
fn nobody_finds_the_segments_of_another_key_salt_or_tokenizer() {
    let (one, other, cache) = (pipeline("", false), pipeline("", false), SegmentCache::new(1 << 20, 256));
    let hits = |pipeline: &Pipeline, key: &str, salt: &str| {
        let before = cache.statistics().hits;
        ids(pipeline, &long(), true, Some(cache.of(Owner::new(key, salt))));
        cache.statistics().hits - before
    };
    for (pipeline, key, salt) in [(&one, "", ""), (&one, "k", ""), (&one, "", "k"), (&one, "k", "s"), (&other, "", "")]
    {
        assert_eq!(hits(pipeline, key, salt), 0, "{key} {salt}");
        assert_eq!(hits(pipeline, key, salt), 1, "{key} {salt}");
    }
}

#[test]
fn segments_are_not_kept_where_more_than_their_text_decides_their_ids() {
    let split = r#"{"type":"split","pattern":{"regex":"b+"},"behavior":"isolated"}"#;
    let excluded = [pipeline("", true), pipeline(&format!(r#","pretokenizer":[{split}]"#), false)];
    for (name, pipeline) in ["added tokens in normalized text", "an expression of its own"].iter().zip(excluded) {
        let cache = SegmentCache::new(1 << 20, 1);
        let segments = Some(cache.of(Owner::new("", "")));
        assert_eq!(ids(&pipeline, &long(), true, segments), ids(&pipeline, &long(), true, None));
        let seen = cache.statistics();
        assert_eq!((seen.hits, seen.misses, seen.bytes), (0, 0, 0), "{name}");
    }
}

#[test]
fn the_bound_holds_under_threads_and_a_text_too_large_for_it_is_not_kept() {
    const BYTES: usize = 1 << 18;
    let (pipeline, cache) = (pipeline("", false), SegmentCache::new(BYTES, 256));
    let segments = Some(cache.of(Owner::new("", "")));
    thread::scope(|scope| {
        for own in 0..4 {
            let (pipeline, cache) = (&pipeline, &cache);
            scope.spawn(move || {
                for number in 0..500 {
                    let text = format!("{} {} ", own % 2, number % 300).repeat(100);
                    let chat = [(text, true), ("<a>".to_owned(), false)];
                    assert_eq!(ids(pipeline, &chat, true, segments), ids(pipeline, &chat, true, None));
                    assert!(cache.statistics().bytes <= BYTES as u64);
                }
            });
        }
    });
    let seen = cache.statistics();
    assert!(seen.hits > 0 && seen.bytes > BYTES as u64 / 2, "{seen:?}");
    ids(&pipeline, &[("abc".repeat(BYTES / 3), true)], true, segments);
    assert_eq!(cache.statistics(), seen);
}
