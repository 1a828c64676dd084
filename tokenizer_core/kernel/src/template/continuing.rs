//! The last message goes on: its end is marked before the rendering, which is cut there.

use super::budget::Budget;
use super::failure::{Failure, Kind, Result};
use super::messages::with;
use super::render::Rendering;
use super::strings::is_space;
use super::text::{Builder, TEMPLATE, Text};
use super::value::Value;

/// Marks where the last message ends, as in Hugging Face.
const MARK: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

fn refusal(message: &str) -> Box<Failure> {
    let mut failure = Failure::new(Kind::Input, message);
    failure.field = Some("continue_final_message".to_owned());
    failure
}

/// Mark the end of a message's text; also returns the text as it was.
pub fn marked<'t>(message: Option<Value<'t>>, budget: &Budget) -> Result<(Value<'t>, Text<'t>)> {
    let refuse = || refusal("the last message has no text to continue");
    let Some(Value::Dict(message)) = message else { return Err(refuse()) };
    let mark = |text: &Text<'t>| {
        let mut marked = Builder::with_capacity(text.len() + MARK.len());
        marked.push_text(text);
        marked.push(MARK, TEMPLATE);
        Value::Str(marked.finish())
    };
    let (content, last) = match message.get_str("content") {
        Some(Value::Str(text)) => (mark(text), text.clone()),
        Some(Value::List(parts)) => {
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
    Ok((with(&message, "content", content, budget)?, last))
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
