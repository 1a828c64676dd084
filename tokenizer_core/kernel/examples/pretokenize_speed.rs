//! Time the scanners alone: each pattern on each path that this machine has, in turn, over the files named.
//!
//! `cargo run --release --example pretokenize_speed -- english.txt ja.txt` prints MB/s: the best of the rounds.
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use std::hint::black_box;
use std::time::Instant;

use tokd_kernel::config::{Behavior, Pattern, PretokenizerStage};
use tokd_kernel::pretokenize::Pretokenizer;
use tokd_kernel::regex::StepBudget;
use tokd_kernel::simd::level::SimdLevel;

const PATTERNS: [&str; 4] = ["gpt2", "cl100k_base", "o200k_base", "qwen2"];
/// Enough of a file to time, so little that some of the rounds are not interrupted on a busy machine.
const BYTES: usize = 1 << 19;
const ROUNDS: usize = 40;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    println!("{:<14}{:<10}{}", "file", "level", PATTERNS.map(|name| format!("{name:>12}")).concat());
    for file in std::env::args().skip(1) {
        let whole = std::fs::read_to_string(&file)?;
        let text = &whole[..(0..=BYTES.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or(0)];
        let name = file.rsplit('/').next().unwrap_or(&file);
        let levels: Vec<SimdLevel> = SimdLevel::available().collect();
        let mut best = vec![[f64::INFINITY; PATTERNS.len()]; levels.len()];
        for _ in 0..ROUNDS {
            for (level, best) in levels.iter().zip(&mut best) {
                for (pattern, best) in PATTERNS.iter().zip(best) {
                    *best = best.min(seconds(text, pattern, *level)?);
                }
            }
        }
        for (level, best) in levels.iter().zip(&best) {
            let speeds = best.map(|seconds| format!("{:>12.0}", text.len() as f64 / seconds / 1e6));
            println!("{name:<14}{:<10}{}", level.name(), speeds.concat());
        }
    }
    Ok(())
}

/// The time to cut the whole text once.
fn seconds(text: &str, pattern: &str, level: SimdLevel) -> Result<f64, Failure> {
    let pattern = Pattern::Name(pattern.to_owned());
    let stage = PretokenizerStage::Split { pattern, behavior: Behavior::Isolated, invert: false };
    let pretokenizer = Pretokenizer::on_level(&[stage], level).map_err(|error| error.message)?;
    let mut steps = StepBudget::default();
    let (mut pieces, mut ends) = (pretokenizer.pieces(text, &mut steps).map_err(|error| error.message)?, [0; 256]);
    let start = Instant::now();
    while pieces.fill(black_box(&mut ends)).map_err(|error| error.message)? > 0 {}
    Ok(start.elapsed().as_secs_f64())
}
