//! Hand-checked cuts, and every cut against the definition.

use proptest::prelude::*;

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
    assert_eq!(cut(&[("<m>", "r")], "a<m>  \u{a0}\n b <m> c", Parse), ["a", "[<m>  \u{a0}\n ]", "b ", "[<m> ]", "c"]);
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
    // What is not a word hides what it overlaps.
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
    assert!(["\"<s>\"", "\"text\"", "\"parse\""].iter().all(|part| error.message.contains(part)), "{}", error.message);
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
    let accents = r#"[{"type":"strip_accents"}]"#;
    assert_eq!(refusal(&[("\u{301}", "n")], accents), (Code::Unsupported, field("added_tokens[0].content")));
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

/// Leftmost-longest by trying every literal at every place.
fn by_definition(literals: &[String], text: &str) -> Vec<String> {
    let (mut cut, mut start, mut at) = (Vec::new(), 0, 0);
    while at < text.len() {
        let longest = literals
            .iter()
            .filter(|literal| text.as_bytes()[at..].starts_with(literal.as_bytes()))
            .max_by_key(|literal| literal.len());
        let Some(longest) = longest else {
            at += 1;
            continue;
        };
        cut.extend((start < at).then(|| text[start..at].to_owned()));
        cut.push(format!("[{longest}]"));
        at += longest.len();
        start = at;
    }
    cut.extend((start < at).then(|| text[start..at].to_owned()));
    cut
}

proptest! {
    #[test]
    fn cuts_are_the_definition(
        literals in proptest::collection::hash_set("[abé]{1,6}|[abcé]{2,3}|[abé]{65,70}", 1..8),
        text in "[abcé]{0,60}",
    ) {
        let literals: Vec<String> = literals.into_iter().collect();
        let tokens: Vec<(&str, &str)> = literals.iter().map(|literal| (literal.as_str(), "")).collect();
        for text in [text.clone(), format!("{text}{}{text}", literals[0])] {
            prop_assert_eq!(cut(&tokens, &text, Parse), by_definition(&literals, &text));
        }
    }
}

#[test]
fn a_literal_has_at_most_256_bytes_also_as_it_is_rewritten() {
    let longest = "é".repeat(MAX_LITERAL / 2);
    assert_eq!(cut(&[(&longest, "")], &format!("a{longest}"), Parse), ["a", &format!("[{longest}]")]);
    let refusal =
        |content: &str, stages: &str| compile(&[("a", ""), (content, "n")], stages).map_err(|error| error.code);
    assert!(refusal(&longest, "[]").is_ok());
    assert_eq!(refusal(&(longest.clone() + "é"), "[]").unwrap_err(), Code::InvalidFile);
    assert_eq!(refusal(&longest, r#"[{"type":"nfd"}]"#).unwrap_err(), Code::Unsupported);
}

#[test]
fn long_literals_that_almost_match_cost_their_length_at_a_byte_and_no_more() {
    let mut literals: Vec<String> = (1..200).map(|length| "a".repeat(length)).collect();
    literals.push("a".repeat(MAX_LITERAL - 1) + "b");
    let tokens: Vec<(&str, &str)> = literals.iter().map(|literal| (literal.as_str(), "")).collect();
    let text = "a".repeat(200_000);
    assert_eq!(cut(&tokens, &text, Parse).len(), 200_000_usize.div_ceil(199));
}
