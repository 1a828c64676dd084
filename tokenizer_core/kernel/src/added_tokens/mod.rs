//! Literals matched before everything else: leftmost-longest, with the flags of Hugging Face.

mod candidates;
mod literals;
#[cfg(test)]
#[path = "../../tests/unit/added_tokens.rs"]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use crate::config::AddedToken;
use crate::error::{Code, Error, Result};
use crate::normalize::Normalizer;
use crate::regex::StepBudget;
pub(crate) use literals::MAX_LITERAL;
use literals::{Found, Literals};

/// The meaning of a special token's literal inside a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialPolicy {
    /// An error: `reserved_literal` at the literal.
    Reject,
    /// Ordinary text; added tokens that are not special still match.
    Text,
    /// The token.
    Parse,
    /// No added token at all matches, special or not: for text that a caller put into a chat.
    Ordinary,
}

/// The pass that searches the literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Tokens with `normalized: false`, in the text as it came.
    Raw,
    /// Tokens with `normalized: true`, in the rewritten text.
    Normalized,
}

/// A stretch of the text: an added token, or what lies between two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Half-open byte range.
    pub bytes: Range<usize>,
    /// The added token's id, or `None` for text still to be encoded.
    pub id: Option<u32>,
}

/// The compiled literals.
#[derive(Debug, Default)]
pub struct AddedTokens {
    raw: Literals,
    normalized: Literals,
}

impl AddedTokens {
    /// Compile the literals of both passes. Readers of files have refused most of what is refused here; parts that a
    /// caller put together have not been checked.
    ///
    /// # Errors
    /// `duplicate_token`, `duplicate_id`, `invalid_file` for a literal that is empty or longer than 256 bytes,
    /// `unsupported` for one that the normalizer makes so; each names `added_tokens[i]`.
    pub fn new(tokens: &[AddedToken], normalizer: &Normalizer) -> Result<Self> {
        let (mut contents, mut ids) = (HashMap::new(), HashMap::new());
        let mut steps = StepBudget::default();
        let mut passes: [Vec<(String, &AddedToken)>; 2] = [Vec::new(), Vec::new()];
        let mut rewritten = HashMap::new();
        for (index, token) in tokens.iter().enumerate() {
            let refuse = |code, field: &str, message: String| {
                Err(Error::new(code, message).at_field(format!("added_tokens[{index}].{field}")))
            };
            if token.content.is_empty() {
                return refuse(Code::InvalidFile, "content", "an added token is empty".to_owned());
            }
            if token.content.len() > MAX_LITERAL {
                return refuse(Code::InvalidFile, "content", too_long(token.content.len()));
            }
            if let Some(other) = contents.insert(token.content.as_str(), index) {
                let message = format!("added_tokens[{other}] has the same content, {}", quote(&token.content));
                return refuse(Code::DuplicateToken, "content", message);
            }
            if let Some(other) = ids.insert(token.id, index) {
                return refuse(Code::DuplicateId, "id", format!("added_tokens[{other}] has the same id, {}", token.id));
            }
            if !token.normalized {
                passes[0].push((token.content.clone(), token));
                continue;
            }
            let literal =
                normalizer.normalize(&token.content, &mut steps)?.map_or_else(|| token.content.clone(), |new| new.text);
            if literal.is_empty() {
                // Hugging Face matches the nothing that is left between any two characters, and cuts the text there.
                let message =
                    format!("the normalizer leaves nothing of {}; set normalized to false", quote(&token.content));
                return refuse(Code::Unsupported, "content", message);
            }
            if literal.len() > MAX_LITERAL {
                let message = format!("as the normalizer rewrites it, {}", too_long(literal.len()));
                return refuse(Code::Unsupported, "content", message);
            }
            if let Some(other) = rewritten.insert(literal.clone(), index) {
                let message =
                    format!("the normalizer makes it and added_tokens[{other}] the same, {}", quote(&literal));
                return refuse(Code::DuplicateToken, "content", message);
            }
            passes[1].push((literal, token));
        }
        let [raw, normalized] = passes;
        Ok(Self { raw: Literals::new(&raw)?, normalized: Literals::new(&normalized)? })
    }

    /// Tell whether `pass` has no literal under `policy`: the fast way past both scans.
    pub fn is_empty(&self, pass: Pass, policy: SpecialPolicy) -> bool {
        let literals = self.pass(pass);
        match policy {
            SpecialPolicy::Ordinary => true,
            SpecialPolicy::Text => !literals.has_ordinary(),
            SpecialPolicy::Parse | SpecialPolicy::Reject => literals.is_empty(),
        }
    }

    /// Tell whether [`Self::split`] may find anything in `text`: the fast way past it for most texts without a literal.
    #[inline]
    pub fn may_be_in(&self, text: &str, pass: Pass, policy: SpecialPolicy) -> bool {
        !self.is_empty(pass, policy) && self.pass(pass).may_be_in(text)
    }

    /// Cut `text` into segments that tile it, in order, none of them empty; appends to `segments`.
    ///
    /// # Errors
    /// `reserved_literal` with the byte range in `text`, under [`SpecialPolicy::Reject`].
    pub fn split(&self, text: &str, pass: Pass, policy: SpecialPolicy, segments: &mut Vec<Segment>) -> Result<()> {
        let found = if self.is_empty(pass, policy) { None } else { Some(self.pass(pass).find(text, 0..text.len())) };
        cut(text, policy, found.into_iter().flatten(), segments)
    }

    /// Cut `text` as [`SpecialPolicy::Parse`] does, with the literals of `pass` that stand wholly inside one of
    /// `within`: ranges on borders of characters, in order and disjoint.
    pub fn split_within(&self, text: &str, pass: Pass, within: &[Range<usize>], segments: &mut Vec<Segment>) {
        let found = within.iter().flat_map(|range| self.pass(pass).find(text, range.clone()));
        // Nothing is reserved in what is parsed, so there is no error.
        let _ = cut(text, SpecialPolicy::Parse, found, segments);
    }

    /// The literals of `pass`, special or not, as [`SpecialPolicy::Parse`] finds them in the whole text.
    pub fn literals<'t>(&'t self, text: &'t str, pass: Pass) -> impl Iterator<Item = (Range<usize>, u32)> + 't {
        self.pass(pass).find(text, 0..text.len()).map(|found| (found.bytes, found.token.id))
    }

    fn pass(&self, pass: Pass) -> &Literals {
        match pass {
            Pass::Raw => &self.raw,
            Pass::Normalized => &self.normalized,
        }
    }
}

/// Cut `text` at what was found in it, with the white space that its flags take.
fn cut<'t>(
    text: &str,
    policy: SpecialPolicy,
    found: impl Iterator<Item = Found<'t>>,
    segments: &mut Vec<Segment>,
) -> Result<()> {
    // Where the text between tokens begins.
    let mut rest = 0;
    // White space after a token with `rstrip`, looked at once however many tokens end in it.
    let mut space_end = 0;
    let first = segments.len();
    for Found { token, bytes: Range { mut start, mut end } } in found {
        if token.special && policy == SpecialPolicy::Text {
            continue;
        }
        if token.special && policy == SpecialPolicy::Reject {
            return Err(reserved(token, start..end));
        }
        if token.lstrip {
            let stripped = text[rest..start.max(rest)].trim_end().len();
            start = rest + stripped;
            if start >= end {
                // The token before has taken all of it as white space.
                continue;
            }
        }
        if token.rstrip {
            if space_end <= end {
                space_end = text.len() - text[end..].trim_start().len();
            }
            end = space_end.max(end);
        }
        if start < rest {
            // It begins in the white space that the token before took: there the one before ends.
            if let Some(before) = segments.last_mut() {
                before.bytes.end = start;
            }
        } else if start > rest {
            segments.push(Segment { bytes: rest..start, id: None });
        }
        segments.push(Segment { bytes: start..end, id: Some(token.id) });
        rest = end;
    }
    if rest < text.len() {
        segments.push(Segment { bytes: rest..text.len(), id: None });
    }
    debug_assert!(segments[first..].iter().all(|segment| !segment.bytes.is_empty()), "a segment is empty");
    Ok(())
}

/// The fault of a literal of this many bytes.
pub(crate) fn too_long(bytes: usize) -> String {
    format!("the literal has {bytes} bytes; give it at most {MAX_LITERAL}")
}

fn reserved(token: &AddedToken, bytes: Range<usize>) -> Error {
    let message = format!(
        "the text holds {}, the literal of a special token; pass special_tokens=\"text\" to encode it as ordinary \
         text or \"parse\" to make it the token",
        quote(&token.content)
    );
    Error::new(Code::ReservedLiteral, message).at_bytes(bytes)
}

/// The literal in quotes, cut where it would fill the message.
fn quote(literal: &str) -> String {
    let end = literal.char_indices().nth(100).map_or(literal.len(), |(end, _)| end);
    format!("{:?}{}", &literal[..end], if end < literal.len() { "..." } else { "" })
}
