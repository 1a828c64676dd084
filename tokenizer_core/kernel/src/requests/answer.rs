//! Rows of answers, equal to those of the service's own writer.

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
