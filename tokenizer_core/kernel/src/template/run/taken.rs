//! Text that a template takes out of a caller's text and puts back is the caller's, although it is the template's
//! literal: `content.split("<|end|>") | join("<|end|>")` is the text that the caller wrote.

use std::collections::BTreeSet;

use super::state::Run;
use crate::template::syntax::failure::Result;
use crate::template::values::budget::OBJECT;
use crate::template::values::text::{Builder, Origin, Text};

impl<'t> Run<'t> {
    /// Remember that a literal was cut out of a text.
    pub fn take_out(&mut self, literal: &str, from: &Text<'t>) -> Result<()> {
        let origins = origins([from]);
        if literal.is_empty() || origins.is_empty() {
            return Ok(());
        }
        self.budget.charge((OBJECT + literal.len()).saturating_mul(origins.len()))?;
        self.taken.entry(folded(literal).0).or_default().extend(origins);
        Ok(())
    }

    /// Return the text that a template puts between or into parts, with the caller as the author of all that was taken
    /// out, in whatever case. If none of the parts held the literal, the first of a caller's is named.
    pub fn put_back<'v>(&mut self, text: &Text<'t>, parts: impl IntoIterator<Item = &'v Text<'t>>) -> Result<Text<'t>>
    where
        't: 'v,
    {
        if self.taken.is_empty() || text.is_empty() {
            return Ok(text.clone());
        }
        self.budget.charge((self.taken.len() + 2).saturating_mul(text.len()))?;
        let fields = origins(parts);
        let (folded, places) = folded(text.as_str());
        let original = |at: usize| places.get(at).map_or(text.len(), |place| *place as usize);
        let mut found = Vec::new();
        for (literal, owners) in &self.taken {
            if literal.len() > folded.len() {
                continue;
            }
            let mut owner = None;
            for at in memchr::memmem::find_iter(folded.as_bytes(), literal) {
                let owner = *owner.get_or_insert_with(|| {
                    let owner = owners.intersection(&fields).next().or(fields.first()).or(owners.first());
                    owner.copied().unwrap_or_default()
                });
                self.budget.push(&mut found, (original(at), original(at + literal.len()), owner), 4)?;
            }
        }
        if found.is_empty() {
            return Ok(text.clone());
        }
        found.sort_unstable();
        let (mut made, mut end) = (Builder::with_capacity(text.len()), 0);
        for (start, stop, owner) in found {
            if stop <= end {
                continue;
            }
            made.push_text(&text.slice(end..start.max(end)));
            made.push(&text.as_str()[start.max(end)..stop], owner);
            end = stop;
        }
        made.push_text(&text.slice(end..text.len()));
        Ok(made.finish())
    }
}

/// The origins of a caller's in these texts.
fn origins<'v, 't: 'v>(texts: impl IntoIterator<Item = &'v Text<'t>>) -> BTreeSet<Origin> {
    let mut origins = BTreeSet::new();
    let mut last = 0;
    for text in texts {
        text.each_run(|_, origin| {
            // Most stretches are of the origin of the one before.
            if origin > 1 && origin | 1 != last {
                origins.insert(origin & !1);
                last = origin | 1;
            }
        });
    }
    origins
}

/// In lower case, where a character stays one; and where each byte's character begins in the original.
fn folded(text: &str) -> (String, Vec<u32>) {
    let (mut folded, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for (at, character) in text.char_indices() {
        let mut lower = character.to_lowercase();
        folded.push(match (lower.next(), lower.next()) {
            (Some(lower), None) => lower,
            _ => character,
        });
        places.resize(folded.len(), at as u32);
    }
    (folded, places)
}
