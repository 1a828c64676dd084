//! Hand-checked alignments, and every form against the crate's own iterators.

use proptest::prelude::*;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::*;
use crate::error::{Code, Place};
use crate::regex::StepBudget;
use crate::train::cut::{may_begin, may_end};
use crate::unicode::older::is_known;

fn normalizer(stages: &str) -> Normalizer {
    let stages: Vec<NormalizerStage> = serde_json::from_str(stages).expect("stages");
    Normalizer::new(&stages).expect("compiles")
}

/// Rewrite and list the source text of every character of the result.
fn origins<'t>(stages: &str, text: &'t str) -> Vec<(char, &'t str)> {
    let new = normalizer(stages).normalize(text, &mut StepBudget::default()).expect("no limit").expect("changes");
    let place = |(at, character): (usize, char)| new.alignment.source(at..at + character.len_utf8());
    new.text.char_indices().map(|found| (found.1, &text[place(found)])).collect()
}

const FORMS: [&str; 4] = [r#"[{"type":"nfc"}]"#, r#"[{"type":"nfd"}]"#, r#"[{"type":"nfkc"}]"#, r#"[{"type":"nfkd"}]"#];

fn truth(form: &str, text: &str) -> String {
    let rewrite = |text: &str| -> String {
        match form {
            r#"[{"type":"nfc"}]"# => text.nfc().collect(),
            r#"[{"type":"nfd"}]"# => text.nfd().collect(),
            r#"[{"type":"nfkc"}]"# => text.nfkc().collect(),
            _ => text.nfkd().collect(),
        }
    };
    // What the older tables do not know stays as it is.
    let parts = text.split_inclusive(|character| !is_known(character));
    let rewritten = parts.map(|part| {
        let known = part.trim_end_matches(|character| !is_known(character));
        rewrite(known) + &part[known.len()..]
    });
    rewritten.collect()
}

fn rewritten(stages: &str, text: &str) -> String {
    normalizer(stages)
        .normalize(text, &mut StepBudget::default())
        .expect("no limit")
        .map_or_else(|| text.to_owned(), |new| new.text)
}

#[test]
fn a_composed_character_covers_all_its_source_characters() {
    assert_eq!(origins(FORMS[0], "\u{1112}\u{1161}\u{11ab}"), [('한', "\u{1112}\u{1161}\u{11ab}")]);
    assert_eq!(origins(FORMS[0], "xe\u{301}y"), [('x', "x"), ('é', "e\u{301}"), ('y', "y")]);
}

#[test]
fn parts_of_a_ligature_cover_the_ligature() {
    assert_eq!(origins(FORMS[2], "aﬁx"), [('a', "a"), ('f', "ﬁ"), ('i', "ﬁ"), ('x', "x")]);
    assert_eq!(origins(FORMS[1], "é"), [('e', "é"), ('\u{301}', "é")]);
}

#[test]
fn marks_that_change_places_cover_each_other() {
    let run = "\u{301}\u{323}";
    assert_eq!(
        origins(FORMS[1], &format!("q{run}\u{334}r")),
        [
            ('q', "q"),
            ('\u{334}', "\u{301}\u{323}\u{334}"),
            ('\u{323}', "\u{301}\u{323}\u{334}"),
            ('\u{301}', "\u{301}\u{323}\u{334}"),
            ('r', "r")
        ]
    );
    // The mark in between did not compose: it lies inside what did.
    assert_eq!(origins(FORMS[0], "a\u{31b}\u{301}"), [('á', "a\u{31b}\u{301}"), ('\u{31b}', "a\u{31b}\u{301}")]);
}

#[test]
fn inserted_text_covers_nothing() {
    let prepend = r#"[{"type":"strip","left":true,"right":true},{"type":"prepend","prefix":"▁"}]"#;
    let new = normalizer(prepend).normalize("  ab ", &mut StepBudget::default()).expect("no limit").expect("changes");
    assert_eq!(new.text, "▁ab");
    assert_eq!(new.alignment.source(0..3), 2..2);
    assert_eq!(new.alignment.source(0..4), 2..3);
    assert_eq!(new.alignment.source(0..5), 2..4);
    assert_eq!(new.alignment.source(3..4), 2..3);
    assert_eq!(new.alignment.source(5..5), 4..4);
}

#[test]
fn only_u0020_is_a_prefix_space() {
    assert!(prefix_space("").is_none() && prefix_space(" a").is_none());
    for text in ["a", "\na", "\u{a0}a", "中"] {
        let new = prefix_space(text).expect("changes");
        assert_eq!(new.text, format!(" {text}"));
        assert_eq!((new.alignment.source(0..1), new.alignment.source(0..2)), (0..0, 0..1));
    }
}

#[test]
fn stages_compose() {
    let stages = r#"[{"type":"nfkd"},{"type":"strip_accents"},{"type":"lowercase"},
        {"type":"replace","pattern":{"string":"ss"},"content":"ß"}]"#;
    assert_eq!(origins(stages, "ÀﬁSs!"), [('a', "À"), ('f', "ﬁ"), ('i', "ﬁ"), ('ß', "Ss"), ('!', "!")]);
    assert!(
        normalizer(r#"[{"type":"nfd"},{"type":"nfc"}]"#)
            .normalize("é", &mut StepBudget::default())
            .expect("no limit")
            .is_none()
    );
}

#[test]
fn lowercase_looks_at_one_character_at_a_time() {
    let stages = r#"[{"type":"lowercase"}]"#;
    assert_eq!(rewritten(stages, "ΑΣ Σ"), "ας σ".replace('ς', "σ"));
    assert_eq!(origins(stages, "aİB"), [('a', "a"), ('i', "İ"), ('\u{307}', "İ"), ('b', "B")]);
}

#[test]
fn every_cased_character_is_lowercased() {
    let stages = normalizer(r#"[{"type":"lowercase"}]"#);
    for character in class(r"\P{Cn}").iter().flat_map(|range| range.start()..=range.end()) {
        let lower: String = character.to_lowercase().collect();
        let new =
            stages.normalize(&character.to_string(), &mut StepBudget::default()).expect("no limit").map(|new| new.text);
        assert_eq!(new.unwrap_or_else(|| character.to_string()), lower, "{character:?}");
    }
    // Of Unicode 17.
    assert_eq!(rewritten(r#"[{"type":"lowercase"}]"#, "\u{a7ce}\u{16ea0}"), "\u{a7cf}\u{16ebb}");
}

fn class(pattern: &str) -> regex_syntax::hir::ClassUnicode {
    match regex_syntax::parse(pattern).expect("a class").into_kind() {
        regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(class)) => class,
        other => panic!("{other:?}"),
    }
}

#[test]
fn empty_matches_are_found_between_characters_and_not_behind_a_match() {
    let replace = |regex: &str, text: &str| {
        let stage = format!(r#"[{{"type":"replace","pattern":{{"regex":"{regex}"}},"content":"_"}}]"#);
        rewritten(&stage, text)
    };
    // The right sides were printed by Hugging Face tokenizers 0.23.3.
    let text = "a b  \na\ncxxb  ";
    assert_eq!(replace("", text), "_a_ _b_ _ _\n_a_\n_c_x_x_b_ _ _");
    assert_eq!(replace("x*", text), "_a_ _b_ _ _\n_a_\n_c_b_ _ _");
    assert_eq!(replace("b|", text), "_a_ _ _ _\n_a_\n_c_x_x_ _ _");
    assert_eq!(replace("x*", ""), "");
    assert_eq!(rewritten(r#"[{"type":"replace","pattern":{"string":""},"content":"_"}]"#, "né"), "_n_é_");
}

#[test]
fn characters_below_the_first_unstable_byte_are_stable() {
    for form in [Form::Nfc, Form::Nfd, Form::Nfkc, Form::Nfkd] {
        let rewrite = FormRewrite::new(form);
        for character in ('\0'..).take_while(|character| (*character as u32) < 0x300) {
            let text = format!("{character}{character}");
            if rewrite.rewrite(&text).is_none() {
                continue;
            }
            assert!(text.as_bytes()[0] >= form.first_unstable_byte(), "{form:?} {character:?}");
        }
    }
}

#[test]
fn every_character_alone_and_between_others_is_the_crates() {
    // All but the ideographs, the syllables of Hangul and what is unassigned; of those every 61st.
    let all = ('\0'..'\u{3400}').chain('\u{a000}'..'\u{ac80}').chain('\u{d780}'..'\u{20000}');
    let all = all.chain('\u{2f800}'..'\u{2fa20}').chain(('\u{3400}'..=char::MAX).step_by(61));
    for form in FORMS {
        let normalizer = normalizer(form);
        for character in all.clone() {
            for text in [format!("{character}"), format!("e\u{323}{character}\u{301}a")] {
                let new = normalizer
                    .normalize(&text, &mut StepBudget::default())
                    .expect("no limit")
                    .map_or(text.clone(), |new| new.text);
                assert_eq!(new, truth(form, &text), "{form} {character:?}");
            }
        }
    }
}

/// Characters that decompose, compose, reorder or do nothing.
fn tricky() -> impl Strategy<Value = String> {
    let characters = proptest::sample::select(
        "ae oŁéÅﬁ한가ㄱ\u{1100}\u{1161}\u{11a8}\u{301}\u{323}\u{334}\u{345}\u{93c}\u{9c7}\u{9be}\
         \u{fb2c}\u{1d15e}\u{2126}\u{f900}\u{fdfa}㍿①½\u{3099}がﾞｶ\u{200d}👩\u{1f3fd}\n "
            .chars()
            .collect::<Vec<_>>(),
    );
    proptest::collection::vec(prop_oneof![4 => characters, 1 => any::<char>()], 0..40)
        .prop_map(|characters| characters.into_iter().collect())
}

proptest! {
    #[test]
    fn forms_are_the_crates(text in tricky()) {
        for form in FORMS {
            prop_assert_eq!(rewritten(form, &text), truth(form, &text));
        }
    }

    #[test]
    fn spans_are_monotone_and_cover_the_text(text in tricky(), stages in proptest::sample::subsequence(
        vec![r#"{"type":"nfkc"}"#, r#"{"type":"prepend","prefix":"▁▁"}"#, r#"{"type":"nfd"}"#,
             r#"{"type":"replace","pattern":{"string":" "},"content":"▁"}"#, r#"{"type":"lowercase"}"#,
             r#"{"type":"nfc"}"#], 1..6)) {
        let stages = format!("[{}]", stages.join(","));
        if let Some(new) = normalizer(&stages).normalize(&text, &mut StepBudget::default()).expect("no limit") {
            let mut before = 0..0;
            for at in 0..new.text.len() {
                let source = new.alignment.source(at..at + 1);
                prop_assert!(source.start >= before.start && source.end >= before.end);
                // No stage here drops anything, so no byte of the source is left out.
                prop_assert!(source.start <= before.end);
                before = source;
            }
            prop_assert_eq!(before.end, text.len());
            prop_assert_eq!(new.alignment.source(0..new.text.len()), 0..text.len());
        }
    }
}

#[test]
fn a_million_combining_marks_take_no_time() {
    let marks: String = ["\u{301}", "\u{323}"].iter().cycle().take(1_000_000).copied().collect();
    for form in FORMS {
        let text = format!("a{marks}b");
        let new = normalizer(form).normalize(&text, &mut StepBudget::default()).expect("no limit").expect("changes");
        assert_eq!(new.alignment.source(0..new.text.len()), 0..text.len());
        assert_eq!(new.text.chars().next_back(), Some('b'));
    }
}

#[test]
fn a_chain_of_replacements_cannot_fill_the_memory() {
    let stage = r#"{"type":"replace","pattern":{"string":"a"},"content":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#;
    let chain = normalizer(&format!("[{stage},{stage},{stage},{stage},{stage},{stage},{stage},{stage}]"));
    let error = chain.normalize("xaaax", &mut StepBudget::default()).expect_err("too long");
    assert_eq!((error.code, error.place), (Code::StepLimit, Place::Bytes(3..5)));
}

#[test]
fn many_searches_that_read_to_the_end_are_stopped() {
    let stages = r#"[{"type":"replace","pattern":{"regex":"a.*b|a"},"content":""}]"#;
    let error =
        normalizer(stages).normalize(&"a".repeat(1_000_000), &mut StepBudget::default()).expect_err("quadratic");
    assert_eq!(error.code, Code::StepLimit);
}

#[test]
fn spaces_before_a_letter_cost_one_look() {
    let stages = r#"[{"type":"replace","pattern":{"regex":"\\s+$"},"content":""}]"#;
    let text = " ".repeat(1_000_000) + "x";
    assert!(normalizer(stages).normalize(&text, &mut StepBudget::default()).expect("no limit").is_none());
}

/// Every character there is.
fn characters() -> impl Iterator<Item = char> {
    '\0'..=char::MAX
}

#[test]
fn a_character_at_which_a_corpus_may_be_cut_stays_one_in_every_stage_that_may_stand_there() {
    for stage in [FORMS[0], FORMS[1], FORMS[2], FORMS[3], r#"[{"type":"lowercase"}]"#, r#"[{"type":"strip_accents"}]"#]
    {
        let normalizer = normalizer(stage);
        for character in characters().filter(|character| may_end(*character) || may_begin(*character)) {
            let Some(new) =
                normalizer.normalize(character.encode_utf8(&mut [0; 4]), &mut StepBudget::default()).expect("no limit")
            else {
                continue;
            };
            let (first, last) = (new.text.chars().next(), new.text.chars().next_back());
            assert!(!may_end(character) || last.is_some_and(may_end), "{stage} {character:?}");
            assert!(!may_begin(character) || first.is_some_and(may_begin), "{stage} {character:?}");
        }
    }
}

#[test]
fn nothing_composes_over_a_cut_of_a_corpus_and_beside_it_only_to_what_may_stand_there() {
    for character in characters() {
        let parts: Vec<char> = std::iter::once(character).nfd().collect();
        let (first, last) = (parts[0], parts[parts.len() - 1]);
        let composes_with_one_before = is_nfc_quick(std::iter::once(character)) == IsNormalized::Maybe;
        assert!(!composes_with_one_before || !may_begin(character), "{character:?}");
        let is_composed = parts.len() > 1 && std::iter::once(character).nfc().eq(std::iter::once(character));
        assert!(!is_composed || !may_end(last) || may_end(character), "{character:?} ends in {last:?}");
        assert!(!is_composed || !may_begin(first) || may_begin(character), "{character:?} begins with {first:?}");
    }
}
