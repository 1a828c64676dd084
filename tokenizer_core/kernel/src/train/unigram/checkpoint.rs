//! The data that a run keeps after a round of pruning, as bytes: pieces by the numbers that they had at first, with
//! scores.
//!
//! A list is its length and then number and score of each piece, all little endian.

/// The number of each piece before the first round, and its score.
pub type ScoredIds = Vec<(u32, f64)>;

/// Write lists one after another.
pub fn write<'a>(lists: impl Iterator<Item = &'a ScoredIds>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for list in lists {
        bytes.extend((list.len() as u32).to_le_bytes());
        for (number, score) in list {
            bytes.extend(number.to_le_bytes());
            bytes.extend(score.to_le_bytes());
        }
    }
    bytes
}

/// Read lists of pieces whose numbers are below `pieces`; `None` if the bytes are not such.
pub fn read(mut bytes: &[u8], pieces: usize) -> Option<Vec<ScoredIds>> {
    let mut lists = Vec::new();
    while !bytes.is_empty() {
        let length = u32::from_le_bytes(take(&mut bytes)?) as usize;
        let piece = |_| {
            let number = u32::from_le_bytes(take(&mut bytes)?);
            let score = f64::from_le_bytes(take(&mut bytes)?);
            ((number as usize) < pieces && score.is_finite()).then_some((number, score))
        };
        lists.push((0..length).map(piece).collect::<Option<ScoredIds>>()?);
    }
    Some(lists)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}
