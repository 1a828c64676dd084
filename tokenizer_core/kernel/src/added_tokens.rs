//! Literals matched before everything else: leftmost-longest, with the flags of Hugging Face.

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::config::AddedToken;
use crate::error::{Code, Error, Result};
use crate::normalize::Normalizer;
use crate::unicode::is_word;

/// What the literal of a special token inside a text means.
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

/// Which of the two passes looks for its literals.
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

/// The literals of one pass.
#[derive(Debug, Default)]
struct Literals {
    automaton: Option<AhoCorasick>,
    /// By pattern of the automaton.
    tokens: Vec<AddedToken>,
}

/// A literal found in a text.
struct Found<'t> {
    token: &'t AddedToken,
    bytes: Range<usize>,
}

impl AddedTokens {
    /// Compile the literals of both passes.
    ///
    /// A literal of the second pass that the normalizer makes empty is never found, as in Hugging Face.
    ///
    /// # Errors
    /// `duplicate_token`, `duplicate_id`, `invalid_file` for an empty literal; each names `added_tokens[i]`.
    pub fn new(tokens: &[AddedToken], normalizer: &Normalizer) -> Result<Self> {
        let (mut contents, mut ids) = (HashMap::new(), HashMap::new());
        let mut passes: [Vec<(String, &AddedToken)>; 2] = [Vec::new(), Vec::new()];
        let mut rewritten = HashMap::new();
        for (index, token) in tokens.iter().enumerate() {
            let refuse = |code, field: &str, message: String| {
                Err(Error::new(code, message).at_field(format!("added_tokens[{index}].{field}")))
            };
            if token.content.is_empty() {
                return refuse(Code::InvalidFile, "content", "an added token is empty".to_owned());
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
            let literal = normalizer.normalize(&token.content)?.map_or_else(|| token.content.clone(), |new| new.text);
            if literal.is_empty() {
                continue;
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

    /// Whether `pass` has any literal at all under `policy`: the fast way past both scans.
    pub fn is_empty(&self, pass: Pass, policy: SpecialPolicy) -> bool {
        let literals = self.pass(pass);
        match policy {
            SpecialPolicy::Ordinary => true,
            SpecialPolicy::Text => literals.tokens.iter().all(|token| token.special),
            SpecialPolicy::Parse | SpecialPolicy::Reject => literals.tokens.is_empty(),
        }
    }

    /// Cut `text` into segments that tile it, in order, none of them empty; appends to `segments`.
    ///
    /// # Errors
    /// `reserved_literal` with the byte range in `text`, under [`SpecialPolicy::Reject`].
    pub fn split(&self, text: &str, pass: Pass, policy: SpecialPolicy, segments: &mut Vec<Segment>) -> Result<()> {
        // Where the text between tokens begins.
        let mut rest = 0;
        // White space behind a token with `rstrip`, looked at once however many tokens end in it.
        let mut space_end = 0;
        let first = segments.len();
        let found = if self.is_empty(pass, policy) { None } else { Some(self.pass(pass).find(text)) };
        for Found { token, bytes: Range { mut start, mut end } } in found.into_iter().flatten() {
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

    /// Every literal of a special token that `text` holds, with the byte range of the literal and the id, in order.
    ///
    /// # Errors
    /// `step_limit` from the normalizer.
    pub fn reserved_literals(&self, text: &str, normalizer: &Normalizer) -> Result<Vec<(Range<usize>, u32)>> {
        let mut reserved = special(self.raw.find(text));
        if self.normalized.tokens.iter().any(|token| token.special) {
            let mut segments = Vec::new();
            self.split(text, Pass::Raw, SpecialPolicy::Parse, &mut segments)?;
            for Segment { bytes, .. } in segments.into_iter().filter(|segment| segment.id.is_none()) {
                let offset = bytes.start;
                let rewritten = normalizer.normalize(&text[bytes.clone()])?;
                let found = match &rewritten {
                    None => special(self.normalized.find(&text[bytes])),
                    Some(new) => special(self.normalized.find(&new.text))
                        .into_iter()
                        .map(|(bytes, id)| (new.alignment.source(bytes), id))
                        .collect(),
                };
                reserved.extend(found.into_iter().map(|(bytes, id)| (bytes.start + offset..bytes.end + offset, id)));
            }
            reserved.sort_by_key(|(bytes, _)| bytes.start);
        }
        Ok(reserved)
    }

    fn pass(&self, pass: Pass) -> &Literals {
        match pass {
            Pass::Raw => &self.raw,
            Pass::Normalized => &self.normalized,
        }
    }
}

impl Literals {
    fn new(literals: &[(String, &AddedToken)]) -> Result<Self> {
        if literals.is_empty() {
            return Ok(Self::default());
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(literals.iter().map(|(literal, _)| literal))
            .map_err(|error| Error::new(Code::InvalidFile, error.to_string()).at_field("added_tokens"))?;
        Ok(Self { automaton: Some(automaton), tokens: literals.iter().map(|(_, token)| (*token).clone()).collect() })
    }

    /// The literals of `text`, leftmost-longest, none overlapping. One that ought to be a single word and is not
    /// hides what it overlaps, as in Hugging Face.
    fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Found<'t>> {
        self.automaton.iter().flat_map(move |automaton| automaton.find_iter(text)).filter_map(move |found| {
            let (token, bytes) = (&self.tokens[found.pattern().as_usize()], found.range());
            let inside_word = token.single_word
                && (text[..bytes.start].chars().next_back().is_some_and(is_word)
                    || text[bytes.end..].chars().next().is_some_and(is_word));
            (!inside_word).then_some(Found { token, bytes })
        })
    }
}

fn special<'t>(found: impl Iterator<Item = Found<'t>>) -> Vec<(Range<usize>, u32)> {
    found.filter(|found| found.token.special).map(|found| (found.bytes, found.token.id)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids are the positions; `flags` holds `l`, `r`, `w`, `n`, `s`.
    fn compile(tokens: &[(&str, &str)], stages: &str) -> Result<AddedTokens> {
        let tokens: Vec<AddedToken> = (0..)
            .zip(tokens)
            .map(|(id, (content, flags))| AddedToken {
                id,
                content: (*content).to_owned(),
                special: flags.contains('s'),
                lstrip: flags.contains('l'),
                rstrip: flags.contains('r'),
                single_word: flags.contains('w'),
                normalized: flags.contains('n'),
            })
            .collect();
        let stages: Vec<crate::config::NormalizerStage> = serde_json::from_str(stages).expect("stages");
        AddedTokens::new(&tokens, &Normalizer::new(&stages).expect("compiles"))
    }

    /// The segments of the first pass as text, a token as `[text]`.
    fn cut(tokens: &[(&str, &str)], text: &str, policy: SpecialPolicy) -> Vec<String> {
        let mut segments = Vec::new();
        let compiled = compile(tokens, "[]").expect("compiles");
        compiled.split(text, Pass::Raw, policy, &mut segments).expect("splits");
        segments
            .iter()
            .map(|segment| match segment.id {
                Some(_) => format!("[{}]", &text[segment.bytes.clone()]),
                None => text[segment.bytes.clone()].to_owned(),
            })
            .collect()
    }

    use SpecialPolicy::{Ordinary, Parse, Reject, Text};

    #[test]
    fn the_longest_of_the_leftmost_wins() {
        let tokens = [("<a>", ""), ("<a><b>", ""), ("b>c", "")];
        assert_eq!(cut(&tokens, "x<a><b>cy<a>", Parse), ["x", "[<a><b>]", "cy", "[<a>]"]);
    }

    #[test]
    fn strips_take_all_white_space_and_no_more() {
        assert_eq!(cut(&[("<m>", "l")], "a  \t\n<m> b<m>", Parse), ["a", "[  \t\n<m>]", " b", "[<m>]"]);
        assert_eq!(
            cut(&[("<m>", "r")], "a<m>  \u{a0}\n b <m> c", Parse),
            ["a", "[<m>  \u{a0}\n ]", "b ", "[<m> ]", "c"]
        );
        assert_eq!(cut(&[("<l>", "l"), ("<r>", "r")], "<r>   <l>", Parse), ["[<r>   ]", "[<l>]"]);
    }

    #[test]
    fn a_token_of_white_space_after_a_strip_ends_it() {
        // Hugging Face 0.23.3 gives `<r>   `, two spaces, one space and `x`: the same ids, spans that overlap.
        assert_eq!(cut(&[("<r>", "r"), ("  ", "")], "<r>   x", Parse), ["[<r>]", "[  ]", " x"]);
        // Hugging Face drops the second token here, and panics with more spaces.
        assert_eq!(cut(&[("<r>", "r"), ("   ", "l")], "<r>   x", Parse), ["[<r>   ]", "x"]);
        assert_eq!(cut(&[("<r>", "r"), ("   ", "l")], "<r>     x", Parse), ["[<r>     ]", "x"]);
    }

    #[test]
    fn a_single_word_stands_between_other_characters() {
        let tokens = [("tok", "w")];
        assert_eq!(cut(&tokens, "tok-tok", Parse), ["[tok]", "-", "[tok]"]);
        for text in ["的tok的", "tok\u{301}", "tok\u{200d}", "_tok", "tok1", "atok b"] {
            assert_eq!(cut(&tokens, text, Parse), [text]);
        }
        // What is no word hides what it overlaps.
        assert_eq!(cut(&[("abc", "w"), ("bcd", "")], "xabcd", Parse), ["xabcd"]);
    }

    #[test]
    fn policies_decide_about_special_literals() {
        let tokens = [("<s>", "s"), ("<t>", "")];
        assert_eq!(cut(&tokens, "<s><t>", Parse), ["[<s>]", "[<t>]"]);
        assert_eq!(cut(&tokens, "<s><t>", Text), ["<s>", "[<t>]"]);
        assert_eq!(cut(&tokens, "<s><t>", Ordinary), ["<s><t>"]);
        assert_eq!(cut(&tokens, "<t>!", Reject), ["[<t>]", "!"]);
        let compiled = compile(&tokens, "[]").expect("compiles");
        let error = compiled.split("é<s>", Pass::Raw, Reject, &mut Vec::new()).expect_err("reserved");
        assert_eq!((error.code, error.place), (Code::ReservedLiteral, crate::error::Place::Bytes(2..5)));
        assert!(
            ["\"<s>\"", "\"text\"", "\"parse\""].iter().all(|part| error.message.contains(part)),
            "{}",
            error.message
        );
    }

    #[test]
    fn reserved_literals_are_found_in_both_passes() {
        let stages = r#"[{"type":"nfkc"},{"type":"lowercase"}]"#;
        let compiled = compile(&[("<S>", "sn"), ("<raw>", "s"), ("<t>", "n")], stages).expect("compiles");
        let stages: Vec<crate::config::NormalizerStage> = serde_json::from_str(stages).expect("stages");
        let normalizer = Normalizer::new(&stages).expect("compiles");
        let found = compiled.reserved_literals("ﬁ＜S＞<raw><t><s>", &normalizer).expect("no limit");
        assert_eq!(found, [(3..10, 0), (10..15, 1), (18..21, 0)]);
    }

    #[test]
    fn bad_tokens_are_refused_by_place() {
        let refusal = |tokens: &[(&str, &str)], stages: &str| {
            let error = compile(tokens, stages).expect_err("refused");
            (error.code, error.place)
        };
        let field = |name: &str| crate::error::Place::Field(name.to_owned());
        assert_eq!(refusal(&[("a", ""), ("", "")], "[]"), (Code::InvalidFile, field("added_tokens[1].content")));
        assert_eq!(refusal(&[("a", ""), ("a", "n")], "[]"), (Code::DuplicateToken, field("added_tokens[1].content")));
        let lower = r#"[{"type":"lowercase"}]"#;
        assert_eq!(refusal(&[("a", "n"), ("A", "n")], lower), (Code::DuplicateToken, field("added_tokens[1].content")));
        let token = |id, content: &str| AddedToken {
            id,
            content: content.to_owned(),
            special: false,
            lstrip: false,
            rstrip: false,
            single_word: false,
            normalized: false,
        };
        let error = AddedTokens::new(&[token(1, "a"), token(1, "b")], &Normalizer::default()).expect_err("refused");
        assert_eq!((error.code, error.place), (Code::DuplicateId, field("added_tokens[1].id")));
    }
}
