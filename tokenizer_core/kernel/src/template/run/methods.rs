//! Methods of strings. What they cut out, fill up or put together keeps its origins.

use std::collections::BTreeSet;

use super::attributes::bytes_of;
use super::calls::{int_of, int_or};
use super::cases;
use super::held::{Given, UNNAMED};
use super::state::Run;
use crate::template::syntax::failure::{Failure, Result};
use crate::template::syntax::strings::{is_decimal, is_letter, is_line_break, is_lower, is_space, is_upper};
use crate::template::values::budget::OBJECT;
use crate::template::values::text::{Builder, Text, count};
use crate::template::values::value::Value;

/// The greatest number of parts that a text may be cut into, if that is limited.
type Limit = Option<usize>;

impl<'t> Run<'t> {
    /// Call a method of a string.
    pub fn string_method(&mut self, text: &Text<'t>, name: &str, given: Given<'t>) -> Result<Value<'t>> {
        self.budget.charge(text.len() >> 3)?;
        let characters = text.as_str();
        match name {
            "strip" | "lstrip" | "rstrip" => {
                let [set] = given.bind(name, [UNNAMED], 0)?;
                Ok(Value::Str(self.strip(text, name, set.as_ref())?))
            }
            "split" | "rsplit" => {
                let [separator, limit] = given.bind(name, ["sep", "maxsplit"], 0)?;
                let limit = limit_of(limit.as_ref())?;
                let parts = match &separator {
                    None | Some(Value::None) => self.words(text, limit, name == "rsplit")?,
                    Some(separator) => self.cut(text, text_arg(separator, name)?.as_str(), limit, name == "rsplit")?,
                };
                Value::list(parts, &self.budget)
            }
            "startswith" | "endswith" => {
                let [sought, start, stop] = given.bind(name, [UNNAMED; 3], 1)?;
                let within = within(text, start.as_ref(), stop.as_ref())?;
                let sought = sought.unwrap_or(Value::None);
                let items = match &sought {
                    Value::Tuple(items) => &items.values,
                    one => std::slice::from_ref(one),
                };
                self.budget.charge_reading(items)?;
                for item in items {
                    // Each has to be a text, also where nothing can begin or end.
                    let sought = text_arg(item, name)?.as_str();
                    let found = within.as_ref().is_some_and(|(within, _)| match name {
                        "startswith" => within.as_str().starts_with(sought),
                        _ => within.as_str().ends_with(sought),
                    });
                    if found {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            "replace" => {
                let [old, new, limit] = given.bind(name, [UNNAMED; 3], 2)?;
                let (old, new) = (old.unwrap_or(Value::None), new.unwrap_or(Value::None));
                let limit = limit_of(limit.as_ref())?;
                let (old, new) = (text_arg(&old, name)?, text_arg(&new, name)?);
                Ok(Value::Str(self.replace(text, old.as_str(), new, limit)?))
            }
            "join" => {
                let [parts] = given.bind(name, [UNNAMED], 1)?;
                let parts = self.collect(&parts.unwrap_or(Value::None))?;
                for (at, part) in parts.iter().enumerate() {
                    if !matches!(part, Value::Str(_)) {
                        let found = part.type_name();
                        let message = format!("sequence item {at}: expected str instance, {found} found");
                        return Err(Failure::failed(message));
                    }
                }
                self.join_values(text, &parts)
            }
            "upper" | "lower" | "title" | "capitalize" => {
                given.nothing(name)?;
                // A character may become three.
                self.budget.charge(3 * text.len() + OBJECT)?;
                Ok(Value::Str(cases::mapped(text, name)))
            }
            "format" => self.braces(text, &given),
            "find" | "rfind" | "index" | "rindex" | "count" => self.find(text, name, given),
            "removeprefix" | "removesuffix" => {
                let [part] = given.bind(name, [UNNAMED], 1)?;
                let part = part.unwrap_or(Value::None);
                let part = text_arg(&part, name)?.as_str();
                let kept = match name {
                    "removeprefix" => characters.strip_prefix(part),
                    _ => characters.strip_suffix(part),
                };
                Ok(Value::Str(kept.map_or_else(|| text.clone(), |kept| text.part(kept))))
            }
            "partition" | "rpartition" => {
                let [separator] = given.bind(name, [UNNAMED], 1)?;
                let separator = separator.unwrap_or(Value::None);
                let separator = text_arg(&separator, name)?.as_str();
                if separator.is_empty() {
                    return Err(Failure::failed("empty separator"));
                }
                let empty = text.slice(0..0);
                let found = if name == "partition" { characters.find(separator) } else { characters.rfind(separator) };
                let parts = match found {
                    Some(at) => {
                        let behind = at + separator.len();
                        [text.slice(0..at), text.slice(at..behind), text.slice(behind..text.len())]
                    }
                    None if name == "partition" => [text.clone(), empty.clone(), empty],
                    None => [empty.clone(), empty, text.clone()],
                };
                Value::tuple(parts.into_iter().map(Value::Str).collect(), &self.budget)
            }
            "splitlines" => {
                let [keep] = given.bind(name, ["keepends"], 0)?;
                let keep = keep.is_some_and(|keep| crate::template::values::compare::truth(&keep));
                let lines = self.lines(text)?;
                let ends = lines.iter().map(|(line, whole)| &whole.as_str()[line.len()..]).filter(|_| !keep);
                for end in ends.collect::<BTreeSet<_>>() {
                    self.take_out(end, text)?;
                }
                let lines = lines.into_iter().map(|(line, whole)| Value::Str(if keep { whole } else { line }));
                Value::list(lines.collect(), &self.budget)
            }
            _ => {
                given.nothing(name)?;
                Ok(Value::Bool(predicate(characters, name)))
            }
        }
    }

    /// Without white space, or the given characters, at either end or both.
    pub fn strip(&mut self, text: &Text<'t>, name: &str, set: Option<&Value<'t>>) -> Result<Text<'t>> {
        let characters = text.as_str();
        let set = match set {
            None | Some(Value::None) => None,
            Some(set) => Some(text_arg(set, name)?.as_str()),
        };
        self.budget.charge(set.map_or(1 + (text.len() >> 4), |set| text.len().saturating_mul(1 + (set.len() >> 4))))?;
        let strips = |character: char| set.map_or_else(|| is_space(character), |set| set.contains(character));
        let kept = if name == "rstrip" { characters } else { characters.trim_start_matches(strips) };
        let kept = if name == "lstrip" { kept } else { kept.trim_end_matches(strips) };
        Ok(text.part(kept))
    }

    /// Cut at a separator.
    fn cut(&mut self, text: &Text<'t>, separator: &str, limit: Limit, last: bool) -> Result<Vec<Value<'t>>> {
        if separator.is_empty() {
            return Err(Failure::failed("empty separator"));
        }
        let limit = limit.map_or(usize::MAX, |limit| limit.saturating_add(1));
        let mut parts = Vec::new();
        let mut push = |part: &str| self.budget.push(&mut parts, Value::Str(text.part(part)), OBJECT);
        if last {
            text.as_str().rsplitn(limit, separator).try_for_each(&mut push)?;
            parts.reverse();
        } else {
            text.as_str().splitn(limit, separator).try_for_each(&mut push)?;
        }
        if parts.len() > 1 {
            self.take_out(separator, text)?;
        }
        Ok(parts)
    }

    /// Cut at white space.
    fn words(&mut self, text: &Text<'t>, limit: Limit, last: bool) -> Result<Vec<Value<'t>>> {
        let mut words = Vec::new();
        let mut rest = text.as_str();
        loop {
            rest = if last { rest.trim_end_matches(is_space) } else { rest.trim_start_matches(is_space) };
            if rest.is_empty() {
                break;
            }
            let word = if limit.is_some_and(|limit| words.len() >= limit) {
                rest
            } else if last {
                rest.rsplit(is_space).next().unwrap_or(rest)
            } else {
                rest.split(is_space).next().unwrap_or(rest)
            };
            self.budget.push(&mut words, Value::Str(text.part(word)), OBJECT)?;
            rest = if last { &rest[..rest.len() - word.len()] } else { &rest[word.len()..] };
        }
        if last {
            words.reverse();
        }
        // What is left once the limit is reached keeps its inner white space, but not that at the other end.
        Ok(words)
    }

    /// Lines without and with their ends.
    pub fn lines(&mut self, text: &Text<'t>) -> Result<Vec<(Text<'t>, Text<'t>)>> {
        let mut lines = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let end = rest.find(is_line_break).unwrap_or(rest.len());
            let length =
                if rest[end..].starts_with("\r\n") { 2 } else { rest[end..].chars().next().map_or(0, char::len_utf8) };
            let line = (text.part(&rest[..end]), text.part(&rest[..end + length]));
            self.budget.push(&mut lines, line, 2 * OBJECT)?;
            rest = &rest[end + length..];
        }
        Ok(lines)
    }

    /// With one text for another.
    pub fn replace(&mut self, text: &Text<'t>, old: &str, new: &Text<'t>, limit: Limit) -> Result<Text<'t>> {
        let characters = text.as_str();
        let limit = limit.unwrap_or(usize::MAX);
        if limit == 0 || memchr::memmem::find(characters.as_bytes(), old.as_bytes()).is_none() {
            return Ok(text.clone());
        }
        self.take_out(old, text)?;
        let new = &self.put_back(new, [text])?;
        let mut made = Builder::default();
        let mut end = 0;
        self.budget.charge(text.len() + OBJECT)?;
        let mut put = |at: usize| -> Result<()> {
            self.budget.charge(new.len() + 2)?;
            made.reserve(new.len() + at - end)?;
            made.push_text(&text.slice(end..at));
            made.push_text(new);
            end = at + old.len();
            Ok(())
        };
        if old.is_empty() {
            let places = characters.char_indices().map(|(at, _)| at).chain([text.len()]);
            places.take(limit).try_for_each(&mut put)?;
        } else {
            let found = memchr::memmem::find_iter(characters.as_bytes(), old.as_bytes());
            found.take(limit).try_for_each(&mut put)?;
        }
        made.push_text(&text.slice(end..text.len()));
        Ok(made.finish())
    }

    /// Strings with a separator between.
    pub fn join_values(&mut self, separator: &Text<'t>, parts: &[Value<'t>]) -> Result<Value<'t>> {
        let length: usize = parts.iter().filter_map(Value::as_text).map(Text::len).sum();
        let length = length.saturating_add(separator.len().saturating_mul(parts.len()));
        self.budget.charge(length.saturating_add(2 * parts.len() + OBJECT))?;
        let separator = &self.put_back(separator, parts.iter().filter_map(Value::as_text))?;
        let mut joined = Builder::default();
        joined.reserve(length)?;
        for (at, part) in parts.iter().filter_map(Value::as_text).enumerate() {
            if at > 0 {
                joined.push_text(separator);
            }
            joined.push_text(part);
        }
        Ok(Value::Str(joined.finish()))
    }

    fn find(&mut self, text: &Text<'t>, name: &str, given: Given<'t>) -> Result<Value<'t>> {
        let [sought, start, stop] = given.bind(name, [UNNAMED; 3], 1)?;
        let sought = sought.unwrap_or(Value::None);
        let sought = text_arg(&sought, name)?.as_str();
        let found = match within(text, start.as_ref(), stop.as_ref())? {
            None => None,
            Some((within, first)) => {
                let characters = within.as_str();
                if name == "count" {
                    let times =
                        if sought.is_empty() { count(characters) + 1 } else { characters.matches(sought).count() };
                    return Ok(Value::int(times as i64));
                }
                let at = if name.starts_with('r') { characters.rfind(sought) } else { characters.find(sought) };
                at.map(|at| (first + count(&characters[..at])) as i64)
            }
        };
        match found {
            Some(at) => Ok(Value::int(at)),
            None if name == "count" => Ok(Value::int(0)),
            None if name.ends_with("find") => Ok(Value::int(-1)),
            None => Err(Failure::failed("substring not found")),
        }
    }
}

/// A string that an argument has to be.
pub fn text_arg<'v, 't>(value: &'v Value<'t>, of: &str) -> Result<&'v Text<'t>> {
    match value {
        Value::Str(text) => Ok(text),
        other => Err(Failure::failed(format!("{of}() argument must be str, not {}", other.type_name()))),
    }
}

fn limit_of(limit: Option<&Value<'_>>) -> Result<Limit> {
    Ok(usize::try_from(limit.map_or(Ok(-1), int_of)?).ok())
}

/// The part of a text between two places in characters, and where it begins; `None` if it begins behind the end.
fn within<'t>(
    text: &Text<'t>,
    start: Option<&Value<'t>>,
    stop: Option<&Value<'t>>,
) -> Result<Option<(Text<'t>, usize)>> {
    let (start, stop) = (int_or(start, 0)?, int_or(stop, i64::MAX)?);
    if (start, stop) == (0, i64::MAX) {
        return Ok(Some((text.clone(), 0)));
    }
    let length = text.count() as i64;
    let clip = |at: i64| if at < 0 { (at + length).max(0) } else { at };
    let (start, stop) = (clip(start), clip(stop).min(length));
    if start > length || start > stop {
        return Ok(None);
    }
    let bytes = bytes_of(text.as_str(), start as usize, stop as usize);
    Ok(Some((text.slice(bytes), start as usize)))
}

fn predicate(text: &str, name: &str) -> bool {
    let all = |holds: fn(char) -> bool| !text.is_empty() && text.chars().all(holds);
    match name {
        "isspace" => all(is_space),
        "isalpha" => all(is_letter),
        "isdecimal" => all(is_decimal),
        "isdigit" => all(cases::is_digit),
        "isalnum" => all(|character| is_letter(character) || character.is_numeric()),
        "isascii" => text.is_ascii(),
        "islower" => is_lower(text),
        _ => is_upper(text),
    }
}
