//! A counting thread: it takes tasks until there are no more, and counts their pieces.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use super::jsonl::{Document, Lines, each_document};
use super::separators::Separators;
use super::skipped::{OnError, Skipped};
use super::stream::{InvalidUtf8, Texts};
use super::table::PieceTable;
use crate::config::Config;
use crate::error::{Code, Error, Result};
use crate::normalize::{Normalizer, prefix_space};
use crate::pretokenize::Pretokenizer;
use crate::regex::StepBudget;
use crate::simd::level::SimdLevel;

/// Pieces that are cut before they are counted: their text is then still in the L1 cache.
const BATCH: usize = 256;

/// The pipeline that cuts a text into pieces.
#[derive(Debug)]
pub struct CountingRules {
    /// The literals that end a document.
    pub separators: Separators,
    normalizer: Normalizer,
    prefix_space: bool,
    pretokenizer: Pretokenizer,
    invalid_utf8: InvalidUtf8,
}

impl CountingRules {
    /// Compile them.
    ///
    /// # Errors
    /// Those of the stages of the pipeline, and `invalid_option` at `special_tokens[i]`.
    pub fn new(
        config: &Config,
        special_tokens: &[String],
        invalid_utf8: InvalidUtf8,
        level: SimdLevel,
    ) -> Result<Self> {
        Ok(Self {
            separators: Separators::new(special_tokens)?,
            normalizer: Normalizer::new(&config.normalizer)?,
            prefix_space: config.prefix_space,
            pretokenizer: Pretokenizer::on_level(&config.pretokenizer, level)?,
            invalid_utf8,
        })
    }
}

/// A share of the work.
#[derive(Debug)]
pub struct Task {
    /// Its number, in the order of the input.
    pub number: u64,
    /// The index of the caller's source.
    pub source: usize,
    /// Before every piece, if it is not empty.
    pub label: Arc<str>,
    /// The documents to be counted.
    pub work: TaskKind,
}

/// Documents to be counted.
#[derive(Debug)]
pub enum TaskKind {
    /// Texts as they are.
    Texts(Texts),
    /// JSON objects, one a line, whose string `field` is a document.
    Lines {
        /// Whole lines.
        lines: Vec<u8>,
        /// Number of the first line in its file.
        first_line: u64,
        /// Its beginning in the file.
        first_byte: u64,
        /// The field's name.
        field: Arc<str>,
        /// The name of the field with the language, if it is not empty.
        language: Arc<str>,
        /// The treatment of an unreadable line.
        on_error: OnError,
    },
}

/// The state that all counting threads share.
#[derive(Debug)]
pub struct Shared {
    /// The pipeline that cuts texts into pieces.
    pub rules: CountingRules,
    tasks: Mutex<Receiver<Task>>,
    bytes: AtomicU64,
    /// Memory of the threads' tables.
    held: AtomicU64,
    failed: AtomicBool,
    cancelled: AtomicBool,
}

impl Shared {
    /// Begin with nothing counted.
    pub fn new(rules: CountingRules, tasks: Receiver<Task>) -> Self {
        Self {
            rules,
            tasks: Mutex::new(tasks),
            bytes: AtomicU64::new(0),
            held: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
        }
    }

    /// Bytes of text counted so far.
    pub fn bytes_counted(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes of memory that the pieces counted so far take.
    pub fn bytes_held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Note that tables have grown.
    pub(super) fn hold(&self, bytes: u64) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Go on with the tasks of another channel, and with empty tables.
    pub(super) fn restart(&self, tasks: Receiver<Task>) {
        *self.tasks.lock().unwrap_or_else(PoisonError::into_inner) = tasks;
        self.held.store(0, Ordering::Relaxed);
    }

    /// Tell whether a task has failed, or all were cancelled.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Let every task fail soon, also in the middle of a long text.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.failed.store(true, Ordering::Relaxed);
    }

    fn check(&self) -> Result<()> {
        match self.cancelled.load(Ordering::Relaxed) {
            true => Err(Error::new(Code::Cancelled, "the run was cancelled")),
            false => Ok(()),
        }
    }
}

/// The counts of one thread.
#[derive(Debug, Default)]
pub struct WorkerCounts {
    /// The pieces.
    pub table: PieceTable,
    /// Documents seen in lines.
    pub documents: u64,
    /// Bytes of text, separators included.
    pub bytes: u64,
    /// The first task of this thread that failed, by its number.
    pub failed: Option<(u64, Error)>,
    /// Lines left out.
    pub skipped: Skipped,
    /// Before every piece, if it is not empty.
    pub label: String,
    /// Pieces with their labels; kept for its memory.
    pub labelled: Vec<u8>,
}

impl WorkerCounts {
    /// Do tasks until there are no more.
    pub fn work(shared: &Shared) -> Self {
        Self::work_by(shared, Self::count_work)
    }

    fn work_by(shared: &Shared, count: impl Fn(&mut Self, &Shared, usize, TaskKind) -> Result<()>) -> Self {
        let died = |_| Err(Error::new(Code::Internal, "a counting thread died"));
        let mut counts = Self::default();
        loop {
            let next = shared.tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(Task { number, source, label, work }) = next else { return counts };
            if counts.failed.is_some() {
                // Tasks are still taken, since the thread that sends them would wait for ever for room in the channel.
                continue;
            }
            counts.label.clear();
            counts.label.push_str(&label);
            let (before, held) = (counts.bytes, counts.table.memory());
            // After a panic the thread goes on, for the same reason; what it has counted is then not used.
            let counted =
                catch_unwind(AssertUnwindSafe(|| count(&mut counts, shared, source, work))).unwrap_or_else(died);
            if let Err(error) = counted {
                counts.failed = Some((number, error.in_row(source)));
                shared.failed.store(true, Ordering::Relaxed);
            }
            shared.bytes.fetch_add(counts.bytes - before, Ordering::Relaxed);
            // A table never becomes smaller.
            shared.hold(counts.table.memory() - held);
        }
    }

    fn count_work(&mut self, shared: &Shared, source: usize, work: TaskKind) -> Result<()> {
        shared.check()?;
        match work {
            TaskKind::Texts(texts) => {
                let mut start = 0;
                for end in texts.ends {
                    self.count(shared, texts.text.get(start..end).unwrap_or_default())?;
                    start = end;
                }
                Ok(())
            }
            TaskKind::Lines { lines, first_line, first_byte, field, language, on_error } => {
                let lines = Lines { bytes: &lines, first_line, first_byte, field: &field, language: &language };
                each_document(lines, shared.rules.invalid_utf8, |number, document| match document {
                    Ok(Document { text, label }) => {
                        self.documents += 1;
                        self.label = label.unwrap_or_default();
                        self.count(shared, &text)
                    }
                    Err(error) if on_error == OnError::Skip => {
                        self.skipped.add(source, number, error.message);
                        Ok(())
                    }
                    Err(error) => Err(error),
                })
            }
        }
    }

    fn count(&mut self, shared: &Shared, text: &str) -> Result<()> {
        let rules = &shared.rules;
        self.bytes += text.len() as u64;
        let mut steps = StepBudget::default();
        rules.separators.between(text, |text| {
            let normalized = rules.normalizer.normalize(text, &mut steps)?;
            let text = normalized.as_ref().map_or(text, |normalized| normalized.text.as_str());
            let spaced = if rules.prefix_space { prefix_space(text) } else { None };
            self.count_pieces(shared, spaced.as_ref().map_or(text, |spaced| spaced.text.as_str()), &mut steps)
        })
    }

    fn count_pieces(&mut self, shared: &Shared, text: &str, steps: &mut StepBudget) -> Result<()> {
        if text.len() > u32::MAX as usize {
            return Err(Error::new(Code::CorpusTooLarge, "a document is longer than 4 GB; split it"));
        }
        if let Some(recut) = shared.rules.pretokenizer.recut(text, true, steps)? {
            return self.count_batches(shared, &recut.text, &recut.ends);
        }
        let mut pieces = shared.rules.pretokenizer.pieces(text, steps)?;
        let (bytes, mut start, mut ends) = (text.as_bytes(), 0, [0; BATCH]);
        loop {
            shared.check()?;
            let count = pieces.fill(&mut ends)?;
            if count == 0 {
                return Ok(());
            }
            start = self.add_all(bytes, start, &ends[..count])?;
        }
    }

    /// Count the pieces of a text that was cut and rewritten as a whole.
    fn count_batches(&mut self, shared: &Shared, text: &str, ends: &[u32]) -> Result<()> {
        let mut start = 0;
        for ends in ends.chunks(BATCH) {
            shared.check()?;
            start = self.add_all(text.as_bytes(), start, ends)?;
        }
        Ok(())
    }

    /// Count the pieces from `start` on, and return where the last of them ends.
    fn add_all(&mut self, bytes: &[u8], start: usize, ends: &[u32]) -> Result<usize> {
        let Self { table, label, labelled, .. } = self;
        table.check_room(ends.len())?;
        if label.is_empty() {
            table.add_all(pieces_of(bytes, start, ends).map(|piece| (piece, 1)));
        } else {
            labelled.clear();
            for piece in pieces_of(bytes, start, ends) {
                labelled.extend_from_slice(label.as_bytes());
                labelled.extend_from_slice(piece);
            }
            let mut rest = labelled.as_slice();
            table.add_all(pieces_of(bytes, start, ends).map(|piece| {
                let (piece, behind) = rest.split_at(label.len() + piece.len());
                rest = behind;
                (piece, 1)
            }));
        }
        Ok(ends.last().map_or(start, |end| *end as usize))
    }
}

/// The pieces of a text that begin at `start` and end at `ends`.
fn pieces_of<'t>(bytes: &'t [u8], mut start: usize, ends: &[u32]) -> impl Iterator<Item = &'t [u8]> {
    ends.iter().map(move |end| {
        let piece = &bytes[start..*end as usize];
        start = *end as usize;
        piece
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{channel, sync_channel};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_gives_out_work_does_not_wait_for_a_thread_that_dies_and_its_first_death_is_told() {
        let (tasks, receiver) = sync_channel(1);
        let config = Config::from_json("{}").expect("no stages");
        let rules = CountingRules::new(&config, &[], InvalidUtf8::Refuse, SimdLevel::Portable).expect("no stages");
        let shared = Arc::new(Shared::new(rules, receiver));
        let (done, is_done) = channel();
        // Not joined, since a failing test would wait for ever.
        thread::spawn({
            let shared = Arc::clone(&shared);
            move || drop(done.send(WorkerCounts::work_by(&shared, |_, _, _, _| panic!("as the test wants it"))))
        });
        thread::spawn(move || {
            for number in 7..27 {
                let _ = tasks.send(Task {
                    number,
                    source: 3,
                    label: Arc::from(""),
                    work: TaskKind::Texts(Texts::default()),
                });
            }
        });
        let counts = is_done.recv_timeout(Duration::from_secs(20)).expect("all work is taken");
        let (number, error) = counts.failed.expect("it died");
        assert_eq!((number, error.code), (7, Code::Internal));
        assert!(shared.has_failed());
    }
}
