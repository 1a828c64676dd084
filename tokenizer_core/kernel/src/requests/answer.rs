//! Rows of answers, equal to those of the service's own writer.

/// Write a field without what stands before it.
pub fn write_field(name: &str, json: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    json.push(b'"');
    json.extend_from_slice(name.as_bytes());
    json.extend_from_slice(b"\":");
    write(json);
}

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
