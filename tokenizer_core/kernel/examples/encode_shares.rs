//! Where the time of encoding goes: cutting pieces, cutting parts, looking for added tokens, and all of it; and what a
//! text costs whose pieces no cache knows yet.
//!
//! `cargo run --release --example encode_shares -- VOCABULARY PATTERN english.txt ja.txt` prints ns a byte. The
//! vocabulary is a file of ranks or a `tokenizer.json`.
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use tokd_kernel::added_tokens::{AddedTokens, Pass, SpecialPolicy};
use tokd_kernel::config::Config;
use tokd_kernel::encode::{EncodeOptions, Pipeline};
use tokd_kernel::error::Error;
use tokd_kernel::formats::{from_tiktoken, from_tokenizer_json};
use tokd_kernel::model::bpe::boundaries::{Cuts, SafeSplit};
use tokd_kernel::normalize::Normalizer;
use tokd_kernel::pretokenize::Pretokenizer;
use tokd_kernel::regex::StepBudget;
use tokd_kernel::scratch::CACHE_BYTES;
use tokd_kernel::simd::level::SimdLevel;

const ROUNDS: usize = 30;
const COLD_ROUNDS: usize = 5;
/// Enough of a file to time, so little that some of the rounds are not interrupted on a busy machine.
const BYTES: usize = 1 << 19;
/// What `benchmarks` calls cold, and what it calls small behind that.
const COLD_BYTES: usize = 2_000_000;
const SMALL_CHARACTERS: usize = 1_000;
const SMALL_TEXTS: usize = 1_000;
const OPTIONS: EncodeOptions = EncodeOptions { policy: SpecialPolicy::Parse, add_special_tokens: false };

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ranks, pattern, files @ ..] = arguments.as_slice() else { return Err("ranks, pattern and files".into()) };
    let added = (0..5).map(|at| format!(r#"{{"id":{},"content":"<|special_{at}|>","special":true}}"#, 300_000 + at));
    let config = Config::from_json(&format!(
        r#"{{"pretokenizer":[{{"type":"split","pattern":{{"name":"{pattern}"}},"behavior":"isolated"}}],
            "added_tokens":[{}]}}"#,
        added.collect::<Vec<_>>().join(",")
    ))
    .map_err(|error| error.message)?;
    let data = std::fs::read(ranks)?;
    let vocabulary = if ranks.ends_with(".json") {
        from_tokenizer_json(&data).map(|(vocabulary, _)| vocabulary)
    } else {
        from_tiktoken(&data)
    };
    let vocabulary = Arc::new(vocabulary.map_err(|error| error.message)?);
    let safe_split =
        SafeSplit::new(&vocabulary, SimdLevel::chosen().map_err(|error| error.message)?).ok_or("too many crossings")?;
    let pretokenizer = Pretokenizer::new(&config.pretokenizer).map_err(|error| error.message)?;
    let normalizer = Normalizer::new(&config.normalizer).map_err(|error| error.message)?;
    let added_tokens = AddedTokens::new(&config.added_tokens, &normalizer).map_err(|error| error.message)?;
    let pipeline = Pipeline::new(Arc::clone(&vocabulary), &config, CACHE_BYTES).map_err(|error| error.message)?;
    let columns = ["pieces", "parts", "added", "encode", "cold", "small", "missed"];
    println!("{:<14}{}", "ns a byte", columns.map(|column| format!("{column:>10}")).concat());
    for file in files {
        let whole = std::fs::read_to_string(file)?;
        let text = &whole[..border(&whole, BYTES)];
        let ends = pretokenizer
            .pieces(text, &mut StepBudget::default())
            .and_then(|pieces| pieces.ends(256))
            .map_err(|error| error.message)?;
        let ends: Vec<u32> = ends.into_iter().map(|end| end as u32).collect();
        let mut buffer = [0; 256];
        let cut = best(text, || {
            let mut steps = StepBudget::default();
            let Ok(mut pieces) = pretokenizer.pieces(text, &mut steps) else { return };
            while pieces.fill(black_box(&mut buffer)).is_ok_and(|count| count > 0) {}
        });
        let mut cuts = Cuts::default();
        let parts = best(text, || {
            let mut start = 0;
            for ends in ends.chunks(256) {
                safe_split.cut(text, start, ends, false, black_box(&mut cuts));
                start = ends[ends.len() - 1] as usize;
            }
        });
        let added = best(text, || {
            let mut segments = Vec::new();
            let _ = black_box(added_tokens.split(text, Pass::Raw, SpecialPolicy::Parse, &mut segments));
        });
        let mut ids: Vec<u32> = Vec::new();
        let encode = best(text, || {
            ids.clear();
            let _ = black_box(pipeline.encode(text, OPTIONS, &mut ids));
        });
        let name = file.rsplit('/').next().unwrap_or(file);
        let (cold, small, missed) =
            first_times(&whole, || Pipeline::new(Arc::clone(&vocabulary), &config, CACHE_BYTES))
                .map_err(|error| error.message)?;
        let shares = [cut, parts, added, encode, cold, small].map(|share| format!("{share:>10.2}"));
        println!("{name:<14}{}{missed:>10.3}", shares.concat());
    }
    Ok(())
}

/// The last border of a character up to `limit`.
fn border(text: &str, limit: usize) -> usize {
    (0..=limit.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Nanoseconds a byte of the first text of a fresh pipeline, and of small texts behind it that were not seen before,
/// and the share of pieces that no cache knew in the first.
fn first_times(whole: &str, open: impl Fn() -> Result<Pipeline, Error>) -> Result<(f64, f64, f64), Error> {
    let (first, rest) = whole.split_at(border(whole, COLD_BYTES));
    let borders: Vec<usize> = rest.char_indices().step_by(SMALL_CHARACTERS).map(|(at, _)| at).collect();
    let texts: Vec<&str> = borders.windows(2).take(SMALL_TEXTS).map(|ends| &rest[ends[0]..ends[1]]).collect();
    let bytes = texts.iter().map(|text| text.len()).sum::<usize>().max(1);
    let (mut cold, mut small, mut missed) = (f64::INFINITY, f64::INFINITY, 0.0);
    for _ in 0..COLD_ROUNDS {
        let pipeline = open()?;
        let start = Instant::now();
        pipeline.encode(first, OPTIONS, black_box(&mut Vec::new()))?;
        cold = start.elapsed().as_secs_f64().min(cold);
        let seen = pipeline.cache_statistics();
        missed = seen.misses as f64 / seen.pieces as f64;
        let start = Instant::now();
        for text in &texts {
            pipeline.encode(text, OPTIONS, black_box(&mut Vec::new()))?;
        }
        small = start.elapsed().as_secs_f64().min(small);
    }
    Ok((cold * 1e9 / first.len() as f64, small * 1e9 / bytes as f64, missed))
}

/// The best of the rounds, in nanoseconds a byte.
fn best(text: &str, mut work: impl FnMut()) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    rounds.fold(f64::INFINITY, f64::min) * 1e9 / text.len() as f64
}
