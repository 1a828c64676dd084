//! Every level cuts where looking at one pair of characters after the other does.

use proptest::prelude::*;

use super::SafeSplit;
use super::crossings::{Crossings, character};
use crate::model::Cuts;
use crate::simd::level::SimdLevel;
use crate::vocabulary::Vocabulary;

/// The ends, and which of them are those of parts.
type Truth = (Vec<u32>, Vec<bool>);

fn cut_slowly(crossings: &Crossings, text: &str, start: usize, ends: &[u32]) -> Truth {
    let (mut cuts, mut parts, mut at) = (Vec::new(), Vec::new(), start);
    for end in ends.iter().map(|end| *end as usize) {
        let first = cuts.len();
        let characters: Vec<(usize, char)> = text[at..end].char_indices().collect();
        for pair in characters.windows(2) {
            let [(_, left), (place, right)] = pair else { continue };
            let number = |of: char| character(of.encode_utf8(&mut [0; 4]).as_bytes());
            let crosses = match (left.is_ascii() && right.is_ascii(), right) {
                (true, ' ') => *left == ' ' || crossings.has_space(*left as u8),
                (both, _) => both || crossings.has(number(*left), number(*right)),
            };
            if !crosses {
                cuts.push((at + place) as u32);
            }
        }
        cuts.push(end as u32);
        parts.resize(cuts.len(), cuts.len() > first + 1);
        at = end;
    }
    (cuts, parts)
}

/// Every byte, and tokens over the borders of what `text` has.
fn vocabulary(text: &str, draws: &[(u16, u8)]) -> Vocabulary {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    for (at, length) in draws {
        let at = usize::from(*at) % text.len().max(1);
        let token = &text.as_bytes()[at..text.len().min(at + 2 + usize::from(length % 6))];
        if token.len() > 1 && !tokens.iter().any(|other| other == token) {
            tokens.push(token.to_vec());
        }
    }
    let ids = tokens.into_iter().enumerate().map(|(id, token)| (id as u32, token));
    Vocabulary::new(ids.collect(), Vec::new(), Vec::new()).unwrap_or_else(|error| panic!("{error}"))
}

const ALPHABETS: [&str; 6] = [
    "абвгд ",
    "日本語中文 。",
    "aé\0ßb ñ",
    "a中é👍 \0",
    "\u{7ff}\u{800}\u{fff}\u{1000}\u{ffff}\u{10000}\u{80}",
    "xyz ",
];

fn run() -> impl Strategy<Value = String> {
    (prop::sample::select(ALPHABETS.to_vec()), prop::collection::vec(any::<prop::sample::Index>(), 1..90)).prop_map(
        |(alphabet, picks)| {
            let characters: Vec<char> = alphabet.chars().collect();
            picks.iter().map(|pick| *pick.get(&characters)).collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_path_cuts_as_one_pair_after_the_other_does(
        runs in prop::collection::vec(run(), 0..8), draws in prop::collection::vec(any::<(u16, u8)>(), 0..40),
        borders in prop::collection::vec(any::<prop::sample::Index>(), 0..40), rest in 0..2_usize,
    ) {
        let text = runs.concat().into_boxed_str();
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let mut ends: Vec<usize> = borders.iter().filter(|_| !places.is_empty()).map(|at| *at.get(&places)).collect();
        ends.push(text.len());
        ends.sort_unstable();
        ends.dedup();
        let start = ends.remove(0);
        // What stands after the last piece is not cut.
        ends.truncate(ends.len().saturating_sub(rest));
        let ends: Vec<u32> = ends.into_iter().map(|end| end as u32).collect();
        let vocabulary = vocabulary(&text, &draws);
        let mut cuts = Cuts::default();
        for path in SimdLevel::available() {
            let Some(split) = SafeSplit::new(&vocabulary, path) else {
                return Err(TestCaseError::fail("too many crossings"));
            };
            let truth = cut_slowly(&split.crossings, &text, start, &ends);
            // Again with the same buffers, in which nothing of the first time may be left.
            for tell_parts in [true, false, true] {
                split.cut(&text, start, &ends, tell_parts, &mut cuts);
                prop_assert_eq!(cuts.ends(), &truth.0, "{}", path.name());
                prop_assert_eq!(cuts.parts(), if tell_parts { truth.1.as_slice() } else { &[] }, "{}", path.name());
            }
        }
    }
}
