//! The distinct pieces of a corpus with their counts: the input of merging, and a counts file.
//!
//! A counts file is text: one piece a line, its count, a tab and the piece as a JSON string, the most frequent first
//! and equals in the order of their bytes.

use std::borrow::Cow;

use super::label::{bare, is_measured};
use super::skipped::Skipped;
use super::table::PieceTable;
use crate::error::{Code, Error, Result};
use crate::json::special::is_special;
use crate::json::string::write_string;
use crate::pretokenize::Pretokenizer;
use crate::regex::StepBudget;

/// Pieces that are cut together.
const BATCH: usize = 256;

/// Pieces in the order of a counts file.
#[derive(Debug, Default)]
pub struct Counts {
    arena: Vec<u8>,
    pieces: Vec<CountedPiece>,
    /// Documents counted.
    pub documents: u64,
    /// Bytes of text counted.
    pub bytes: u64,
    /// Lines left out.
    pub skipped: Skipped,
    /// Every piece has the label of its language before it; lengths are without that.
    pub has_labels: bool,
}

#[derive(Debug, Clone, Copy)]
struct CountedPiece {
    start: u64,
    count: u64,
    length: u32,
}

impl Counts {
    /// Put the pieces of a table in order.
    pub fn new(table: PieceTable, documents: u64, bytes: u64) -> Self {
        let (arena, entries) = table.into_parts();
        let pieces = entries
            .map(|(start, length, count)| CountedPiece { start, count, length })
            .filter(|piece| piece.count > 0)
            .collect();
        let mut counts = Self { arena, pieces, documents, bytes, ..Self::default() };
        counts.sort();
        counts
    }

    /// Add a piece that is not there yet, out of order.
    pub(super) fn push(&mut self, piece: &[u8], count: u64) {
        self.pieces.push(CountedPiece { start: self.arena.len() as u64, count, length: piece.len() as u32 });
        self.arena.extend_from_slice(piece);
    }

    /// Put the pieces in order.
    pub(super) fn sort(&mut self) {
        let bytes_of = |piece: &CountedPiece| slice(&self.arena, piece);
        self.pieces.sort_unstable_by(|one, other| {
            other.count.cmp(&one.count).then_with(|| bytes_of(one).cmp(bytes_of(other)))
        });
    }

    /// The number of distinct pieces.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// True without any piece.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes of all distinct pieces together.
    pub fn distinct_bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| u64::from(piece.length)).sum()
    }

    /// Bytes of memory.
    pub fn held_bytes(&self) -> u64 {
        self.distinct_bytes() + (self.len() * size_of::<CountedPiece>()) as u64
    }

    /// Bytes of all pieces to learn from, each as often as it occurs.
    pub fn counted_bytes(&self) -> u128 {
        let learned = self.iter().filter(|(piece, _)| !(self.has_labels && is_measured(piece)));
        learned.map(|(piece, count)| bare(piece, self.has_labels).len() as u128 * u128::from(count)).sum()
    }

    /// Pieces counted, each as often as it occurs.
    pub fn total(&self) -> u64 {
        self.pieces.iter().fold(0, |total, piece| total.saturating_add(piece.count))
    }

    /// A piece and its count.
    pub fn get(&self, index: usize) -> Option<(&[u8], u64)> {
        self.pieces.get(index).map(|piece| (slice(&self.arena, piece), piece.count))
    }

    /// Every piece with its count, the most frequent first.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.pieces.iter().map(|piece| (slice(&self.arena, piece), piece.count))
    }

    /// The longest piece; the most frequent of several.
    pub fn longest(&self) -> Option<&[u8]> {
        let pieces = || self.iter().map(|(piece, _)| bare(piece, self.has_labels));
        let longest = pieces().map(<[u8]>::len).max()?;
        pieces().find(|piece| piece.len() == longest)
    }

    /// Remove the pieces that `keep` refuses, and return how many they were.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], u64) -> bool) -> usize {
        let before = self.pieces.len();
        self.pieces.retain(|piece| keep(slice(&self.arena, piece), piece.count));
        before - self.pieces.len()
    }

    /// Cut every piece into smaller ones, and count those.
    ///
    /// # Errors
    /// `step_limit` or `uncovered_text` of a piece; `corpus_too_large`.
    pub fn cut(&self, pretokenizer: &Pretokenizer) -> Result<Self> {
        let (mut table, mut ends) = (PieceTable::default(), [0; BATCH]);
        for (piece, count) in self.iter() {
            let (text, mut steps, mut start) = (String::from_utf8_lossy(piece), StepBudget::default(), 0);
            let mut pieces = pretokenizer.pieces(&text, &mut steps)?;
            loop {
                let found = pieces.fill(&mut ends)?;
                if found == 0 {
                    break;
                }
                table.check_room(found)?;
                table.add_all(ends[..found].iter().map(|end| {
                    let begin = std::mem::replace(&mut start, *end as usize);
                    (&text.as_bytes()[begin..start], count)
                }));
            }
        }
        Ok(Self::new(table, self.documents, self.bytes))
    }

    /// Write the lines of the pieces in `range`, as far as there are any.
    pub fn write_lines(&self, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
        for piece in self.pieces.iter().take(range.end).skip(range.start) {
            let bytes = slice(&self.arena, piece);
            out.extend_from_slice(piece.count.to_string().as_bytes());
            out.push(b'\t');
            write_string(&String::from_utf8_lossy(bytes), out);
            out.push(b'\n');
        }
    }
}

fn slice<'a>(arena: &'a [u8], piece: &CountedPiece) -> &'a [u8] {
    &arena[piece.start as usize..][..piece.length as usize]
}

/// Call `piece` for every line of a counts file; `first_line` is the number of the first.
///
/// # Errors
/// `invalid_corpus` at `line n`.
pub fn each_line(lines: &[u8], first_line: u64, mut piece: impl FnMut(&str, u64)) -> Result<()> {
    for (line, number) in lines.split(|byte| *byte == b'\n').zip(first_line..) {
        if line.is_empty() {
            continue;
        }
        let (text, count) = read_line(line).ok_or_else(|| {
            let message = format!("line {number} is not a count, a tab and a JSON string that is not empty");
            Error::new(Code::InvalidCorpus, message).at_field(format!("line {number}"))
        })?;
        piece(&text, count);
    }
    Ok(())
}

fn read_line(line: &[u8]) -> Option<(Cow<'_, str>, u64)> {
    let tab = memchr::memchr(b'\t', line)?;
    let digits = &line[..tab];
    let plain = digits.iter().all(u8::is_ascii_digit);
    let count = plain.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()?;
    let json = &line[tab + 1..];
    let plain = json.strip_prefix(b"\"").and_then(|json| json.strip_suffix(b"\""));
    let text = match plain.filter(|text| !text.iter().any(|byte| is_special(*byte))) {
        Some(text) => Cow::Borrowed(std::str::from_utf8(text).ok()?),
        None => Cow::Owned(serde_json::from_slice(json).ok()?),
    };
    (!text.is_empty()).then_some((text, count))
}
