//! The pairs that one merge brings into being, gathered before those worth keeping are kept.

use super::pairs::{AHEAD, Pairs};
use super::symbols::Symbols;
use super::words::{BORDER, Words};

/// No group, or no slot.
const NONE: u32 = u32::MAX;

/// All births of one pair.
#[derive(Debug, Clone, Copy)]
struct Group {
    ids: (u32, u32),
    count: u64,
    places: u32,
    slot: u32,
}

/// The births of one product; kept between merges for its memory.
#[derive(Debug, Default)]
pub struct Births {
    groups: Vec<Group>,
    /// Group and position of every birth.
    events: Vec<(u32, u32)>,
    /// The group of each token before the product, and of each behind it.
    before: Vec<u32>,
    behind: Vec<u32>,
}

impl Births {
    /// Note the pairs that `product` is in at `positions`: all that it has, and rising.
    pub fn gather(&mut self, product: u32, positions: &[u32], words: &Words, symbols: &Symbols) {
        self.groups.clear();
        self.events.clear();
        self.before.resize(symbols.len(), NONE);
        self.behind.resize(symbols.len(), NONE);
        let length = symbols.length(product);
        for (at, &position) in positions.iter().enumerate() {
            if let Some(ahead) = positions.get(at + AHEAD) {
                words.prefetch(*ahead);
            }
            let left = words.before(position);
            let right = words.at(position + length);
            if left != BORDER {
                let group = group(&mut self.before[left as usize], &mut self.groups, (left, product));
                self.note(group, position - symbols.length(left), words);
            }
            // If the next token is a product too, it finds their pair when it looks at the token before it.
            if right != BORDER && right != product {
                let group = group(&mut self.behind[right as usize], &mut self.groups, (product, right));
                self.note(group, position, words);
            }
        }
        for Group { ids: (left, right), .. } in &self.groups {
            if *right == product {
                self.before[*left as usize] = NONE;
            } else {
                self.behind[*right as usize] = NONE;
            }
        }
    }

    fn note(&mut self, group: u32, position: u32, words: &Words) {
        let counted = &mut self.groups[group as usize];
        counted.count += words.weight(position);
        counted.places += 1;
        self.events.push((group, position));
    }

    /// Keep the pairs for which `worth` is true, calling `kept` with the slot of each.
    pub fn keep(
        &mut self,
        pairs: &mut Pairs,
        step: u32,
        mut worth: impl FnMut((u32, u32), u64) -> bool,
        mut kept: impl FnMut(u32, &Pairs),
    ) {
        let mut any = false;
        for group in &mut self.groups {
            if worth(group.ids, group.count) {
                group.slot = pairs.add(group.ids, group.count, group.places, step);
                kept(group.slot, pairs);
                any = true;
            }
        }
        if any {
            for (group, position) in &self.events {
                let slot = self.groups[*group as usize].slot;
                if slot != NONE {
                    pairs.place(slot, *position);
                }
            }
        }
    }
}

/// The group that `known` names, made if it names none.
fn group(known: &mut u32, groups: &mut Vec<Group>, ids: (u32, u32)) -> u32 {
    if *known == NONE {
        *known = groups.len() as u32;
        groups.push(Group { ids, count: 0, places: 0, slot: NONE });
    }
    *known
}
