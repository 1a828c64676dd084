//! Text with the origin of every byte.

use std::ops::Range;
use std::rc::Rc;

use super::budget::no_memory;
use crate::template::syntax::failure::Result;

/// The author of a byte: twice the number of a place among the caller's values, 0 for the template; plus [`GENERATED`].
pub type Origin = u32;
/// The origin of the template's own literals.
pub const TEMPLATE: Origin = 0;
/// The bit of what stands in a `{% generation %}` block.
pub const GENERATED: Origin = 1;

/// The end of a stretch of one origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// In bytes of the text that the run belongs to.
    pub end: u32,
    /// The origin of its bytes.
    pub origin: Origin,
}

/// A text that was made, and its origins.
#[derive(Debug, Default)]
pub struct Made {
    text: String,
    /// Of the whole text, as long as there are no runs.
    origin: Origin,
    runs: Vec<Run>,
}

/// A piece of text: borrowed from the template or the request, or a part of what was made.
#[derive(Debug, Clone)]
pub enum Text<'t> {
    /// Of one origin.
    Plain(&'t str, Origin),
    /// The bytes from the first to the second number.
    Part(Rc<Made>, u32, u32),
}

impl<'t> Text<'t> {
    /// The template's own.
    pub const fn literal(text: &'t str) -> Self {
        Self::Plain(text, TEMPLATE)
    }

    /// A text that was made, wholly of one origin.
    pub fn made(text: String, origin: Origin) -> Self {
        let end = text.len() as u32;
        Self::Part(Rc::new(Made { text, origin, runs: Vec::new() }), 0, end)
    }

    /// The characters.
    #[inline]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Plain(text, _) => text,
            Self::Part(made, start, end) => &made.text[*start as usize..*end as usize],
        }
    }

    /// In bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Plain(text, _) => text.len(),
            Self::Part(_, start, end) => (end - start) as usize,
        }
    }

    /// Tell whether there are no characters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// In characters.
    pub fn count(&self) -> usize {
        count(self.as_str())
    }

    /// A part, in bytes, on borders of characters.
    #[must_use]
    pub fn slice(&self, bytes: Range<usize>) -> Self {
        match self {
            Self::Plain(text, origin) => Self::Plain(&text[bytes], *origin),
            Self::Part(made, start, _) => {
                Self::Part(Rc::clone(made), start + bytes.start as u32, start + bytes.end as u32)
            }
        }
    }

    /// The part that `inner`, a part of [`Self::as_str`], is.
    #[must_use]
    pub fn part(&self, inner: &str) -> Self {
        let start = inner.as_ptr() as usize - self.as_str().as_ptr() as usize;
        self.slice(start..start + inner.len())
    }

    /// Go through the stretches of one origin, in order.
    pub fn each_run(&self, mut visit: impl FnMut(&str, Origin)) {
        match self {
            Self::Plain(text, origin) => {
                if !text.is_empty() {
                    visit(text, *origin);
                }
            }
            Self::Part(made, start, end) if made.runs.is_empty() => {
                if start < end {
                    visit(&made.text[*start as usize..*end as usize], made.origin);
                }
            }
            Self::Part(made, start, end) => {
                let first = made.runs.partition_point(|run| run.end <= *start);
                let mut at = *start;
                for run in &made.runs[first..] {
                    let stop = run.end.min(*end);
                    if at >= stop {
                        break;
                    }
                    visit(&made.text[at as usize..stop as usize], run.origin);
                    at = stop;
                }
            }
        }
    }

    /// The origin of the first byte of a caller's, or of the template.
    pub fn origin(&self) -> Origin {
        match self {
            Self::Plain(_, origin) => *origin & !GENERATED,
            Self::Part(made, ..) if made.runs.is_empty() => made.origin & !GENERATED,
            Self::Part(..) => {
                let mut found = TEMPLATE;
                self.each_run(|_, origin| {
                    if found == TEMPLATE {
                        found = origin & !GENERATED;
                    }
                });
                found
            }
        }
    }

    /// The origin of the first byte.
    pub fn first_origin(&self) -> Origin {
        match self {
            Self::Part(made, start, _) => {
                let run = made.runs.get(made.runs.partition_point(|run| run.end <= *start));
                run.map_or(made.origin, |run| run.origin) & !GENERATED
            }
            Self::Plain(_, origin) => *origin & !GENERATED,
        }
    }

    /// The origin of everything, if it is one; that of an empty text is the template's.
    pub fn uniform(&self) -> Option<Origin> {
        match self {
            Self::Plain(_, origin) => Some(*origin),
            Self::Part(made, ..) if made.runs.is_empty() => Some(made.origin),
            Self::Part(..) => {
                let (mut first, mut same) = (None, true);
                self.each_run(|_, origin| same &= *first.get_or_insert(origin) == origin);
                same.then(|| first.unwrap_or(TEMPLATE))
            }
        }
    }
}

/// In characters.
pub fn count(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// Makes a text out of parts, and keeps their origins.
#[derive(Debug, Default)]
pub struct Builder {
    made: Made,
}

impl Builder {
    /// With room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { made: Made { text: String::with_capacity(bytes), ..Made::default() } }
    }

    /// Room for so many bytes more.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.made.text.try_reserve(bytes).map_err(|_| no_memory())
    }

    /// In bytes.
    pub fn len(&self) -> usize {
        self.made.text.len()
    }

    /// Append what one wrote.
    pub fn push(&mut self, text: &str, origin: Origin) {
        if text.is_empty() {
            return;
        }
        let made = &mut self.made;
        if made.text.is_empty() {
            made.origin = origin;
        } else if made.runs.is_empty() && made.origin != origin {
            made.runs.push(Run { end: made.text.len() as u32, origin: made.origin });
        }
        made.text.push_str(text);
        if made.runs.is_empty() && made.origin == origin {
            return;
        }
        let end = made.text.len() as u32;
        match made.runs.last_mut() {
            Some(last) if last.origin == origin => last.end = end,
            _ => made.runs.push(Run { end, origin }),
        }
    }

    /// Append a text.
    pub fn push_text(&mut self, text: &Text<'_>) {
        match text {
            Text::Plain(text, origin) => self.push(text, *origin),
            text => text.each_run(|part, origin| self.push(part, origin)),
        }
    }

    /// Return the text that was appended.
    pub fn finish<'t>(self) -> Text<'t> {
        let end = self.made.text.len() as u32;
        Text::Part(Rc::new(self.made), 0, end)
    }

    /// The text and its stretches of one origin.
    pub fn into_parts(self) -> (String, Vec<Run>) {
        let Made { text, origin, mut runs } = self.made;
        if runs.is_empty() && !text.is_empty() {
            runs.push(Run { end: text.len() as u32, origin });
        }
        (text, runs)
    }
}
