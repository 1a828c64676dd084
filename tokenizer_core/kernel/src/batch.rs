//! Many texts at once over threads; ids do not depend on the number of threads.

use std::ops::Range;

use crate::capacity::{for_ids, reserve};
use crate::encode::sampled::Seeded;
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
        self.each_text(texts, threads, |scratch, _, text, ids| self.encode_with(scratch, text, options, ids))
    }

    /// Encode every text into a segmentation that is drawn; `threads` 0 means one a core. Ids depend on the seed, the
    /// text and its row, and not on the threads.
    ///
    /// # Errors
    /// As [`Pipeline::sample`], of the first row that fails, with its row.
    pub fn sample_batch(
        &self,
        texts: &[&str],
        options: EncodeOptions,
        seeded: Seeded,
        threads: usize,
    ) -> Result<Batch> {
        self.check_sampling(seeded.sampling)?;
        self.each_text(texts, threads, |scratch, row, text, ids| {
            self.sample_with(scratch, text, row, options, seeded, ids)
        })
    }

    /// Append the ids of every text as `encode` does, which gets its row.
    fn each_text<E>(&self, texts: &[&str], threads: usize, encode: E) -> Result<Batch>
    where
        E: Fn(&mut Scratch, usize, &str, &mut Vec<u32>) -> Result<()> + Sync,
    {
        self.scratch().with(|scratch| self.spread_texts(texts, threads, scratch, &encode))
    }

    fn spread_texts<E>(&self, texts: &[&str], threads: usize, scratch: &mut Scratch, encode: &E) -> Result<Batch>
    where
        E: Fn(&mut Scratch, usize, &str, &mut Vec<u32>) -> Result<()> + Sync,
    {
        let bytes = bytes_of(texts);
        let shares = if bytes > WORTHWHILE && threads != 1 { shares(texts) } else { Vec::new() };
        // Asking for the number of cores would take longer than a short text does.
        let threads = match shares.len() {
            0 | 1 => 1,
            several => self.scratch().threads_for(threads, several.min(bytes.div_ceil(WORTHWHILE))),
        };
        if threads < 2 {
            let mut batch = Batch::with_room(texts.len(), bytes);
            return append_rows(texts, 0, scratch, &mut batch, encode).map(|()| batch);
        }
        let work = |scratch: &mut Scratch, at: usize| {
            let rows = &shares[at];
            let texts = &texts[rows.clone()];
            let mut batch = Batch::with_room(texts.len(), bytes_of(texts));
            append_rows(texts, rows.start, scratch, &mut batch, encode).map(|()| batch)
        };
        let mut batch = Batch::with_room(texts.len(), bytes);
        for share in self.scratch().spread(scratch, threads, shares.len(), work)? {
            batch.append(&share?);
        }
        Ok(batch)
    }
}

/// Append the ids of rows, of which the first is the batch's row `first`.
fn append_rows(
    texts: &[&str],
    first: usize,
    scratch: &mut Scratch,
    batch: &mut Batch,
    encode: &impl Fn(&mut Scratch, usize, &str, &mut Vec<u32>) -> Result<()>,
) -> Result<()> {
    for (row, text) in (first..).zip(texts) {
        encode(scratch, row, text, &mut batch.ids).map_err(|error| error.in_row(row))?;
        batch.row_offsets.push(batch.ids.len() as i64);
    }
    Ok(())
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
