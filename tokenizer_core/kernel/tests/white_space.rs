//! Runs of white space against their merges one by one, with merges that join some of it and with none.

use std::sync::Arc;

use crate::common;
use tokd_kernel::added_tokens::SpecialPolicy;
use tokd_kernel::config::Config;
use tokd_kernel::encode::{EncodeOptions, Pipeline};
use tokd_kernel::output::count::Count;
use tokd_kernel::vocabulary::Vocabulary;

const OPTIONS: EncodeOptions = EncodeOptions { policy: SpecialPolicy::Reject, add_special_tokens: false };

/// Pieces are runs of white space, all of a run, and what is between.
const CONFIG: &str = r#"{"pretokenizer":[{"type":"split","pattern":{"regex":"\\s+|\\S+"},"behavior":"isolated"}]}"#;

/// A run of `length` bytes of each kind: spaces, with newlines or others before, within, at the end, side by side,
/// apart.
fn runs(length: usize) -> impl Iterator<Item = String> {
    let places =
        [vec![], vec![0], vec![0, 1], vec![8], vec![length / 2], vec![length - 1], vec![length / 2, length / 2 + 1]];
    let often = (0..length).filter(|at| at % 7 == 0).collect();
    let across = [vec![15, 16], vec![63, 64], vec![62, 65], (0..length).collect(), often];
    places.into_iter().chain(across).flat_map(move |places| {
        [b'\n', b'\t', b'\r'].map(|other| {
            let mut run = vec![b' '; length];
            places.iter().filter(|at| **at < length).for_each(|at| run[*at] = other);
            String::from_utf8(run).unwrap()
        })
    })
}

/// Texts of runs of every length, and what they become.
fn check(vocabulary: &Vocabulary, lengths: impl Iterator<Item = usize>, truth: impl Fn(&[u8]) -> Vec<u32>) {
    let pipeline = Pipeline::new(Arc::new(vocabulary.clone()), &Config::from_json(CONFIG).unwrap(), 1 << 16).unwrap();
    let between = truth(b"a");
    for length in lengths {
        let runs: Vec<String> = runs(length).collect();
        // So many that a block has no room for all ids, and one more at the end of the text.
        let text = runs.join("a");
        let ids: Vec<Vec<u32>> = runs.iter().map(|run| truth(run.as_bytes())).collect();
        for _ in 0..2 {
            let (mut found, mut count) = (Vec::new(), Count(0));
            pipeline.encode(&text, OPTIONS, &mut found).unwrap();
            pipeline.encode(&text, OPTIONS, &mut count).unwrap();
            assert_eq!(found, ids.join(&between[..]), "runs of {length}");
            assert_eq!(count.0, found.len());
        }
    }
}

#[test]
fn a_run_of_any_length_has_an_id_a_byte_where_nothing_joins_white_space() {
    let vocabulary = common::renumbered(&common::vocabulary(&[("a", "b")]), |id| id * 1000 + 7);
    check(&vocabulary, 1..=600, |run| run.iter().map(|byte| u32::from(*byte) * 1000 + 7).collect());
}

#[test]
fn a_run_is_merged_where_anything_joins_white_space() {
    let lists: [&[(&str, &str)]; 9] = [
        &[("\n", "\n")],
        &[(" ", " ")],
        &[(" ", "\n")],
        &[("\n", " ")],
        &[("\n", "\n"), ("\n\n", " ")],
        &[("\n", "\n"), (" ", "\n\n")],
        &[("\t", "\t"), (" ", "\t"), ("\r", "\n")],
        &[(" ", " "), ("  ", "  "), ("\n", "    ")],
        &[(" ", "a"), ("\n", "a")],
    ];
    for merges in lists {
        let vocabulary = common::vocabulary(merges);
        let lengths = (1..=40).chain([63, 64, 65, 66, 127, 128, 255, 256, 257]);
        check(&vocabulary, lengths, |run| common::merge_slowly(&vocabulary, run));
    }
}

#[test]
fn a_run_that_is_a_token_is_taken_whole_where_merges_are_ignored() {
    for run in ["\n         ", "            ", "\n                   ", "                                        "] {
        let drawn = common::vocabulary(&[]);
        let mut tokens: Vec<(u32, Vec<u8>)> = drawn.tokens().map(|(id, bytes)| (id, bytes.to_vec())).collect();
        tokens.push((256, run.as_bytes().to_vec()));
        let vocabulary = Arc::new(Vocabulary::new(tokens, Vec::new(), Vec::new()).unwrap());
        let config = Config { ignore_merges: true, ..Config::from_json(CONFIG).unwrap() };
        let pipeline = Pipeline::new(vocabulary, &config, 1 << 16).unwrap();
        let mut ids = Vec::new();
        pipeline.encode(&format!("a{run}a{run} a"), OPTIONS, &mut ids).unwrap();
        let truth: Vec<u32> = [vec![97, 256, 97], format!("{run} a").bytes().map(u32::from).collect()].concat();
        assert_eq!(ids, truth);
    }
}
