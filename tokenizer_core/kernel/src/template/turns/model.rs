//! The text that the model has to write, in every turn of the assistant.

use std::collections::HashMap;
use std::ops::Range;

use super::{Again, Ranges, find, leading_space, within};
use crate::template::chat::template::{Rendering, Span};
use crate::template::syntax::strings::is_space;

/// Turns before which the messages are rendered again. In longer chats that would take time by the square of their
/// length, and the prompt is that of an earlier turn behind a message of the same role.
const EXACT_TURNS: u32 = 32;

/// The generation prompt behind some messages.
#[derive(Debug, Clone)]
struct Prompt {
    text: String,
    /// True if the template writes it if asked to; if not, it stands behind the messages in any case.
    is_asked: bool,
}

/// The turns of the model in a rendered chat.
///
/// A turn begins where the generation prompt of the messages before it ends: at the end of the longest prefix that the
/// prompt and the turn's text share, or of the longest end of the prompt that the turn begins with. It ends with the
/// last special token behind the message's own text. A message that the template does not write in a loop over messages
/// stands between what ends the chat before it and what ends the chat with it.
pub struct Turns<'r, 'a, E> {
    rendering: &'r Rendering,
    /// The special tokens of the text.
    special: &'r [Range<usize>],
    again: &'r mut Again<'a, E>,
    parts: HashMap<u32, Ranges>,
    /// For every number of messages, the end of the text of the last of them that has any.
    said: Vec<usize>,
    exact_prompts: u32,
    prompts: HashMap<&'r str, Prompt>,
    exact_bounds: u32,
    closings: HashMap<&'r str, String>,
    closes_late: Option<bool>,
}

impl<'r, 'a, E> Turns<'r, 'a, E> {
    /// The turns of a rendering.
    pub fn new(rendering: &'r Rendering, special: &'r [Range<usize>], again: &'r mut Again<'a, E>) -> Self {
        let mut parts: HashMap<u32, Ranges> = HashMap::new();
        for part in &rendering.turns {
            parts.entry(part.message).or_default().push(part.bytes.clone());
        }
        let mut said = vec![0; rendering.roles.len() + 1];
        for span in &rendering.spans {
            if let Some(end) = span.message.and_then(|message| said.get_mut(message as usize + 1)) {
                *end = span.bytes.end;
            }
        }
        for count in 1..said.len() {
            if said[count] == 0 {
                said[count] = said[count - 1];
            }
        }
        Self {
            rendering,
            special,
            again,
            parts,
            said,
            exact_prompts: EXACT_TURNS,
            prompts: HashMap::new(),
            exact_bounds: 2 * EXACT_TURNS,
            closings: HashMap::new(),
            closes_late: None,
        }
    }

    /// The text that the model has to write of a message; nothing if the template leaves the message out.
    pub fn of(&mut self, message: u32) -> Result<Ranges, E> {
        let parts = match self.parts.get(&message) {
            Some(parts) => parts.clone(),
            None => vec![Range { start: self.bound(message)?, end: self.bound(message + 1)? }],
        };
        let mut ranges = Vec::with_capacity(parts.len());
        for (at, part) in parts.into_iter().enumerate().filter(|(_, part)| part.start < part.end) {
            let mut begin = if at > 0 { part.start } else { self.begin(message, &part)? };
            let is_foreign = |span: &&Span| span.message.is_some_and(|by| by != message);
            if let Some(foreign) = self.within(part.start, part.end).iter().rfind(is_foreign) {
                // The answer of a tool stands within the turn: the model stops before, and may go on behind.
                ranges.push(begin..self.stop(message, &part)?);
                let behind = self.within(foreign.bytes.end, part.end);
                let Some(own) = behind.iter().find(|span| span.message == Some(message)) else { continue };
                begin = own.bytes.start;
            }
            ranges.push(begin..self.end(message, begin, part.end)?);
        }
        ranges.retain(|range| range.start < range.end);
        Ok(ranges)
    }

    fn within(&self, start: usize, end: usize) -> &'r [Span] {
        within(&self.rendering.spans, start, end)
    }

    /// The text that the message itself says between two places, but for its role.
    fn own(
        &self,
        message: u32,
        start: usize,
        end: usize,
    ) -> impl DoubleEndedIterator<Item = &'r Span> + use<'r, 'a, E> {
        self.within(start, end).iter().filter(move |span| span.message == Some(message) && &*span.field != "role")
    }

    /// The number of special tokens that begin before a place.
    fn begun(&self, place: usize) -> usize {
        self.special.partition_point(|token| token.start < place)
    }

    /// A place, or the beginning of the special token that it lies in.
    fn before_token(&self, place: usize) -> usize {
        let token = self.begun(place).checked_sub(1).map(|last| &self.special[last]);
        token.filter(|token| place < token.end).map_or(place, |token| token.start)
    }

    fn role(&self, message: u32) -> &'r str {
        self.rendering.roles.get(message as usize).map_or("", |role| role)
    }

    fn begin(&mut self, message: u32, part: &Range<usize>) -> Result<usize, E> {
        let Prompt { text: prompt, is_asked } = &self.prompt(message)?;
        let (text, start) = (self.rendering.text.as_str(), part.start);
        let first = self.own(message, start, part.end).next().map_or(part.end, |span| span.bytes.start);
        let written = &text[part.clone()];
        let mut begin = start
            + common(prompt, written)
                .max(common(&prompt[leading_space(prompt)..], written))
                .max(joined(prompt, written));
        if !is_asked {
            begin = begin.min(first);
        }
        if begin != start {
            // A prefix may end within the token that ends an empty turn.
            return Ok(self.before_token(begin));
        }
        let prompt = prompt.trim_matches(is_space);
        if let Some(found) = find(text, prompt, start, first).filter(|_| !prompt.is_empty()) {
            return Ok(found + prompt.len());
        }
        // If a template begins no turn by itself, its heading is the text that it writes with the role.
        let headings = self.within(start, first).iter().filter(|span| &*span.field == "role");
        let Some(heading) = headings.map(|span| span.bytes.end).max() else { return Ok(start) };
        Ok(self.special.get(self.begun(heading)).map_or(first, |token| first.min(token.start)))
    }

    fn prompt(&mut self, message: u32) -> Result<Prompt, E> {
        if let Some(text) = &self.rendering.prompt {
            return Ok(Prompt { text: text.clone(), is_asked: !text.is_empty() });
        }
        let before = message.checked_sub(1).map_or("", |before| self.role(before));
        if let Some(known) = self.prompts.get(before).filter(|_| self.exact_prompts == 0) {
            return Ok(known.clone());
        }
        self.exact_prompts = self.exact_prompts.saturating_sub(1);
        let prompt = self.prompt_behind(message)?;
        self.prompts.insert(before, prompt.clone());
        Ok(prompt)
    }

    /// The generation prompt behind the first messages; if the template fails on them, behind a plain one.
    fn prompt_behind(&mut self, count: u32) -> Result<Prompt, E> {
        for count in [Some(count).filter(|count| *count > 0), None] {
            let Some(ended) = (self.again)(count, false)? else { continue };
            let Some(begun) = (self.again)(count, true)? else { continue };
            // A template may write it within its loop over messages, or more than it behind them.
            let behind = begun.turns.last().map_or("", |part| &begun.text[part.bytes.end..]);
            let added = begun.text.strip_prefix(&ended.text).unwrap_or_default();
            let text = if behind.len() < added.len() { added } else { behind }.to_owned();
            return Ok(Prompt { text, is_asked: begun.text != ended.text });
        }
        Ok(Prompt { text: String::new(), is_asked: false })
    }

    /// The end of a turn that no message follows.
    fn stop(&mut self, message: u32, part: &Range<usize>) -> Result<usize, E> {
        let Some(alone) = (self.again)(Some(message + 1), false)? else { return Ok(part.start) };
        let Some(turn) = alone.turns.iter().find(|turn| turn.message == message) else { return Ok(part.start) };
        Ok(part.start + common(&alone.text[turn.bytes.clone()], &self.rendering.text[part.clone()]))
    }

    fn end(&mut self, message: u32, begin: usize, end: usize) -> Result<usize, E> {
        let text = self.rendering.text.as_str();
        let said = self.own(message, begin, end).next_back().map_or(begin, |span| span.bytes.end.max(begin));
        let (first, following) = (self.begun(said), self.begun(end));
        let written = begin + text.get(begin..end).map_or(0, |turn| turn.trim_end_matches(is_space).len());
        if following > first {
            // Behind the end of a call may stand an end of the turn that is no special token.
            let stop = self.special[following - 1].end.min(end).max(written);
            let closes = stop == end && self.special.get(following).is_some_and(|token| token.start == end);
            return if closes { self.closed_late(message, end, following) } else { Ok(stop) };
        }
        // Some templates write what ends a turn with the next message.
        if let Some(token) = self.special.get(following)
            && leading_space(&text[end..]) >= token.start - end
            && self.within(end, token.end).is_empty()
        {
            return Ok(token.end);
        }
        Ok(said.max(written))
    }

    /// The end of a turn that the template ends with the next message, if one token ends a chat there.
    fn closed_late(&mut self, message: u32, end: usize, token: usize) -> Result<usize, E> {
        if self.closes_late == Some(false) {
            return Ok(end);
        }
        let bound = self.bound(message + 1)?;
        let closing = self.closings.get(self.role(message)).map_or("", String::as_str);
        let is_closing = self.rendering.text[self.said[message as usize + 1]..].starts_with(closing);
        let closes_late = is_closing && bound == self.special[token].end;
        self.closes_late = Some(closes_late);
        Ok(if closes_late { bound } else { end })
    }

    /// The end of the first messages of the chat: behind the last text of theirs, and what closes it.
    fn bound(&mut self, count: u32) -> Result<usize, E> {
        let Some(last) = count.checked_sub(1) else { return Ok(0) };
        let (said, role) = (self.said[count as usize], self.role(last));
        if self.exact_bounds > 0 || !self.closings.contains_key(role) {
            self.exact_bounds = self.exact_bounds.saturating_sub(1);
            let closing = self.closing(count)?;
            self.closings.insert(role, closing);
        }
        let closing = self.closings.get(role).map_or("", String::as_str);
        Ok(self.before_token(said + common(closing, &self.rendering.text[said..])))
    }

    /// The text that the template writes behind that of the first messages if no more follow.
    fn closing(&mut self, count: u32) -> Result<String, E> {
        let Some(alone) = (self.again)(Some(count), false)? else { return Ok(String::new()) };
        let said = alone.spans.iter().filter_map(|span| Some((span.message?, span.bytes.end))).max();
        Ok(alone.text[said.map_or(0, |(_, end)| end)..].to_owned())
    }
}

/// The bytes of the characters that two texts begin with alike.
fn common(one: &str, other: &str) -> usize {
    one.floor_char_boundary(one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count())
}

/// The length of the longest end of one text that another begins with.
fn joined(one: &str, other: &str) -> usize {
    one.char_indices().map(|(at, _)| &one[at..]).find(|end| other.starts_with(end)).map_or(0, str::len)
}
