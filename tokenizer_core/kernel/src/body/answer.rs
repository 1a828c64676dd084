//! Answers as JSON bytes, equal to those of the service's own writer.

use super::plain::plain_run;
use crate::sink::output::write_number;

/// Write one value, or several in a list.
pub fn write_rows(listed: bool, rows: usize, json: &mut Vec<u8>, mut write: impl FnMut(usize, &mut Vec<u8>)) {
    if listed {
        json.push(b'[');
    }
    for row in 0..rows {
        if row > 0 {
            json.push(b',');
        }
        write(row, json);
    }
    if listed {
        json.push(b']');
    }
}

/// Write spans as a list of pairs.
pub fn write_spans(spans: &[[u32; 2]], json: &mut Vec<u8>) {
    json.reserve(spans.len() * 12 + 2);
    json.push(b'[');
    for (at, [start, end]) in spans.iter().enumerate() {
        json.extend_from_slice(if at > 0 { b",[" } else { b"[" });
        write_number(u64::from(*start), json);
        json.push(b',');
        write_number(u64::from(*end), json);
        json.push(b']');
    }
    json.push(b']');
}

/// Write a string with the escapes that JSON asks for and no other.
pub fn write_string(text: &str, json: &mut Vec<u8>) {
    json.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let at = plain_run(rest);
        json.extend_from_slice(&rest[..at]);
        let Some(byte) = rest.get(at).copied() else { break };
        match byte {
            b'"' | b'\\' => json.extend_from_slice(&[b'\\', byte]),
            b'\n' => json.extend_from_slice(b"\\n"),
            b'\r' => json.extend_from_slice(b"\\r"),
            b'\t' => json.extend_from_slice(b"\\t"),
            0x8 => json.extend_from_slice(b"\\b"),
            0xC => json.extend_from_slice(b"\\f"),
            _ => {
                let digit = b"0123456789abcdef"[usize::from(byte & 15)];
                json.extend_from_slice(&[b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), digit]);
            }
        }
        rest = &rest[at + 1..];
    }
    json.push(b'"');
}
