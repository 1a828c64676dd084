//! The pairs that a merge creates, with their places: gathered first, since only those that are frequent enough are
//! kept.

use super::pairs::{AHEAD, Pairs};
use super::symbols::TrainedTokens;
use super::words::{BORDER, Position, Words};

/// No pair, or no slot.
const NONE: u32 = u32::MAX;

/// A new pair.
#[derive(Debug, Clone, Copy)]
struct NewPair {
    ids: (u32, u32),
    count: u64,
    place_count: usize,
    slot: u32,
}

/// The new pairs of one product; reused from merge to merge for its memory.
#[derive(Debug, Default)]
pub struct NewPairs<P> {
    found: Vec<NewPair>,
    /// Every place of a new pair: the index of the pair, and the position.
    places: Vec<(u32, P)>,
    /// By token: the index of its pair with the product after it, and with the product before it.
    before: Vec<u32>,
    after: Vec<u32>,
}

impl<P: Position> NewPairs<P> {
    /// Gather the pairs of `product` at `positions`, which are all positions it has, in rising order.
    pub fn gather(&mut self, product: u32, positions: &[P], words: &Words, symbols: &TrainedTokens) {
        self.found.clear();
        self.places.clear();
        self.before.resize(symbols.len(), NONE);
        self.after.resize(symbols.len(), NONE);
        let length = symbols.length(product);
        for (at, &position) in positions.iter().enumerate() {
            if let Some(ahead) = positions.get(at + AHEAD) {
                words.prefetch(ahead.at());
            }
            let position = position.at();
            let left = words.before(position);
            let right = words.at(position + length as usize);
            if left != BORDER {
                let pair = pair(&mut self.before[left as usize], &mut self.found, (left, product));
                self.note(pair, position - symbols.length(left) as usize, words);
            }
            // If the next token is the product too, their pair is found there, with the token before it.
            if right != BORDER && right != product {
                let pair = pair(&mut self.after[right as usize], &mut self.found, (product, right));
                self.note(pair, position, words);
            }
        }
        for NewPair { ids: (left, right), .. } in &self.found {
            if *right == product {
                self.before[*left as usize] = NONE;
            } else {
                self.after[*right as usize] = NONE;
            }
        }
    }

    fn note(&mut self, pair: u32, position: usize, words: &Words) {
        let counted = &mut self.found[pair as usize];
        counted.count += words.weight(position);
        counted.place_count += 1;
        self.places.push((pair, P::of(position)));
    }

    /// The number of pairs that were gathered.
    pub fn gathered(&self) -> usize {
        self.found.len()
    }

    /// Call `each` with every place of a new pair, and with the index of the pair: its number among the calls of
    /// `worth` in [`NewPairs::keep`].
    pub fn each_place(&self, mut each: impl FnMut(usize, usize)) {
        self.places.iter().for_each(|(pair, position)| each(*pair as usize, position.at()));
    }

    /// Move the pairs for which `worth` is true to `pairs`, and call `kept` with the slot of each.
    pub fn keep(
        &mut self,
        pairs: &mut Pairs<P>,
        step: u32,
        mut worth: impl FnMut((u32, u32), u64) -> bool,
        mut kept: impl FnMut(u32, &Pairs<P>),
    ) {
        let mut any = false;
        for pair in &mut self.found {
            if worth(pair.ids, pair.count) {
                pair.slot = pairs.add(pair.ids, pair.count, pair.place_count, step);
                kept(pair.slot, pairs);
                any = true;
            }
        }
        if any {
            for (pair, position) in &self.places {
                let slot = self.found[*pair as usize].slot;
                if slot != NONE {
                    pairs.place(slot, *position);
                }
            }
        }
    }
}

/// The index of the pair that `known` names; the pair is added if it names none.
fn pair(known: &mut u32, found: &mut Vec<NewPair>, ids: (u32, u32)) -> u32 {
    if *known == NONE {
        *known = found.len() as u32;
        found.push(NewPair { ids, count: 0, place_count: 0, slot: NONE });
    }
    *known
}
