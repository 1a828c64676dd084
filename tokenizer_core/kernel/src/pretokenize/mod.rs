//! Cuts a text into pieces; merges never cross the border of a piece.

mod char_runs;
mod classes;
mod find;
mod recut;
mod rewrites;
mod rules;
mod scan;
mod scanner;
mod sequence;
mod split;
pub(crate) mod vector;

pub use self::recut::Recut;
use self::recut::RecutStage;
use self::scanner::Scanner;
use self::sequence::Levels;
use self::split::Split;
use crate::config::PretokenizerStage;
use crate::error::{Code, Error, Result};
use crate::regex::StepBudget;
use crate::simd::level::SimdLevel;

/// A compiled sequence of cuts.
#[derive(Debug, Default)]
pub struct Pretokenizer {
    /// Stages that only cut.
    stages: Vec<Split>,
    /// All stages, where one of them drops or rewrites text; then there are no others.
    recut: Vec<RecutStage>,
}

impl Pretokenizer {
    /// Compile the stages; no stage at all makes the whole text one piece.
    ///
    /// # Errors
    /// `invalid_pattern` for an unknown name or a regular expression that does not compile; those of
    /// [`SimdLevel::chosen`].
    pub fn new(stages: &[PretokenizerStage]) -> Result<Self> {
        Self::on_level(stages, SimdLevel::chosen()?)
    }

    /// As [`Self::new`], on a level of the caller's choice, or the portable one if the machine lacks it.
    ///
    /// # Errors
    /// `invalid_pattern`.
    pub fn on_level(stages: &[PretokenizerStage], level: SimdLevel) -> Result<Self> {
        Self::compile(stages, false, level)
    }

    /// As [`Self::on_level`], but the text between the matches of a split is dropped where only matches are pieces.
    ///
    /// # Errors
    /// `invalid_pattern`.
    pub(crate) fn dropping(stages: &[PretokenizerStage], level: SimdLevel) -> Result<Self> {
        Self::compile(stages, true, level)
    }

    fn compile(stages: &[PretokenizerStage], drops: bool, level: SimdLevel) -> Result<Self> {
        let compile = |(index, stage)| {
            RecutStage::new(stage, drops, level)
                .map_err(|error| error.at_field(format!("pretokenizer[{index}].pattern")))
        };
        let stages = stages.iter().enumerate().map(compile).collect::<Result<Vec<_>>>()?;
        let cuts = |stage: &RecutStage| matches!(stage, RecutStage::Cut(_));
        if !stages.iter().all(cuts) {
            return Ok(Self { stages: Vec::new(), recut: stages });
        }
        let split = |stage| if let RecutStage::Cut(split) = stage { Some(split) } else { None };
        Ok(Self { stages: stages.into_iter().filter_map(split).collect(), recut: Vec::new() })
    }

    /// Cut a stretch of text by all stages, if one of them drops or rewrites text. `begins_text` says whether a whole
    /// text begins with it.
    ///
    /// # Errors
    /// As [`Pieces::fill`].
    pub fn recut(&self, text: &str, begins_text: bool, steps: &mut StepBudget) -> Result<Option<Recut>> {
        if self.recut.is_empty() { Ok(None) } else { recut::run(&self.recut, text, begins_text, steps).map(Some) }
    }

    /// Tell whether, in any text, a piece ends at every newline between a visible ASCII character and an ASCII letter,
    /// even if the text ends there: true of each scanner alone.
    pub fn cuts_behind_newlines(&self) -> bool {
        self.scanner().is_some()
    }

    /// The scanner that cuts alone, if one does.
    fn scanner(&self) -> Option<Scanner> {
        match self.stages.as_slice() {
            [stage] => stage.scanner(),
            _ => None,
        }
    }

    /// Begin to cut `text`, a whole text or a stretch of one, within the `steps` of the whole.
    ///
    /// # Errors
    /// `invalid_option` for a text of 4 GiB or more.
    #[inline(always)]
    pub fn pieces<'t>(&'t self, text: &'t str, steps: &'t mut StepBudget) -> Result<Pieces<'t>> {
        if u32::try_from(text.len()).is_err() {
            return Err(Error::new(Code::InvalidOption, "the text is 4 GiB or longer; cut it into documents"));
        }
        let cut = match self.stages.as_slice() {
            [] => Cut::Whole,
            _ if let Some(scanner) = self.scanner() => Cut::Scanner(scanner),
            stages => Cut::Levels(Box::new(Levels::new(stages, text.len(), steps))),
        };
        Ok(Pieces { text, at: 0, cut })
    }
}

/// A text being cut.
#[derive(Debug)]
pub struct Pieces<'t> {
    text: &'t str,
    /// The end of the last given piece.
    at: usize,
    cut: Cut<'t>,
}

#[derive(Debug)]
enum Cut<'t> {
    Whole,
    /// One scanner alone, as most tokenizers have it.
    Scanner(Scanner),
    Levels(Box<Levels<'t>>),
}

impl Pieces<'_> {
    /// Write the ends (byte positions in the text) of the next pieces into `ends`, and return how many: 0 after the
    /// last piece, and it need not fill all of `ends` before. Pieces tile the text: each begins where the one before
    /// ended, the first at 0, and none is empty. Scanners are fastest with room for 160 ends or more.
    ///
    /// # Errors
    /// `step_limit` or `uncovered_text`, with the byte range.
    #[inline]
    pub fn fill(&mut self, ends: &mut [u32]) -> Result<usize> {
        let count = match &mut self.cut {
            Cut::Levels(levels) => levels.fill(self.text, ends)?,
            Cut::Scanner(scanner) => scanner.fill(self.text, self.at, ends),
            Cut::Whole => match ends.first_mut() {
                Some(end) if self.at < self.text.len() => {
                    *end = self.text.len() as u32;
                    1
                }
                _ => 0,
            },
        };
        if let Some(last) = ends[..count].last() {
            self.at = *last as usize;
        }
        Ok(count)
    }

    /// The ends of all pieces, cut `batch` at a time.
    ///
    /// # Errors
    /// As [`Self::fill`].
    pub fn ends(mut self, batch: usize) -> Result<Vec<usize>> {
        let (mut all, mut ends) = (Vec::new(), vec![0; batch.max(1)]);
        loop {
            let count = self.fill(&mut ends)?;
            if count == 0 {
                return Ok(all);
            }
            all.extend(ends[..count].iter().map(|end| *end as usize));
        }
    }
}
