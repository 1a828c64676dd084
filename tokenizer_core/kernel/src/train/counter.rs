//! Count the pieces of texts on several threads; the counts do not depend on their number.
//!
//! Each thread has a table of its own, so memory grows with the distinct pieces and not with the text. The sum of the
//! tables is the same however the texts were spread over the threads.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::counts::{Counts, each_line};
use super::cut::places;
use super::label::{label, labelled};
use super::skipped::OnError;
use super::stream::{InvalidUtf8, Stream};
use super::table::PieceTable;
use super::worker::{CountingRules, Shared, Task, TaskKind, WorkerCounts};
use crate::config::Config;
use crate::error::{Code, Error, Result};
use crate::parallel::core_count;
use crate::simd::level::SimdLevel;

/// Tasks that wait in the channel, for each thread.
const WAITING: usize = 2;

/// Lines are taken in blocks of about this many bytes.
const BLOCK: usize = 1 << 20;

/// A count in progress.
#[derive(Debug)]
pub struct Counter {
    shared: Arc<Shared>,
    stream: Stream,
    tasks: Option<SyncSender<Task>>,
    threads: Vec<JoinHandle<WorkerCounts>>,
    next_task: u64,
    source: usize,
    label: Arc<str>,
    has_labels: bool,
    lines: LineTally,
    /// Counts read from a counts file.
    given: PieceTable,
    /// Documents that ended in the stream.
    documents: u64,
}

/// A file of lines being read.
#[derive(Debug, Default)]
struct LineTally {
    waiting: Vec<u8>,
    /// The length of the whole lines of `waiting`.
    whole: usize,
    field: Arc<str>,
    language: Arc<str>,
    on_error: OnError,
    /// Lines and bytes sent to the threads so far.
    lines: u64,
    bytes: u64,
}

impl Counter {
    /// Begin; `threads` 0 means one a core.
    ///
    /// # Errors
    /// As [`Self::on_level`], and those of [`SimdLevel::chosen`].
    pub fn new(config: &Config, special_tokens: &[String], invalid_utf8: InvalidUtf8, threads: usize) -> Result<Self> {
        Self::on_level(config, special_tokens, invalid_utf8, threads, SimdLevel::chosen()?)
    }

    /// As [`Self::new`], for the instructions of `path`, or the portable ones if the machine lacks it.
    ///
    /// # Errors
    /// Those of the stages of the pipeline, and `invalid_option` at `special_tokens[i]`.
    pub fn on_level(
        config: &Config,
        special_tokens: &[String],
        invalid_utf8: InvalidUtf8,
        threads: usize,
        level: SimdLevel,
    ) -> Result<Self> {
        let cores = core_count();
        let threads = if threads == 0 { cores } else { threads.min(cores * 4) };
        let (tasks, receiver) = sync_channel(threads * WAITING);
        let shared = Arc::new(Shared::new(CountingRules::new(config, special_tokens, invalid_utf8, level)?, receiver));
        let threads = spawn(&shared, threads)?;
        Ok(Self {
            stream: Stream::new(invalid_utf8, places(config)),
            shared,
            tasks: Some(tasks),
            threads,
            next_task: 0,
            source: 0,
            label: Arc::from(""),
            has_labels: false,
            lines: LineTally::default(),
            given: PieceTable::default(),
            documents: 0,
        })
    }

    /// Count the pieces of each language apart: with the label of the language.
    pub fn with_labels(self) -> Self {
        Self { has_labels: true, ..self }
    }

    /// Say of which language the documents are that come next, unless their lines say it, and whether they are measured
    /// and not learned from.
    ///
    /// # Errors
    /// `invalid_corpus` for a name that no language can have.
    pub fn begin_language(&mut self, name: &str, is_measured: bool) -> Result<()> {
        let label = label(name, is_measured).map_err(|error| error.in_row(self.source))?;
        if *self.label != *label {
            self.send_texts(true);
            self.label = Arc::from(label);
        }
        Ok(())
    }

    /// The state that the threads share, for watching and cancelling them.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Say which of the caller's sources comes next, and how many bytes and lines of it are not given: errors name it
    /// as their row, and places in the whole of it.
    pub fn begin_source(&mut self, source: usize, bytes: u64, lines: u64) {
        self.source = source;
        self.stream.begin_at(bytes);
        self.lines = LineTally { lines, bytes, ..LineTally::default() };
    }

    /// Take the next bytes of a document.
    ///
    /// # Errors
    /// `invalid_utf8` at the byte of the document, with the source.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<()> {
        for block in bytes.chunks(BLOCK) {
            self.stream.feed(block).map_err(|error| error.in_row(self.source))?;
            self.send_texts(false);
        }
        Ok(())
    }

    /// End the document.
    ///
    /// # Errors
    /// `invalid_utf8` when it ends inside a character.
    pub fn end_document(&mut self) -> Result<()> {
        self.stream.end_document().map_err(|error| error.in_row(self.source))?;
        self.documents += 1;
        self.send_texts(false);
        Ok(())
    }

    /// Take the next bytes of a file with one JSON object a line, whose string `field` is a document, and `language`,
    /// if it is not empty, the language of that.
    pub fn feed_lines(&mut self, bytes: &[u8], field: &str, language: &str, on_error: OnError) {
        self.lines.on_error = on_error;
        if *self.lines.language != *language {
            self.lines.language = Arc::from(language);
        }
        if *self.lines.field != *field {
            self.lines.field = Arc::from(field);
        }
        for block in bytes.chunks(BLOCK) {
            // Only the new block is searched: what waits can be one long line, which must not be searched again with
            // every block.
            if let Some(end) = memchr::memrchr(b'\n', block) {
                self.lines.whole = self.lines.waiting.len() + end + 1;
            }
            self.lines.waiting.extend_from_slice(block);
            if self.lines.waiting.len() >= BLOCK && self.lines.whole > 0 {
                let rest = self.lines.waiting.split_off(std::mem::take(&mut self.lines.whole));
                let lines = std::mem::replace(&mut self.lines.waiting, rest);
                self.send_lines(lines);
            }
        }
    }

    /// End the file of lines.
    pub fn end_lines(&mut self) {
        let lines = std::mem::take(&mut self.lines.waiting);
        if !lines.is_empty() {
            self.send_lines(lines);
        }
        self.lines = LineTally::default();
    }

    /// Add whole lines of a counts file; `first_line` is the number of the first.
    ///
    /// # Errors
    /// `invalid_corpus` at the line, `corpus_too_large`.
    pub fn add_counts(&mut self, lines: &[u8], first_line: u64) -> Result<()> {
        self.given.check_room(memchr::memchr_iter(b'\n', lines).count() + 1)?;
        let held = self.given.memory();
        let mut has_all_labels = true;
        each_line(lines, first_line, |piece, count| {
            has_all_labels &= labelled(piece.as_bytes()).is_some();
            self.given.add(piece.as_bytes(), count);
        })
        .map_err(|error| error.in_row(self.source))?;
        if self.has_labels && !has_all_labels {
            let message = "these are counts of pieces without their language; count again with languages";
            return Err(Error::new(Code::InvalidCorpus, message).in_row(self.source));
        }
        self.shared.hold(self.given.memory() - held);
        Ok(())
    }

    /// Return what was counted so far, and go on with nothing counted.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn take(&mut self) -> Result<Counts> {
        let threads = self.threads.len();
        let counts = self.joined()?;
        let (tasks, receiver) = sync_channel(threads * WAITING);
        self.shared.restart(receiver);
        self.threads = spawn(&self.shared, threads)?;
        self.tasks = Some(tasks);
        Ok(counts)
    }

    /// Wait for the threads and put their tables together.
    ///
    /// # Errors
    /// The first failure in the order of the input; `corpus_too_large`; `internal` when a thread died.
    pub fn finish(mut self) -> Result<Counts> {
        self.send_texts(true);
        self.joined()
    }

    fn joined(&mut self) -> Result<Counts> {
        self.tasks = None;
        let mut total = WorkerCounts {
            documents: std::mem::take(&mut self.documents),
            table: std::mem::take(&mut self.given),
            ..WorkerCounts::default()
        };
        for thread in self.threads.drain(..) {
            let counts = thread.join().map_err(|_| Error::new(Code::Internal, "a counting thread died"))?;
            total.documents += counts.documents;
            total.bytes += counts.bytes;
            total.skipped.absorb(counts.skipped);
            total.failed = total.failed.into_iter().chain(counts.failed).min_by_key(|(number, _)| *number);
            if total.table.is_empty() {
                total.table = counts.table;
            } else {
                total.table.check_room(counts.table.len())?;
                total.table.absorb(&counts.table);
            }
        }
        match total.failed {
            Some((_, error)) => Err(error),
            None => {
                let mut counts = Counts::new(total.table, total.documents, total.bytes);
                counts.skipped = total.skipped;
                counts.has_labels = self.has_labels;
                Ok(counts)
            }
        }
    }

    fn send_texts(&mut self, all: bool) {
        while let Some(texts) = self.stream.give(&self.shared.rules.separators, all) {
            self.send(TaskKind::Texts(texts));
        }
    }

    fn send_lines(&mut self, lines: Vec<u8>) {
        let (first_line, first_byte) = (self.lines.lines + 1, self.lines.bytes);
        self.lines.lines += memchr::memchr_iter(b'\n', &lines).count() as u64;
        self.lines.bytes += lines.len() as u64;
        let (field, language) = (Arc::clone(&self.lines.field), Arc::clone(&self.lines.language));
        let on_error = self.lines.on_error;
        self.send(TaskKind::Lines { lines, first_line, first_byte, field, language, on_error });
    }

    fn send(&mut self, work: TaskKind) {
        let task = Task { number: self.next_task, source: self.source, label: Arc::clone(&self.label), work };
        self.next_task += 1;
        if let Some(tasks) = &self.tasks {
            // It fails only when every thread has died, which `finish` reports.
            let _ = tasks.send(task);
        }
    }
}

fn spawn(shared: &Arc<Shared>, threads: usize) -> Result<Vec<JoinHandle<WorkerCounts>>> {
    let started: Vec<_> = (0..threads)
        .map_while(|number| {
            let shared = Arc::clone(shared);
            thread::Builder::new().name(format!("count-{number}")).spawn(move || WorkerCounts::work(&shared)).ok()
        })
        .collect();
    if started.is_empty() {
        return Err(Error::new(Code::Internal, "the system gives no thread to count with"));
    }
    Ok(started)
}
