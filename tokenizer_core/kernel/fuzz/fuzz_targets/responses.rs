//! See `tests/fuzz_targets/responses.rs`, which `cargo test` runs too.
#![no_main]
#![allow(dead_code, reason = "each target is one of the shared bodies")]

#[path = "../../tests/fuzz_targets/mod.rs"]
mod fuzz_targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::responses::responses(data));
