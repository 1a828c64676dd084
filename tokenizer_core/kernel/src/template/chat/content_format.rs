//! The form in which a template reads a message's content: one string or a list of parts.
//!
//! Clients send either. A template that wants the other form prints a list into the prompt, or nothing at all.

use super::messages::{as_parts, fields, joined, with};
use super::places::Places;
use super::template::{Chat, ContentFormat, PROBED, Template};
use crate::template::run::clock::Clock;
use crate::template::syntax::failure::Result;
use crate::template::values::budget::Budget;
use crate::template::values::value::Value;

/// Steps of a probe. Templates that read messages take some hundreds; one that takes more is a bomb, which would go off
/// for every probe.
const PROBE_STEPS: u64 = 1 << 16;

const SPECIALS: [(&str, &str); 7] = [
    ("bos_token", "<bos>"),
    ("eos_token", "<eos>"),
    ("pad_token", "<pad>"),
    ("unk_token", "<unk>"),
    ("sep_token", "<sep>"),
    ("cls_token", "<cls>"),
    ("mask_token", "<mask>"),
];

/// Contents of a message that no caller wrote, and the texts in them: a string, two parts, one part. Some templates
/// read only the first part, and no string; and a few take strings as parts.
const STRING: Probe = (r#""probe one probe two""#, &["probe one", "probe two"]);
const TWO: Probe =
    (r#"[{"type":"text","text":"probe one"},{"type":"text","text":"probe two"}]"#, &["probe one", "probe two"]);
const ONE: Probe = (r#"[{"type":"text","text":"probe one"}]"#, &["probe one"]);
const STRINGS: Probe = (r#"["probe one","probe two"]"#, &["probe one", "probe two"]);

type Probe = (&'static str, &'static [&'static str]);

const READS_STRINGS: usize = 2;
const TAKES_PARTS: usize = 4;
const READS_STRING_PARTS: usize = 8;
const WRITES: usize = 16;

impl Template {
    /// Tell whether a role's messages are written if their content is a string, as by all templates but a few.
    pub fn reads_strings(&self, role: &str) -> bool {
        self.found(role).is_none_or(|found| found & READS_STRINGS != 0)
    }

    /// Tell whether a role's parts are handed on as they are. The answer is what vLLM finds in the template, unless
    /// messages show that only the other form works: a template may loop over the parts of users, and print the content
    /// of the system as it is or only its first part.
    pub fn takes_parts(&self, role: &str) -> bool {
        // As in vLLM: most templates that loop over parts do not do so for results of tools.
        role != "tool" && self.found(role).map_or(self.part_loops.any, |found| found & TAKES_PARTS != 0)
    }

    /// Tell whether strings are taken as parts of the content of a probed role's messages.
    pub fn reads_string_parts(&self, role: &str) -> bool {
        self.found(role).is_some_and(|found| found & READS_STRING_PARTS != 0)
    }

    /// Tell whether a probed role's messages are written at all.
    pub fn writes(&self, role: &str) -> bool {
        self.found(role).is_none_or(|found| found & WRITES != 0)
    }

    /// Tell whether vLLM hands on parts: its finding in the template, unless the format is set.
    pub(super) fn vllm_parts(&self, format: ContentFormat) -> bool {
        match format {
            ContentFormat::Parts => true,
            ContentFormat::String => false,
            ContentFormat::Sent | ContentFormat::Auto => self.part_loops.found_by_vllm,
        }
    }

    fn found(&self, role: &str) -> Option<usize> {
        let at = PROBED.iter().position(|probed| *probed == role)?;
        let found = self.found[at].get_or_init(|| {
            let bits = usize::from(self.probe_strings(role)) * READS_STRINGS;
            let bits = bits + usize::from(self.probe_parts(role)) * TAKES_PARTS;
            let bits = bits + usize::from(self.works(role, STRINGS)) * READS_STRING_PARTS;
            let bits = bits + usize::from(self.works(role, STRING) || self.works(role, ONE)) * WRITES;
            std::num::NonZeroUsize::MIN.saturating_add(bits)
        });
        Some(found.get())
    }

    fn probe_strings(&self, role: &str) -> bool {
        self.works(role, STRING) || !self.works(role, ONE)
    }

    fn probe_parts(&self, role: &str) -> bool {
        let likely = if self.part_loops.any { [(TWO, true), (STRING, false)] } else { [(STRING, false), (TWO, true)] };
        let found = likely.into_iter().chain([(ONE, true)]).find(|(probe, _)| self.works(role, *probe));
        found.map_or(self.part_loops.any, |(_, parts)| parts)
    }

    /// Tell whether the template writes the text of a message with this content, and writes it as text.
    fn works(&self, role: &str, (content, texts): Probe) -> bool {
        let message = format!(r#"{{"role":"{role}","content":{content}}}"#);
        let user = r#"{"role":"user","content":"question"}"#;
        let messages = match role {
            "assistant" => format!("[{user},{message}]"),
            "user" => format!("[{message}]"),
            _ => format!("[{message},{user}]"),
        };
        let chat =
            Chat { messages: &messages, specials: SPECIALS.to_vec(), most: Some(PROBE_STEPS), ..Chat::default() };
        let Ok(rendering) = self.render(&chat, &Clock::default()) else { return false };
        texts.iter().all(|text| rendering.text.contains(text)) && !prints_parts(&rendering.text)
    }

    /// Give a message's text the form that the template wants; every part keeps its origin.
    pub(super) fn fitted<'t>(
        &self,
        message: Value<'t>,
        format: ContentFormat,
        places: &mut Places<'t>,
        at: u32,
        budget: &Budget,
    ) -> Result<Value<'t>> {
        let Some(fields) = fields(&message).filter(|_| format != ContentFormat::Sent) else { return Ok(message) };
        let role = fields.get_str("role").and_then(Value::as_str).unwrap_or_default();
        let is_auto = format == ContentFormat::Auto;
        let content = match fields.get_str("content") {
            Some(Value::Str(text)) if format == ContentFormat::Parts || (is_auto && !self.reads_strings(role)) => {
                Some(as_parts(text, budget)?)
            }
            Some(Value::List(parts)) if format == ContentFormat::String || (is_auto && !self.takes_parts(role)) => {
                // vLLM leaves empty texts out, but keeps them in results of tools where the template loops over parts.
                joined(&parts.values, role == "tool" && self.part_loops.any, places, at)
            }
            _ => None,
        };
        content.map_or(Ok(message.clone()), |content| with(fields, "content", content, budget))
    }
}

/// Tell whether a list of parts was printed, not read: `'type': 'text'` or a part's text, with either kind of quotes.
fn prints_parts(text: &str) -> bool {
    fn behind<'t>(text: &'t str, word: &str) -> Option<&'t str> {
        text.strip_prefix(['\'', '"'])?.strip_prefix(word)?.strip_prefix(['\'', '"'])
    }
    text.match_indices(['\'', '"']).any(|(at, _)| {
        let text = &text[at..];
        let value = behind(text, "type").and_then(|rest| rest.trim_start().strip_prefix(':'));
        behind(text, "probe one").is_some() || value.is_some_and(|rest| behind(rest.trim_start(), "text").is_some())
    })
}
