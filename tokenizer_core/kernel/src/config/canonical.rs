//! One stage by itself: its JSON with every default filled in, or the field that is wrong.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{DecoderStage, ModelConfig, NormalizerStage, PretokenizerStage};
use crate::error::{Code, Error, Result};

/// Write a stage of a `part` (`normalizer`, `pretokenizer`, `model`, `decoder`) with all its fields.
///
/// # Errors
/// `invalid_option` at the first field that the stage does not have, or has otherwise.
pub fn canonical(part: &str, stage: &str) -> Result<String> {
    match part {
        "normalizer" => written::<NormalizerStage>(stage),
        "pretokenizer" => written::<PretokenizerStage>(stage),
        "model" => written::<ModelConfig>(stage),
        "decoder" => written::<DecoderStage>(stage),
        _ => Err(Error::new(Code::InvalidOption, "a pipeline has no such part").at_field("part")),
    }
}

fn written<T: DeserializeOwned + Serialize>(stage: &str) -> Result<String> {
    let read = serde_json::from_str::<T>(stage).and_then(|stage| serde_json::to_string(&stage));
    read.map_err(|error| {
        serde_json::from_str(stage)
            .map_or_else(|_| Error::new(Code::InvalidOption, error.to_string()), |stage| refusal::<T>(&stage))
    })
}

fn refusal<T: DeserializeOwned>(stage: &Map<String, Value>) -> Error {
    let found = match serde_json::from_value::<T>(Value::Object(stage.clone())) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let missing = found.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    let field = missing.map_or_else(|| first_wrong::<T>(stage, &found), str::to_owned);
    let message = match found.split_once(", expected ") {
        Some((given, wanted)) => {
            let value = given.split_once(": ").map_or(given, |(_, value)| value);
            format!("{field} is {wanted}, not {}", value.trim_start_matches("unknown variant "))
        }
        None => format!("{field} is {}", if missing.is_some() { "missing" } else { &found }),
    };
    Error::new(Code::InvalidOption, message).at_field(field)
}

/// The field, or the item of its list, with which the `error` first comes: serde does not tell.
fn first_wrong<T: DeserializeOwned>(stage: &Map<String, Value>, error: &str) -> String {
    let fails = |seen: &Map<String, Value>| {
        serde_json::from_value::<T>(Value::Object(seen.clone())).is_err_and(|other| other.to_string() == error)
    };
    let mut seen: Map<String, Value> = stage.iter().filter(|(name, _)| *name == "type").map(owned).collect();
    if fails(&seen) {
        return "type".to_owned();
    }
    for (name, value) in stage {
        if let Value::Array(items) = value {
            let lengths: Vec<usize> = (0..=items.len()).collect();
            let sound = lengths.partition_point(|&length| {
                seen.insert(name.clone(), Value::Array(items[..length].to_vec()));
                !fails(&seen)
            });
            if (1..=items.len()).contains(&sound) {
                return format!("{name}[{}]", sound - 1);
            }
        }
        seen.insert(name.clone(), value.clone());
        if fails(&seen) {
            return name.clone();
        }
    }
    "type".to_owned()
}

fn owned((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}
