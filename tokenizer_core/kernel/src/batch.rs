//! Many texts at once over scoped threads; ids do not depend on how many there are.

use crate::buffer::Buffer;
use crate::encode::{EncodeOptions, Pipeline};
use crate::error::Result;
use crate::scratch::Scratch;
use crate::spread::threads_for;

/// Text that one thread takes at a time, in bytes: large against the taking, small against a batch.
const SHARE: usize = 64 * 1024;

/// The ids of all rows one after the other, and where each row begins (one entry more than rows).
#[derive(Debug)]
pub struct Batch {
    /// Ids of all rows.
    pub ids: Buffer<u32>,
    /// `row_offsets[row]..row_offsets[row + 1]` is a row.
    pub row_offsets: Vec<i64>,
}

impl Batch {
    fn new(ids: Buffer<u32>, rows: usize) -> Self {
        let mut row_offsets = Vec::with_capacity(rows + 1);
        row_offsets.push(0);
        Self { ids, row_offsets }
    }

    fn append(&mut self, other: Self) {
        let base = self.ids.len() as i64;
        self.ids.extend_from_slice(&other.ids);
        self.row_offsets.extend(other.row_offsets[1..].iter().map(|offset| base + offset));
    }
}

impl Pipeline {
    /// Encode every text; `threads` 0 means one a core.
    ///
    /// # Errors
    /// As [`Pipeline::encode`], of the first row that fails, with its row.
    pub fn encode_batch(&self, texts: &[&str], options: EncodeOptions, threads: usize) -> Result<Batch> {
        self.scratch().with(|scratch| self.encode_texts(texts, options, threads, scratch))
    }

    fn encode_texts(
        &self,
        texts: &[&str],
        options: EncodeOptions,
        threads: usize,
        scratch: &mut Scratch,
    ) -> Result<Batch> {
        let shares = shares(texts);
        // To ask how many cores there are would take longer than a short text does.
        let threads = if shares.len() < 2 { 1 } else { threads_for(threads, shares.len()) };
        if threads < 2 {
            return self.encode_rows(texts, 0, options, scratch);
        }
        let done = self.scratch().spread(scratch, threads, shares.len(), |scratch, at| {
            let share = &shares[at];
            self.encode_rows(&texts[share.clone()], share.start, options, scratch)
        })?;
        let ids = done.iter().flatten().map(|rows| rows.ids.len()).sum();
        let mut batch = Batch::new(Buffer::new(ids, ids), texts.len());
        for rows in done {
            batch.append(rows?);
        }
        Ok(batch)
    }

    fn encode_rows(
        &self,
        texts: &[&str],
        first: usize,
        options: EncodeOptions,
        scratch: &mut Scratch,
    ) -> Result<Batch> {
        let mut batch = Batch::new(Buffer::for_text(texts.iter().map(|text| text.len()).sum()), texts.len());
        for (row, text) in texts.iter().enumerate() {
            self.encode_with(scratch, text, options, &mut batch.ids).map_err(|error| error.in_row(first + row))?;
            batch.row_offsets.push(batch.ids.len() as i64);
        }
        Ok(batch)
    }
}

/// Neighbouring rows of about [`SHARE`] bytes together.
fn shares(texts: &[&str]) -> Vec<std::ops::Range<usize>> {
    let mut shares = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (row, text) in texts.iter().enumerate() {
        bytes += text.len();
        if bytes >= SHARE || row + 1 == texts.len() {
            shares.push(start..row + 1);
            (start, bytes) = (row + 1, 0);
        }
    }
    shares
}
