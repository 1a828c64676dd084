//! What a hot request takes from a body's bytes to the answer's, once its words are known.
//!
//! `cargo run --release --example body_speed -- RANKS PATTERN CHARACTERS english.txt ja.txt` prints microseconds a
//! request, of texts as they stand and, below, with an escape for every character beyond ASCII.
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use tokd_kernel::added_tokens::SpecialPolicy;
use tokd_kernel::config::Config;
use tokd_kernel::encode::{EncodeOptions, Pipeline};
use tokd_kernel::formats::from_tiktoken;
use tokd_kernel::json::numbers::write_ids;
use tokd_kernel::requests::{IdsLimits, IdsRequest, Route, TextRequest};
use tokd_kernel::scratch::CACHE_BYTES;

const ROUNDS: usize = 12;
const TEXTS: usize = 16;
const HEAD: &[u8] = b"{\"tokenizer\":\"sha256\",";
const LIMITS: IdsLimits = IdsLimits { ids: 1 << 24, rows: 1, values: 1 << 24 };
const OPTIONS: EncodeOptions = EncodeOptions { policy: SpecialPolicy::Parse, add_special_tokens: false };

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ranks, pattern, characters, files @ ..] = arguments.as_slice() else {
        return Err("ranks, pattern, characters and files".into());
    };
    let config = format!(
        r#"{{"pretokenizer":[{{"type":"split","pattern":{{"name":"{pattern}"}},"behavior":"isolated"}}],
            "added_tokens":[]}}"#
    );
    let config = Config::from_json(&config).map_err(|error| error.message)?;
    let vocabulary = from_tiktoken(&std::fs::read(ranks)?).map_err(|error| error.message)?;
    let pipeline = Pipeline::new(Arc::new(vocabulary), &config, CACHE_BYTES).map_err(|error| error.message)?;
    let columns = ["/encode", "/count", "/offsets", "/decode"];
    println!("{:<14}{}", "microseconds", columns.map(|column| format!("{column:>10}")).concat());
    for file in files {
        let whole: Vec<char> = std::fs::read_to_string(file)?.chars().collect();
        let texts: Vec<String> =
            whole.chunks_exact(characters.parse()?).take(TEXTS).map(|text| text.iter().collect()).collect();
        let plain: Vec<String> = texts.iter().map(|text| serde_json::json!({"text": text}).to_string()).collect();
        let escaped: Vec<String> = plain.iter().map(|body| escape(body)).collect();
        let mut lists = Vec::new();
        for text in &texts {
            let (mut ids, mut body) = (Vec::new(), b"{\"ids\":".to_vec());
            pipeline.encode(text, OPTIONS, &mut ids).map_err(|error| error.message)?;
            write_ids(&ids, &mut body);
            body.push(b'}');
            lists.push(body);
        }
        let decode = best(&lists, |body| {
            IdsRequest::read(body, LIMITS).and_then(|request| request.answer(&pipeline, HEAD).ok())
        });
        for bodies in [plain, escaped] {
            let [encode, count, offsets] = [Route::Encode, Route::Count, Route::Offsets].map(|route| {
                best(&bodies, |body| {
                    TextRequest::read(body.as_bytes(), route, 1)
                        .and_then(|request| request.answer(&pipeline, HEAD, 1).ok().flatten())
                })
            });
            let row = [encode, count, offsets, decode].map(|taken| format!("{taken:>10.1}")).concat();
            println!("{:<14}{row}", file.rsplit('/').next().unwrap_or(file));
        }
    }
    Ok(())
}

/// The same body in ASCII.
fn escape(body: &str) -> String {
    let mut units = [0; 2];
    body.chars().fold(String::new(), |mut escaped, character| {
        if character.is_ascii() {
            escaped.push(character);
        } else {
            character.encode_utf16(&mut units).iter().for_each(|unit| escaped += &format!("\\u{unit:04x}"));
        }
        escaped
    })
}

/// Microseconds for one of the bodies in the best round. A body that is not answered is no measurement.
fn best<B, A>(bodies: &[B], answer: impl Fn(&B) -> Option<A>) -> f64 {
    let round = || {
        let start = Instant::now();
        let answered = bodies.iter().filter(|body| black_box(answer(body)).is_some()).count();
        if answered == bodies.len() { start.elapsed().as_secs_f64() * 1e6 / answered as f64 } else { f64::NAN }
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, |best, taken| if taken < best { taken } else { best })
}
