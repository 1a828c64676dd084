//! Where the time of encoding goes: cutting pieces, cutting parts, looking for added tokens, and all of it.
//!
//! `cargo run --release --example encode_shares -- ranks.tiktoken PATTERN english.txt ja.txt` prints ns a byte.
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use tokd_kernel::added_tokens::{AddedTokens, Pass, SpecialPolicy};
use tokd_kernel::config::Config;
use tokd_kernel::encode::{EncodeOptions, Pipeline};
use tokd_kernel::load::from_tiktoken;
use tokd_kernel::normalize::Normalizer;
use tokd_kernel::path::Path;
use tokd_kernel::pretokenize::Pretokenizer;
use tokd_kernel::safe_split::{Cuts, SafeSplit};

const ROUNDS: usize = 30;
/// Enough of a file to time, so little that some of the rounds are not interrupted on a busy machine.
const BYTES: usize = 1 << 19;
const CACHE_BYTES: usize = 8 << 20;
const OPTIONS: EncodeOptions = EncodeOptions { policy: SpecialPolicy::Parse, add_special_tokens: false };

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ranks, pattern, files @ ..] = arguments.as_slice() else { return Err("ranks, pattern and files".into()) };
    let added = (0..5).map(|at| format!(r#"{{"id":{},"content":"<|special_{at}|>","special":true}}"#, 300_000 + at));
    let config = Config::from_json(&format!(
        r#"{{"pretokenizer":[{{"type":"split","pattern":{{"name":"{pattern}"}},"behavior":"isolated"}}],"added_tokens":[{}]}}"#,
        added.collect::<Vec<_>>().join(",")
    ))
    .map_err(|error| error.message)?;
    let vocabulary = Arc::new(from_tiktoken(&std::fs::read(ranks)?).map_err(|error| error.message)?);
    let safe_split =
        SafeSplit::new(&vocabulary, Path::chosen().map_err(|error| error.message)?).ok_or("too many crossings")?;
    let pretokenizer = Pretokenizer::new(&config.pretokenizer).map_err(|error| error.message)?;
    let normalizer = Normalizer::new(&config.normalizer).map_err(|error| error.message)?;
    let added_tokens = AddedTokens::new(&config.added_tokens, &normalizer).map_err(|error| error.message)?;
    let pipeline = Pipeline::new(Arc::clone(&vocabulary), &config, CACHE_BYTES).map_err(|error| error.message)?;
    println!("{:<14}{:>10}{:>10}{:>10}{:>10}{:>10}", "ns a byte", "pieces", "parts", "added", "encode", "MB/s");
    for file in files {
        let whole = std::fs::read_to_string(file)?;
        let text = &whole[..(0..=BYTES.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or(0)];
        let ends = pretokenizer.pieces(text).and_then(|pieces| pieces.ends(256)).map_err(|error| error.message)?;
        let ends: Vec<u32> = ends.into_iter().map(|end| end as u32).collect();
        let mut buffer = [0; 256];
        let cut = best(text, || {
            let Ok(mut pieces) = pretokenizer.pieces(text) else { return };
            while pieces.fill(black_box(&mut buffer)).is_ok_and(|count| count > 0) {}
        });
        let mut cuts = Cuts::default();
        let parts = best(text, || {
            let mut start = 0;
            for ends in ends.chunks(256) {
                safe_split.cut(text, start, ends, black_box(&mut cuts));
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
        println!("{name:<14}{cut:>10.2}{parts:>10.2}{added:>10.2}{encode:>10.2}{:>10.0}", 1000.0 / encode);
    }
    Ok(())
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
