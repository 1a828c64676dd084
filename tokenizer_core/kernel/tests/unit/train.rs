//! The loop against the definition: count every pair anew for every merge.

use proptest::prelude::*;

use super::Learned;
use super::merge_loop::{Goal, Learner};
use super::progress::{Progress, Reporter};
use super::symbols::TrainedTokens;
use super::tie_break::TieBreak;
use super::words::{Position, Words};

type Merges = Vec<(Vec<u8>, Vec<u8>)>;

/// The tokens of a word: its letters, or what stands between its dashes.
fn tokens_of(word: &str) -> Vec<Vec<u8>> {
    if word.contains('-') {
        word.split('-').map(|token| token.as_bytes().to_vec()).collect()
    } else {
        word.bytes().map(|byte| vec![byte]).collect()
    }
}

/// The 26 letters, then the longer tokens that words begin with.
fn alphabet(corpus: &[(&str, u64)]) -> Vec<Vec<u8>> {
    let mut tokens: Vec<_> = (b'a'..=b'z').map(|letter| vec![letter]).collect();
    for token in corpus.iter().flat_map(|(word, _)| tokens_of(word)) {
        if !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    tokens
}

/// Learn with positions of either width; both give the same.
fn learn(corpus: &[(&str, u64)], goal: Goal) -> (TrainedTokens, Vec<Learned>) {
    let narrow = learn_with::<u32>(corpus, goal.clone());
    assert_eq!(learn_with::<u64>(corpus, goal).1, narrow.1);
    narrow
}

fn learn_with<P: Position>(corpus: &[(&str, u64)], goal: Goal) -> (TrainedTokens, Vec<Learned>) {
    let mut symbols = TrainedTokens::default();
    for token in alphabet(corpus) {
        symbols.push(&token, token.len() as u32).unwrap();
    }
    let mut words = Words::default();
    for (word, weight) in corpus {
        let tokens: Vec<u32> = tokens_of(word).iter().map(|token| symbols.find(token).unwrap()).collect();
        words.push_word(tokens.into_iter(), *weight, &symbols);
    }
    words.finish();
    let mut quiet = |_: Progress<'_>| Ok(());
    Learner::<P>::new(words, symbols, goal, Vec::new()).run(&mut Reporter::new(&mut quiet)).unwrap()
}

fn merges((symbols, learned): &(TrainedTokens, Vec<Learned>)) -> Merges {
    learned.iter().map(|merge| (symbols.bytes(merge.left).to_vec(), symbols.bytes(merge.right).to_vec())).collect()
}

/// The definition.
fn naive(corpus: &[(&str, u64)], goal: &Goal) -> Merges {
    let mut tokens = alphabet(corpus);
    let mut words: Vec<_> = corpus.iter().map(|(word, weight)| (tokens_of(word), *weight)).collect();
    let mut merges = Merges::new();
    while tokens.len() < goal.tokens {
        let mut counts: std::collections::HashMap<(&[u8], &[u8]), u64> = std::collections::HashMap::new();
        for (word, weight) in &words {
            for pair in word.windows(2) {
                *counts.entry((&pair[0], &pair[1])).or_default() += weight;
            }
        }
        let id = |token: &[u8]| tokens.iter().position(|known| known == token);
        let best = counts
            .into_iter()
            .filter(|((left, right), count)| {
                *count >= goal.min_frequency.max(1)
                    && goal.max_token_length.is_none_or(|limit| left.len() + right.len() <= limit as usize)
                    && !goal.forbidden.contains([*left, *right].concat().as_slice())
            })
            .max_by(|(one, count), (other, other_count)| {
                count.cmp(other_count).then_with(|| match goal.tie_break {
                    TieBreak::LexicographicLow => other.cmp(one),
                    TieBreak::LexicographicHigh => one.cmp(other),
                    TieBreak::LowestIds => (id(other.0), id(other.1)).cmp(&(id(one.0), id(one.1))),
                    TieBreak::Shortest => {
                        let product = |pair: &(&[u8], &[u8])| [pair.0, pair.1].concat();
                        let key = |pair| (product(pair).len(), product(pair), *pair);
                        key(other).cmp(&key(one))
                    }
                })
            });
        let Some(((left, right), _)) = best else { break };
        let (left, right) = (left.to_vec(), right.to_vec());
        let product = [left.as_slice(), right.as_slice()].concat();
        for (word, _) in &mut words {
            let mut at = 0;
            while at + 1 < word.len() {
                if word[at] == left && word[at + 1] == right {
                    word.splice(at..at + 2, [product.clone()]);
                }
                at += 1;
            }
        }
        if !tokens.contains(&product) {
            tokens.push(product);
        }
        if !merges.contains(&(left.clone(), right.clone())) {
            merges.push((left, right));
        }
    }
    merges
}

fn rule() -> impl Strategy<Value = TieBreak> {
    prop::sample::select(TieBreak::NAMES.map(|(_, rule)| rule).to_vec())
}

fn corpora() -> impl Strategy<Value = Vec<(String, u64)>> {
    let word = prop_oneof!["[ab]{1,40}", "[a-c]{1,12}", "a{1,30}", "[a-z]{1,6}"];
    prop::collection::vec((word, prop_oneof![1..4_u64, 1..3000_u64]), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_loop_equals_counting_anew_for_every_merge(
        corpus in corpora(), tie_break in rule(), tokens in 26..120_usize, min_frequency in 0..4_u64,
        max_token_length in prop::option::of(1..7_u32), forbidden in prop::collection::hash_set("[ab]{2,3}", 0..2),
    ) {
        let corpus: Vec<_> = corpus.iter().map(|(word, weight)| (word.as_str(), *weight)).collect();
        let forbidden = forbidden.into_iter().map(|word| word.into_bytes().into()).collect();
        let goal = Goal { tokens, min_frequency, max_token_length, tie_break, forbidden, ..Goal::default() };
        prop_assert_eq!(merges(&learn(&corpus, goal.clone())), naive(&corpus, &goal));
    }
}

fn text(merges: &Merges) -> Vec<String> {
    let show = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
    merges.iter().map(|(left, right)| format!("{} {}", show(left), show(right))).collect()
}

fn goal(tie_break: TieBreak, merges: usize) -> Goal {
    Goal { tokens: 26 + merges, tie_break, ..Goal::default() }
}

#[test]
fn the_worked_examples_come_out_as_published() {
    use TieBreak::{LexicographicHigh, LexicographicLow, LowestIds};
    let learned = |corpus: &[(&str, u64)], rule, count| text(&merges(&learn(corpus, goal(rule, count))));
    assert_eq!(learned(&[("i", 1), ("work", 1)], LexicographicLow, 9), ["o r", "or k", "w ork"]);
    let newest = [("low", 5), ("lower", 2), ("widest", 3), ("newest", 6)];
    assert_eq!(learned(&newest, LexicographicHigh, 6), ["s t", "e st", "o w", "l ow", "w est", "n e"]);
    let hugs = [("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)];
    assert_eq!(learned(&hugs, LowestIds, 3), ["u g", "u n", "h ug"]);
    assert_eq!(learned(&[("aaabdaaabac", 1)], LexicographicLow, 3), ["a a", "a b", "aa ab"]);
}

#[test]
fn counts_go_beyond_32_bits() {
    let huge = 5_000_000_000;
    let learned = learn(&[("ab", huge), ("cd", huge + 1)], goal(TieBreak::default(), 9));
    assert_eq!(text(&merges(&learned)), ["c d", "a b"]);
    assert_eq!(learned.1[0].count, huge + 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_token_that_is_made_by_two_merges_has_one_id_and_all_its_pairs(
        corpus in prop::collection::vec(("[ab]{1,3}(-[ab]{1,3}){1,9}", 1..2000_u64), 1..8), tie_break in rule(),
        tokens in 50..90_usize,
    ) {
        let corpus: Vec<_> = corpus.iter().map(|(word, weight)| (word.as_str(), *weight)).collect();
        let goal = Goal { tokens, tie_break, ..Goal::default() };
        let learned = learn(&corpus, goal.clone());
        prop_assert_eq!(merges(&learned), naive(&corpus, &goal));
        prop_assert!((0..learned.0.len() as u32).all(|id| learned.0.find(learned.0.bytes(id)) == Some(id)));
    }
}
