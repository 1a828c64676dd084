//! Many texts at once over threads; ids do not depend on the number of threads.

use std::ops::Range;

use crate::capacity::{for_ids, reserve};
use crate::encode::{EncodeOptions, Pipeline};
use crate::error::Result;
use crate::scratch::Scratch;

/// Text that is worth a thread, in bytes: a call waits for all threads that it starts, even where no core is free.
const WORTHWHILE: usize = 128 * 1024;

/// Text that a thread takes at a time, in bytes: enough to be worth taking, and small enough that all threads end at
/// about the same time.
const SHARE: usize = 16 * 1024;

/// The ids of all rows one after the other, and where each row begins (one entry more than rows).
#[derive(Debug)]
pub struct Batch {
    /// Ids of all rows.
    pub ids: Vec<u32>,
    /// `row_offsets[row]..row_offsets[row + 1]` is a row.
    pub row_offsets: Vec<i64>,
}

impl Batch {
    /// Room for `rows` rows of `bytes` bytes together.
    fn with_room(rows: usize, bytes: usize) -> Self {
        let mut row_offsets = Vec::with_capacity(rows + 1);
        row_offsets.push(0);
        Self { ids: for_ids(bytes), row_offsets }
    }

    fn append(&mut self, other: &Self) {
        let base = self.ids.len() as i64;
        reserve(&mut self.ids, other.ids.len());
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
        let bytes = bytes_of(texts);
        let shares = if bytes > WORTHWHILE && threads != 1 { shares(texts) } else { Vec::new() };
        // Asking for the number of cores would take longer than a short text does.
        let threads = match shares.len() {
            0 | 1 => 1,
            several => self.scratch().threads_for(threads, several.min(bytes.div_ceil(WORTHWHILE))),
        };
        if threads < 2 {
            let mut batch = Batch::with_room(texts.len(), bytes);
            return self.encode_rows(texts, 0, options, scratch, &mut batch).map(|()| batch);
        }
        let work = |scratch: &mut Scratch, at: usize| {
            let rows = &shares[at];
            let texts = &texts[rows.clone()];
            let mut batch = Batch::with_room(texts.len(), bytes_of(texts));
            self.encode_rows(texts, rows.start, options, scratch, &mut batch).map(|()| batch)
        };
        let mut batch = Batch::with_room(texts.len(), bytes);
        for share in self.scratch().spread(scratch, threads, shares.len(), work)? {
            batch.append(&share?);
        }
        Ok(batch)
    }

    /// Append the ids of rows, of which the first is the batch's row `first`.
    fn encode_rows(
        &self,
        texts: &[&str],
        first: usize,
        options: EncodeOptions,
        scratch: &mut Scratch,
        batch: &mut Batch,
    ) -> Result<()> {
        for (row, text) in texts.iter().enumerate() {
            self.encode_with(scratch, text, options, &mut batch.ids).map_err(|error| error.in_row(first + row))?;
            batch.row_offsets.push(batch.ids.len() as i64);
        }
        Ok(())
    }
}

fn bytes_of(texts: &[&str]) -> usize {
    texts.iter().map(|text| text.len()).sum()
}

/// Neighbouring rows of about [`SHARE`] bytes together.
fn shares(texts: &[&str]) -> Vec<Range<usize>> {
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
