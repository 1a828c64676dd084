//! The same ids as joining the lowest pair again and again, whole and cut, for any vocabulary.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::super::bpe::ranks::NEVER;
use super::*;
use crate::piece_cache::Key;
use crate::vocabulary::Merge;

const UNK: u32 = 0;

/// A small language: entries, in which two of them join to a third, and how unknown characters are written.
#[derive(Debug, Clone)]
struct Language {
    entries: Vec<String>,
    merges: Vec<Merge>,
    prefix: &'static str,
    suffix: &'static str,
    unknown: Unknown,
    ignore_merges: bool,
}

impl Language {
    /// `<unk>`, bytes, each character as it may stand in a piece, and `joins` of two entries each.
    fn new(bytes: std::ops::Range<u16>, joins: &[(u16, u16)], affixes: (&'static str, &'static str)) -> Self {
        let (prefix, suffix) = affixes;
        let mut entries = vec![String::from("<unk>")];
        entries.extend(bytes.map(|byte| format!("<0x{byte:02X}>")));
        let first = entries.len();
        for character in "abcé▁日".chars() {
            for entry in [format!("{character}"), format!("{prefix}{character}"), format!("{character}{suffix}")] {
                if !entries.contains(&entry) {
                    entries.push(entry);
                }
            }
        }
        let mut merges = Vec::new();
        for (left, right) in joins {
            let pick = |place: u16| first + usize::from(place) % (entries.len() - first);
            let (left, right) = (pick(*left), pick(*right));
            let joined = format!("{}{}", entries[left], entries[right].strip_prefix(prefix).unwrap_or(&entries[right]));
            let product = entries.iter().position(|entry| *entry == joined).unwrap_or_else(|| {
                entries.push(joined);
                entries.len() - 1
            });
            merges.push(Merge { left: left as u32, right: right as u32, product: product as u32 });
        }
        Self { entries, merges, prefix, suffix, unknown: Unknown::default(), ignore_merges: false }
    }

    fn model(&self) -> AnyCharBpe {
        let entries = (0..).zip(self.entries.iter().map(String::as_bytes)).collect();
        let vocabulary = Vocabulary::new(entries, self.merges.clone(), Vec::new()).unwrap();
        let affixes = Affixes { prefix: self.prefix, suffix: self.suffix };
        let (unknown, ignore_merges) = (self.unknown, self.ignore_merges);
        let options = CharBpeOptions { affixes, unknown, ignore_merges, ..CharBpeOptions::default() };
        AnyCharBpe::new(&vocabulary, &HashSet::new(), options).unwrap()
    }

    fn id(&self, entry: &str) -> Option<u32> {
        self.entries.iter().position(|other| other == entry).map(|id| id as u32)
    }

    /// The ids of a piece and the bytes that each stands for, slowly.
    fn truth(&self, piece: &str) -> Option<Vec<Token>> {
        if let Some(id) = self.id(piece).filter(|_| self.ignore_merges) {
            return Some(vec![Token { id, bytes: piece.len() as u32 }]);
        }
        let (mut tokens, mut waiting): (Vec<Token>, Option<u32>) = (Vec::new(), None);
        for (at, character) in piece.char_indices() {
            let bytes = character.len_utf8() as u32;
            let before = if at > 0 { self.prefix } else { "" };
            let after = if at + bytes as usize == piece.len() { self.suffix } else { "" };
            let entry = format!("{before}{character}{after}");
            let of_bytes = || entry.bytes().map(|byte| self.id(&format!("<0x{byte:02X}>"))).collect::<Option<Vec<_>>>();
            if let Some(id) = self.id(&entry) {
                tokens.extend(waiting.take().map(|bytes| Token { id: UNK, bytes }));
                tokens.push(Token { id, bytes });
            } else if let Some(ids) = self.unknown.byte_fallback.then(of_bytes).flatten() {
                let inside = before.len()..before.len() + bytes as usize;
                let bytes = |at| u32::from(inside.contains(&at));
                tokens.extend(ids.into_iter().enumerate().map(|(at, id)| Token { id, bytes: bytes(at) }));
            } else {
                self.unknown.unk?;
                if let Some(bytes) = waiting.take_if(|_| !self.unknown.fuse) {
                    tokens.push(Token { id: UNK, bytes });
                }
                waiting = Some(waiting.unwrap_or(0) + bytes);
            }
        }
        tokens.extend(waiting.map(|bytes| Token { id: UNK, bytes }));
        let ranks: HashMap<_, _> =
            self.merges.iter().enumerate().map(|(rank, merge)| ((merge.left, merge.right), rank)).collect();
        loop {
            let rank_of = |at: &usize| ranks.get(&(tokens[*at].id, tokens[*at + 1].id)).copied();
            let lowest = (0..tokens.len().saturating_sub(1)).min_by_key(|at| rank_of(at).unwrap_or(NEVER as usize));
            let Some((at, rank)) = lowest.and_then(|at| Some((at, rank_of(&at)?))) else { return Some(tokens) };
            let right = tokens.remove(at + 1);
            tokens[at] = Token { id: self.merges[rank].product, bytes: tokens[at].bytes + right.bytes };
        }
    }
}

/// The tokens of pieces, which end at `ends`.
fn encode<const TILES: bool>(model: &CharBpe<TILES>, text: &str, ends: &[u32]) -> Covered<Vec<Vec<u32>>> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let pieces: Vec<Piece> =
        starts.zip(ends).map(|(start, end)| Piece { key: Key::EMPTY, start, end: *end, part: false }).collect();
    let mut out = PieceIds::default();
    out.begin(pieces.len());
    model.encode(text.as_bytes(), &pieces, &mut crate::model::ModelBuffers::default(), &mut out)?;
    Ok((0..pieces.len()).map(|piece| out.ids(piece).to_vec()).collect())
}

fn check<const TILES: bool>(language: &Language, model: &CharBpe<TILES>, text: &str) {
    let truth = language.truth(text);
    let words = |tokens: &[Token]| -> Vec<u32> {
        if TILES { tokens.iter().map(|token| token.id).collect() } else { bytemuck::cast_slice(tokens).to_vec() }
    };
    let whole = encode(model, text, &[text.len() as u32]);
    assert_eq!(whole.as_ref().ok().map(|pieces| pieces.concat()), truth.as_deref().map(words));
    let mut cuts = Cuts::default();
    if model.cut(text, 0, &[text.len() as u32], &mut cuts) {
        let parts = encode(model, text, cuts.ends()).map(|pieces| pieces.concat());
        assert_eq!(parts.ok(), truth.as_deref().map(words));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_piece_has_the_ids_of_its_merges_whole_and_cut(
        joins in prop::collection::vec(any::<(u16, u16)>(), 0..40),
        bytes in prop::sample::select(vec![0..0, 0..256, 0..0xE7_u16]),
        affixes in prop::sample::select(vec![("", ""), ("", "</w>"), ("##", ""), ("##", "</w>"), ("", "a")]),
        (unk, fuse, byte_fallback, ignore_merges) in any::<(bool, bool, bool, bool)>(),
        text in "([abcé▁日]{1,12}|[xy本👍]{1,3}){1,9}",
    ) {
        let mut language = Language::new(bytes, &joins, affixes);
        language.unknown = Unknown { unk: unk.then_some(UNK), fuse, byte_fallback };
        language.ignore_merges = ignore_merges;
        match language.model() {
            AnyCharBpe::Tiling(model) => check(&language, &model, &text),
            AnyCharBpe::Other(model) => check(&language, &model, &text),
        }
    }
}

#[test]
fn only_a_model_without_affixes_and_with_all_bytes_tiles() {
    let language = |bytes, affixes| Language {
        unknown: Unknown { unk: Some(UNK), fuse: true, byte_fallback: true },
        ..Language::new(bytes, &[(0, 1)], affixes)
    };
    assert!(matches!(language(0..256, ("", "")).model(), AnyCharBpe::Tiling(model) if model.is_cut()));
    assert!(matches!(language(0..255, ("", "")).model(), AnyCharBpe::Other(model) if model.is_cut()));
    assert!(matches!(language(0..256, ("", "</w>")).model(), AnyCharBpe::Other(model) if !model.is_cut()));
}

#[test]
fn a_merge_of_bytes_or_of_the_unknown_token_is_not_cut_and_does_not_tile() {
    for parts in [[1, 2], [0, 300]] {
        let mut language = Language::new(0..256, &[], ("", ""));
        language.unknown = Unknown { unk: Some(UNK), fuse: true, byte_fallback: true };
        let product = language.entries.len() as u32;
        language.entries.resize(301, String::from("filler"));
        language.merges.push(Merge { left: parts[0], right: parts[1], product });
        assert!(matches!(language.model(), AnyCharBpe::Other(model) if !model.is_cut()));
    }
}

#[test]
fn a_million_of_anything_takes_no_more_than_a_moment() {
    let mut language = Language::new(0..256, &[(0, 0), (4, 4), (5, 5), (6, 6)], ("", ""));
    language.unknown = Unknown { unk: Some(UNK), fuse: true, byte_fallback: true };
    let AnyCharBpe::Tiling(model) = language.model() else { panic!("bytes are complete") };
    for character in ["a", "▁", "日", "本", "\u{301}"] {
        let text = character.repeat(1_000_000);
        let ids = encode(&model, &text, &[text.len() as u32]).unwrap();
        assert!(ids[0].len() >= 125_000);
    }
}
