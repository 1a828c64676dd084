//! The last message goes on: its end is marked before the rendering, which is cut there.

use super::messages::{REASONING, with};
use super::template::Rendering;
use crate::template::syntax::failure::{Failure, Kind, Result};
use crate::template::syntax::strings::is_space;
use crate::template::values::budget::Budget;
use crate::template::values::compare::equal;
use crate::template::values::text::{Builder, TEMPLATE, Text};
use crate::template::values::value::{Dict, Value};

/// Marks where the last message ends, as in Hugging Face.
const MARK: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

fn refusal(message: &str) -> Box<Failure> {
    let mut failure = Failure::new(Kind::Input, message);
    failure.field = Some("continue_final_message".to_owned());
    failure
}

/// Mark where a field of a message ends; also returns the field's text as it was.
///
/// Reasoning stands in a message by several names: it is marked by each, and the template reads one.
pub fn marked<'t>(
    message: Option<Value<'t>>,
    field: &str,
    source: &str,
    budget: &Budget,
) -> Result<(Value<'t>, Text<'t>)> {
    let refuse = || refusal(&format!("the last message has no text in {field} to continue"));
    let Some(Value::Dict(mut message)) = message else { return Err(refuse()) };
    let last = message.get_str(field).cloned().ok_or_else(refuse)?;
    let mut names = vec![field];
    if REASONING.contains(&field) {
        names.clear();
        for name in REASONING {
            if let Some(value) = message.get_str(name)
                && equal(value, &last, budget)?
            {
                names.push(name);
            }
        }
    }
    if !names.iter().any(|name| source.contains(name)) {
        return Err(refusal(&format!("the chat template does not read {field}, so it cannot be continued")));
    }
    let mark = |text: &Text<'t>| {
        let mut marked = Builder::with_capacity(text.len() + MARK.len());
        marked.push_text(text);
        marked.push(MARK, TEMPLATE);
        Value::Str(marked.finish())
    };
    let (value, text) = match &last {
        Value::Str(text) => (mark(text), text.clone()),
        Value::List(parts) => {
            let has_text = |part: &Value<'t>| matches!(part, Value::Dict(part) if part.get_str("text").is_some());
            let at = parts.values.iter().rposition(has_text).ok_or_else(refuse)?;
            let Value::Dict(part) = &parts.values[at] else { return Err(refuse()) };
            let Some(Value::Str(text)) = part.get_str("text") else { return Err(refuse()) };
            let mut values = parts.values.clone();
            values[at] = with(part, "text", mark(text), budget)?;
            (Value::list(values, budget)?, text.clone())
        }
        _ => return Err(refuse()),
    };
    let entries = message.entries().iter().map(|(key, old)| {
        let is_marked = key.as_str().is_some_and(|key| names.contains(&key));
        (key.clone(), if is_marked { value.clone() } else { old.clone() })
    });
    message = Dict::of(entries.collect(), budget)?;
    Ok((Value::Dict(message), text))
}

impl Rendering {
    /// Cut behind the mark of the last message, whose text was `last`.
    pub fn cut_behind(&mut self, last: &str) -> Result<()> {
        let found = self.text.rfind(MARK.trim_end()).filter(|_| self.text.contains(last.trim_matches(is_space)));
        let Some(end) = found else {
            return Err(refusal(
                "the chat template does not write the last message as it is, so it cannot be continued",
            ));
        };
        let is_whole = self.text[end..].starts_with(MARK);
        self.text.truncate(end);
        if !is_whole {
            self.text.truncate(self.text.trim_end_matches(is_space).len());
        }
        let length = self.text.len();
        self.spans.retain_mut(|span| {
            span.bytes.end = span.bytes.end.min(length);
            span.bytes.start < length
        });
        self.turns.retain_mut(|turn| {
            turn.bytes.end = turn.bytes.end.min(length);
            turn.bytes.start < length
        });
        self.generated.retain_mut(|block| {
            block.end = block.end.min(length);
            block.start < length
        });
        Ok(())
    }
}
