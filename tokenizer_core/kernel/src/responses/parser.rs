//! Follow a text that comes in parts through the regions of a template.
//!
//! A delimiter counts as soon as no further text can change it, and what may be the beginning of one is held back. So
//! the regions are those of the whole text at every split. The text is kept as it came: a region is a part of it.

use std::ops::Range;
use std::sync::Arc;

use super::coerce::Tools;
use super::outcome::{Malformation, Part};
use super::template::{Field, ResponseTemplate};
use super::transform::apply;
use super::value::{Dict, Value};
use super::{Malformed, outcome};
use crate::json::string::write_string;
use crate::regex::{OutOfSteps, Search, Sought};

/// Parts of one answer; no model writes so many, and each takes hundreds of bytes to tell of.
const MAX_PARTS: usize = 1 << 16;

/// Where a search for the beginning or the end of a field's regions stands; `None` if it took too long.
#[derive(Debug)]
struct Searches {
    open: Option<Search>,
    close: Option<Search>,
}

/// The region that is open.
#[derive(Debug, Default)]
struct Region {
    /// `None` for text that no field takes.
    field: Option<usize>,
    /// Something of it was seen; only the implicit region begins without that.
    is_open: bool,
    /// The beginning of what opened it, of its text, and of the text of its field that it continues.
    start: usize,
    body: usize,
    whole: usize,
    captures: Dict,
}

impl Region {
    /// A region that nothing opened.
    fn of_text(field: Option<usize>, body: usize, whole: usize) -> Self {
        Self { field, is_open: true, start: body, body, whole, captures: Dict::default() }
    }
}

/// A delimiter that was found.
struct Delimiter {
    field: usize,
    opens: bool,
    range: Range<usize>,
}

/// The parser of one answer.
#[derive(Debug)]
pub struct ResponseParser {
    pub(super) template: Arc<ResponseTemplate>,
    tools: Tools,
    searches: Vec<Searches>,
    pub(super) text: String,
    /// The end of what the prompt wrote of the turn: the output begins here.
    pub(super) output_start: usize,
    /// The end of the text that went to a region.
    place: usize,
    region: Region,
    /// An empty delimiter repeats at `place`, or there are too many parts: what follows goes to no region.
    is_stuck: bool,
    pub(super) message: Dict,
    /// The last region of each field, and whether its value is that of several regions in a row.
    last: Vec<Option<(Range<usize>, bool)>>,
    /// Text that is content though no field took it.
    leftover: String,
    pub(super) parts: Vec<Part>,
    pub(super) malformed: Vec<Malformation>,
    events: Vec<u8>,
}

impl ResponseParser {
    /// Begin behind `prompt`, of which the template's start anchor tells what belongs to the turn.
    pub fn new(template: Arc<ResponseTemplate>, prompt: &str, tools: Tools) -> Self {
        let mut search = Search::default();
        let mut start = 0;
        while let Ok(Sought::Found(_, end)) = search.advance(&template.start_anchor, prompt, start, false) {
            // An empty match would be found again.
            if end <= start {
                break;
            }
            start = end;
        }
        let searches = |_: &Field| Searches { open: Some(Search::default()), close: Some(Search::default()) };
        let mut parser = Self {
            searches: template.fields.iter().map(searches).collect(),
            region: Region { field: template.implicit, ..Region::default() },
            message: template.defaults.clone(),
            last: vec![None; template.fields.len()],
            tools,
            text: prompt[start..].to_owned(),
            output_start: prompt.len() - start,
            place: 0,
            is_stuck: false,
            leftover: String::new(),
            parts: Vec::new(),
            malformed: Vec::new(),
            events: Vec::new(),
            template,
        };
        parser.process(true);
        parser
    }

    /// Take more of the output. The events up to here are told by [`Self::events`].
    pub fn feed(&mut self, text: &str) {
        self.text.push_str(text);
        self.process(true);
    }

    /// Give the events since the last call as a list of JSON.
    pub fn events(&mut self) -> Vec<u8> {
        let mut events = std::mem::take(&mut self.events);
        events.insert(0, b'[');
        events.push(b']');
        events
    }

    /// End the output and give the message, and what is known of it, as JSON.
    pub fn finish(&mut self) -> Vec<u8> {
        self.process(false);
        let end = self.text.len();
        let open = self.region.field.filter(|_| self.region.is_open);
        // All text is given by now, unless an empty delimiter repeats.
        self.close(self.place, self.place);
        if self.region.is_open {
            // What was malformed at the end is content now.
            self.close(self.place, self.place);
        }
        self.no_region(self.place..end);
        let text = &self.text;
        self.malformed.retain(|one| one.reason != "unclaimed" || !text[one.range.clone()].trim().is_empty());
        if self.template.implicit.is_none() && self.leftover.is_empty() && self.last.iter().all(Option::is_none) {
            self.leftover.push_str(&self.text[self.output_start..]);
        }
        let template = Arc::clone(&self.template);
        for (field, last) in template.fields.iter().zip(&self.last) {
            match last {
                None if !field.optional => {
                    self.malformed.push(Malformation { reason: "missing_field", range: end..end });
                }
                Some((whole, true)) => {
                    if let Ok(value) = self.value(field, whole.clone(), &Dict::default()) {
                        self.message.set(&field.name, value);
                    }
                }
                _ => {}
            }
        }
        let message = &mut self.message;
        message.entries.retain(|(name, value)| !value.is_empty() || template.defaults.get(name).is_some());
        if !self.leftover.is_empty() {
            let before = message.get("content").and_then(Value::as_text).unwrap_or_default();
            let content = format!("{before}{}", self.leftover);
            message.set("content", Value::Text(content));
        }
        let fields = &self.template.fields;
        let is_cut = |at: &usize| fields[*at].open.is_some() && fields[*at].close.is_some();
        outcome::write(self, open, open.filter(is_cut))
    }

    /// Give all text to regions that more text cannot change.
    fn process(&mut self, more: bool) {
        while !self.is_stuck {
            let (found, held) = self.next_delimiter(more);
            let Some(found) = found else {
                self.take(self.place..held);
                return;
            };
            self.take(self.place..found.range.start);
            self.place = found.range.end;
            if found.opens {
                self.close(found.range.start, found.range.start);
                self.open(&found);
            } else {
                let has_begun = self.region.is_open && self.region.start < found.range.start;
                let captures = self.captures(&found);
                captures.entries.into_iter().for_each(|(name, text)| self.region.captures.set(&name, text));
                self.close(found.range.start, found.range.end);
                // The same empty match would end the same empty region for ever.
                self.is_stuck = !has_begun && found.range.is_empty();
            }
            if self.parts.len() >= MAX_PARTS {
                self.malformed.push(Malformation { reason: "step_limit", range: found.range });
                self.is_stuck = true;
            }
        }
    }

    /// The next delimiter that counts now, and the end of the text before whatever may become one. An empty one at the
    /// end of the text never counts, as in transformers.
    fn next_delimiter(&mut self, more: bool) -> (Option<Delimiter>, usize) {
        let template = Arc::clone(&self.template);
        let explicit = self.region.field.filter(|field| Some(*field) != template.implicit);
        let mut held = self.text.len();
        let mut best: Option<Delimiter> = None;
        for (at, field) in template.fields.iter().enumerate() {
            let opens = explicit.is_none() && field.open.is_some();
            let closes = self.region.field == Some(at);
            let Some(expression) =
                (if opens { &field.open } else { &field.close }).as_ref().filter(|_| opens || closes)
            else {
                continue;
            };
            let searches = &mut self.searches[at];
            let search = if opens { &mut searches.open } else { &mut searches.close };
            let Some(running) = search else { continue };
            match running.advance(expression, &self.text, self.place, more) {
                Ok(Sought::Found(start, end)) => {
                    let found = Delimiter { field: at, opens, range: start..end };
                    let key = |one: &Delimiter| (one.range.start, usize::MAX - one.range.len(), !one.opens);
                    let name = |one: &Delimiter| &template.fields[one.field].name;
                    if best.as_ref().is_none_or(|best| (key(&found), name(&found)) < (key(best), name(best))) {
                        best = Some(found);
                    }
                }
                Ok(Sought::MayBegin(start)) => held = held.min(start),
                Ok(Sought::Nothing) => {}
                Err(OutOfSteps) => {
                    *search = None;
                    self.malformed.push(Malformation { reason: "step_limit", range: self.place..self.text.len() });
                }
            }
        }
        (best.filter(|best| best.range.start < held), held)
    }

    /// The texts of the named groups of a delimiter.
    fn captures(&self, found: &Delimiter) -> Dict {
        let (field, searches) = (&self.template.fields[found.field], &self.searches[found.field]);
        let (expression, search) =
            if found.opens { (&field.open, &searches.open) } else { (&field.close, &searches.close) };
        let (Some(expression), Some(search)) = (expression, search) else { return Dict::default() };
        let text = |(name, (start, end)): (&str, _)| (name.to_owned(), Value::Text(self.text[start..end].to_owned()));
        Dict { entries: search.groups(expression).map(text).collect(), written: None }
    }

    /// Give text to the region that is open.
    fn take(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.place = range.end;
        let Some(field) = self.region.field else {
            self.no_region(range);
            return;
        };
        if !self.region.is_open {
            self.region = Region::of_text(Some(field), range.start, range.start);
            self.event("region_open", field);
        }
        self.chunk(field, range);
    }

    /// Tell of text that no field takes.
    fn no_region(&mut self, range: Range<usize>) {
        match self.malformed.last_mut() {
            Some(last) if last.reason == "unclaimed" && last.range.end == range.start => last.range.end = range.end,
            _ => self.malformed.push(Malformation { reason: "unclaimed", range: range.clone() }),
        }
        self.part(None, range);
    }

    fn part(&mut self, field: Option<usize>, range: Range<usize>) {
        match self.parts.last_mut() {
            _ if range.is_empty() => {}
            Some(last) if last.field == field => last.range.end = range.end,
            _ => self.parts.push(Part { field, range }),
        }
    }

    fn open(&mut self, found: &Delimiter) {
        let (start, body) = (found.range.start, found.range.end);
        self.region =
            Region { start, captures: self.captures(found), ..Region::of_text(Some(found.field), body, body) };
        self.event("region_open", found.field);
    }

    /// Close the open region, whose text ends at `end` and what closes it at `after`.
    fn close(&mut self, end: usize, after: usize) {
        let next = Region { field: self.template.implicit, ..Region::default() };
        let region = std::mem::replace(&mut self.region, next);
        let Some(at) = region.field.filter(|_| region.is_open) else {
            self.part(None, end..after);
            return;
        };
        let template = Arc::clone(&self.template);
        let body = region.body..end;
        match self.value(&template.fields[at], body.clone(), &region.captures) {
            Ok(value) => self.put(&region, at, end..after, value),
            Err(reason) => {
                self.malformed.push(Malformation { reason, range: region.start..after });
                if template.implicit == Some(at) {
                    let text = self.text[body].to_owned();
                    self.put(&region, at, end..after, Value::Text(text));
                } else {
                    self.give_up(region.start..after);
                }
            }
        }
    }

    /// Make a region that is malformed a part of the content, which goes on with the content before it.
    fn give_up(&mut self, range: Range<usize>) {
        let Some(at) = self.template.implicit else {
            self.leftover.push_str(&self.text[range.clone()]);
            self.part(None, range);
            return;
        };
        let repeats = self.template.fields[at].repeats;
        let before = self.last[at].take_if(|(last, _)| !repeats && last.end == range.start);
        let whole = before.map_or(range.start, |(before, _)| before.start);
        self.region = Region::of_text(Some(at), range.start, whole);
        self.event("region_open", at);
        self.chunk(at, range);
    }

    /// The value of a region.
    fn value(&self, field: &Field, body: Range<usize>, captures: &Dict) -> Result<Value, Malformed> {
        let value = field.content.read(&self.text, body)?;
        let mut value = match &field.transform {
            None => value,
            Some(transform) if field.transform_each => {
                let Value::List(items) = value else { return Err("not_a_list") };
                let items =
                    items.iter().map(|item| apply(transform, &[item.as_dict().ok_or("not_an_object")?, captures]));
                Value::List(items.collect::<Result<_, _>>()?)
            }
            Some(transform) => {
                let content = Dict { entries: vec![("content".to_owned(), value)], written: None };
                apply(transform, &[&content, captures])?
            }
        };
        self.tools.cast(&mut value);
        if field.join.is_some() && value.as_text().is_none() { Err("not_a_string") } else { Ok(value) }
    }

    /// Put the value of a region into the message.
    fn put(&mut self, region: &Region, at: usize, delimiter: Range<usize>, value: Value) {
        let template = Arc::clone(&self.template);
        let (field, body) = (&template.fields[at], region.body..delimiter.start);
        self.part(None, region.start..region.body);
        self.part(Some(at), body.clone());
        self.part(None, delimiter);
        self.event("region_close", at);
        self.events.pop();
        self.events.extend_from_slice(b",\"value\":");
        value.write(&mut self.events);
        self.events.push(b'}');
        let last = self.last[at].replace((region.whole..body.end, region.whole < body.start));
        match (self.message.get_mut(&field.name), &field.join) {
            (Some(Value::Text(before)), Some(join)) => {
                before.push_str(join);
                before.push_str(value.as_text().unwrap_or_default());
            }
            (Some(Value::List(values)), None) if field.repeats => values.push(value),
            (before, join) => {
                if let (Some(before), Some((last, _))) = (before, last)
                    && !before.is_empty()
                {
                    self.malformed.push(Malformation { reason: "overwritten", range: last });
                }
                let is_list = field.repeats && join.is_none();
                self.message.set(&field.name, if is_list { Value::List(vec![value]) } else { value });
            }
        }
    }

    fn event(&mut self, kind: &str, field: usize) {
        if !self.events.is_empty() {
            self.events.push(b',');
        }
        self.events.extend_from_slice(format!("{{\"type\":\"{kind}\",\"field\":").as_bytes());
        write_string(&self.template.fields[field].name, &mut self.events);
        self.events.push(b'}');
    }

    fn chunk(&mut self, field: usize, range: Range<usize>) {
        self.event("region_chunk", field);
        let is_plain = self.template.fields[field].content.is_plain();
        self.events.pop();
        self.events.extend_from_slice(b",\"text\":");
        write_string(&self.text[range], &mut self.events);
        self.events.extend_from_slice(format!(",\"dirty\":{}}}", !is_plain).as_bytes());
    }
}
