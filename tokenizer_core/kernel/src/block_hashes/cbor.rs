//! The few items of canonical CBOR (RFC 8949, section 4.2) that block hashes are made over.

/// Null.
pub const NULL: u8 = 0xF6;

/// Add the head of an item: its major type and a number in as few bytes as hold it.
fn add_head(major: u8, number: u64, bytes: &mut Vec<u8>) {
    let major = major << 5;
    match number {
        0..=23 => bytes.push(major | number as u8),
        24..=0xFF => bytes.extend([major | 24, number as u8]),
        0x100..=0xFFFF => {
            bytes.push(major | 25);
            bytes.extend((number as u16).to_be_bytes());
        }
        0x1_0000..=0xFFFF_FFFF => {
            bytes.push(major | 26);
            bytes.extend((number as u32).to_be_bytes());
        }
        _ => {
            bytes.push(major | 27);
            bytes.extend(number.to_be_bytes());
        }
    }
}

/// Add a number.
pub fn add_number(number: u64, bytes: &mut Vec<u8>) {
    add_head(0, number, bytes);
}

/// Add a string of bytes.
pub fn add_bytes(data: &[u8], bytes: &mut Vec<u8>) {
    add_head(2, data.len() as u64, bytes);
    bytes.extend(data);
}

/// Add text.
pub fn add_text(text: &str, bytes: &mut Vec<u8>) {
    add_head(3, text.len() as u64, bytes);
    bytes.extend(text.as_bytes());
}

/// Begin a list of so many items.
pub fn begin_list(length: usize, bytes: &mut Vec<u8>) {
    add_head(4, length as u64, bytes);
}

/// Begin a map of so many pairs.
pub fn begin_map(length: usize, bytes: &mut Vec<u8>) {
    add_head(5, length as u64, bytes);
}

/// Add a list of ids.
pub fn add_ids(ids: &[u32], bytes: &mut Vec<u8>) {
    begin_list(ids.len(), bytes);
    for &id in ids {
        add_number(u64::from(id), bytes);
    }
}
