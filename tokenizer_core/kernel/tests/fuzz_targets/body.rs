//! Bodies that anybody may send: what is taken is JSON, means what serde reads in it, and is answered in JSON.

use std::sync::OnceLock;

use serde_json::Value;
use tokd_kernel::config::Config;
use tokd_kernel::encode::Pipeline;
use tokd_kernel::requests::{IdsLimits, IdsRequest, Route, TextRequest};

use super::pipeline_of_bytes;

/// Read the input as the body of every route.
pub fn body(data: &[u8]) {
    // Made once, as that takes far longer than a body.
    static MADE: OnceLock<Pipeline> = OnceLock::new();
    let pipeline = MADE.get_or_init(|| pipeline_of_bytes(&Config::default()));
    for route in [Route::Encode, Route::Count, Route::Offsets] {
        let Some(request) = TextRequest::read(data, route, 100) else { continue };
        let asked: Value = serde_json::from_slice(data).unwrap();
        let answer = request.answer(pipeline, b"{", 1).unwrap().unwrap();
        let answered: Value = serde_json::from_slice(&answer.json).unwrap();
        // Without merges an id is a byte.
        if let Some(ids) = answered.get("ids") {
            let texts = &asked["text"];
            // One text alone may have no ids, as a list of no texts has.
            let ids = if texts.is_array() { each(ids, bytes_of) } else { vec![bytes_of(ids)] };
            assert_eq!(ids, each(texts, |text| text.as_str().unwrap().as_bytes().to_vec()));
        }
        assert_eq!(request.tokenizer(), asked.get("tokenizer").and_then(Value::as_str));
    }
    let limits = IdsLimits { ids: 50, rows: 5, values: 80 };
    if let Some(request) = IdsRequest::read(data, limits) {
        let asked: Value = serde_json::from_slice(data).unwrap();
        if let Ok(answer) = request.answer(pipeline, b"{") {
            let answered: Value = serde_json::from_slice(&answer.json).unwrap();
            let decoded = each_list(&asked["ids"], |ids| String::from_utf8_lossy(&bytes_of(ids)).into_owned());
            assert_eq!(each(&answered["text"], |text| text.as_str().unwrap().to_owned()), decoded);
        }
    }
}

fn bytes_of(ids: &Value) -> Vec<u8> {
    ids.as_array().unwrap().iter().map(|id| u8::try_from(id.as_u64().unwrap()).unwrap()).collect()
}

/// The rows of a value that is a list of rows, or one row that is not a list.
fn each<T>(value: &Value, read: impl Fn(&Value) -> T) -> Vec<T> {
    match value {
        Value::Array(rows) => rows.iter().map(read).collect(),
        one => vec![read(one)],
    }
}

fn each_list<T>(value: &Value, read: impl Fn(&Value) -> T) -> Vec<T> {
    match value {
        Value::Array(rows) if rows.first().is_some_and(Value::is_array) => rows.iter().map(read).collect(),
        one => vec![read(one)],
    }
}
