//! Which entries the ids of added tokens may take, and which conflict.

use super::*;
use crate::error::Place;
use crate::vocabulary::Merge;

/// 256 bytes under their own ids; 256 `ab` by a merge; 257 `<s>`; 258 the opaque `a b`; 300 `zz` without a merge.
fn vocabulary() -> Vocabulary {
    let mut tokens: Vec<(u32, Vec<u8>)> = (0..256).map(|id| (id, vec![id as u8])).collect();
    tokens.extend([(256, b"ab".to_vec()), (257, b"<s>".to_vec()), (258, b"a b".to_vec()), (300, b"zz".to_vec())]);
    let merges = vec![Merge { left: 97, right: 98, product: 256 }];
    Vocabulary::new(tokens, merges, vec![258]).unwrap()
}

fn refusal(added: &[(u32, &str)]) -> (Code, String) {
    let error = reconcile_added_tokens(&vocabulary(), added, &HashSet::new()).unwrap_err();
    let Place::Field(field) = error.place else { panic!("no field: {error:?}") };
    (error.code, field)
}

#[test]
fn entries_that_are_only_literals_are_left_out() {
    let whole = vocabulary();
    let kept =
        reconcile_added_tokens(&whole, &[(257, "<s>"), (258, "a b"), (300, "zz"), (400, "new")], &HashSet::new())
            .unwrap();
    assert_eq!(kept.id_limit(), 257);
    assert!(!kept.is_opaque(258));
    assert_eq!(kept.merges(), vocabulary().merges());
    let written_without = Vocabulary::new(
        kept.tokens().map(|(id, bytes)| (id, bytes.to_vec())).collect(),
        vocabulary().merges().to_vec(),
        Vec::new(),
    );
    assert_eq!(kept.digest(), written_without.unwrap().digest());
}

#[test]
fn entries_that_merges_or_bytes_need_stay() {
    let whole = vocabulary();
    let kept = reconcile_added_tokens(&whole, &[(256, "ab"), (33, "!")], &HashSet::new()).unwrap();
    assert!(matches!(kept, Cow::Borrowed(_)), "nothing is left out");
}

#[test]
fn entries_that_text_may_become_stay() {
    let whole = vocabulary();
    let kept = reconcile_added_tokens(&whole, &[(257, "<s>"), (258, "a b"), (300, "zz")], &[258, 300].into()).unwrap();
    assert_eq!([257, 258, 300].map(|id| kept.bytes(id)), [None, None, Some(&b"zz"[..])]);
}

#[test]
fn disagreements_are_conflicts() {
    assert_eq!(refusal(&[(400, "new"), (301, "<s>")]), (Code::IdConflict, "added_tokens[1].id".into()));
    assert_eq!(refusal(&[(257, "other")]), (Code::IdConflict, "added_tokens[0].id".into()));
    assert_eq!(refusal(&[(256, "<s>"), (257, "ab")]).0, Code::IdConflict);
    // The entry `é` is the byte 0xE9, not the two bytes of the letter.
    assert_eq!(refusal(&[(0xE9, "é")]), (Code::IdConflict, "added_tokens[0].id".into()));
}

/// The literal `Ã©` is how a file spells the entry of `é`, and `né` that of two bytes that no text ends with.
#[test]
fn an_entry_that_other_text_may_become_is_a_conflict() {
    let mut tokens: Vec<(u32, Vec<u8>)> = (0..256).map(|id| (id, vec![id as u8])).collect();
    tokens.extend([(256, "é".into()), (257, vec![b'n', 0xE9])]);
    let vocabulary = Vocabulary::new(tokens, Vec::new(), Vec::new()).unwrap();
    let added = [(256, "Ã©"), (257, "né")];
    assert_eq!(reconcile_added_tokens(&vocabulary, &added, &[257].into()).unwrap().id_limit(), 256);
    let error = reconcile_added_tokens(&vocabulary, &added, &[256, 257].into()).unwrap_err();
    assert_eq!((error.code, error.place), (Code::IdConflict, Place::Field("added_tokens[0].id".into())));
}

#[test]
fn duplicates_and_absurd_ids_are_refused() {
    assert_eq!(refusal(&[(400, "x"), (400, "y")]), (Code::DuplicateId, "added_tokens[1].id".into()));
    assert_eq!(refusal(&[(400, "x"), (401, "x")]), (Code::DuplicateToken, "added_tokens[1].content".into()));
    assert_eq!(refusal(&[(1 << 31, "x")]), (Code::IdOutOfRange, "added_tokens[0].id".into()));
    assert_eq!(refusal(&[(400, &"x".repeat(5000))]), (Code::InvalidFile, "added_tokens[0].content".into()));
    assert_eq!(refusal(&[(400, "")]), (Code::InvalidFile, "added_tokens[0].content".into()));
}
