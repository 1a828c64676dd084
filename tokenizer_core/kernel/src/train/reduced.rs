//! Put the counts of many files together, section by section, and leave out what is too long or too rare.

use super::counts::Counts;
use super::label::{bare, is_measured};
use super::sections::each_sum;
use crate::error::Result;
use crate::unicode::scripts;

/// The number and the size of the pieces that a bound on counts leaves out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Distinct pieces.
    pub pieces: u64,
    /// All of them, each as often as it occurs.
    pub occurrences: u64,
    /// Their bytes, each as often as it occurs.
    pub bytes: u128,
}

impl Dropped {
    fn add(&mut self, piece: &[u8], count: u64) {
        self.pieces += 1;
        self.occurrences = self.occurrences.saturating_add(count);
        self.bytes += u128::from(count) * piece.len() as u128;
    }
}

/// A sum in progress.
#[derive(Debug)]
pub struct Reduced {
    counts: Counts,
    max_piece_length: usize,
    min_count: u64,
    /// Pieces that were too long.
    pub too_long: u64,
    /// By number of script: what was too rare, and what there was.
    by_script: Vec<(Dropped, Dropped)>,
    /// The scripts of characters that many scripts share, such as digits and signs.
    shared: [u8; 3],
}

impl Reduced {
    /// Begin; pieces with more bytes, or that occur less often in all files together, are left out. Of those with
    /// labels none is that is measured.
    pub fn new(max_piece_length: usize, min_count: u64, has_labels: bool) -> Self {
        let by_script = vec![Default::default(); 1 << u8::BITS];
        let shared = [scripts::ANY, scripts::number("Common"), scripts::number("Inherited")];
        let mut counts = Counts::default();
        counts.has_labels = has_labels;
        Self { counts, max_piece_length, min_count, too_long: 0, by_script, shared }
    }

    /// Add the sections of one number of all files.
    ///
    /// # Errors
    /// As [`each_sum`].
    pub fn add(&mut self, number: usize, sections: &[&[u8]]) -> Result<()> {
        let has_labels = self.counts.has_labels;
        each_sum(number, sections, |entry, count| {
            if has_labels && is_measured(entry) {
                return self.counts.push(entry, count);
            }
            let piece = bare(entry, has_labels);
            if piece.len() > self.max_piece_length {
                self.too_long += 1;
                return;
            }
            if self.min_count > 1 {
                let (rare, all) = &mut self.by_script[usize::from(script_of(piece, &self.shared))];
                all.add(piece, count);
                if count < self.min_count {
                    return rare.add(piece, count);
                }
            }
            self.counts.push(entry, count);
        })
    }

    /// Return, for every script that there was, what was too rare, and what there was.
    pub fn dropped(&self) -> impl Iterator<Item = (&'static str, Dropped, Dropped)> {
        let scripts = self.by_script.iter().enumerate().filter(|(_, (_, all))| all.pieces > 0);
        scripts.map(|(number, (rare, all))| (scripts::name(number as u8), *rare, *all))
    }

    /// Put the pieces in order.
    pub fn finish(mut self) -> Counts {
        self.counts.sort();
        self.counts
    }
}

/// The script of the first character whose script is not shared.
fn script_of(piece: &[u8], shared: &[u8]) -> u8 {
    let (table, text) = (scripts::table(), String::from_utf8_lossy(piece));
    let mut scripts = text.chars().map(|character| table.get(u32::from(character)));
    scripts.find(|script| !shared.contains(script)).unwrap_or(scripts::ANY)
}
