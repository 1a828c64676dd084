//! The best segmentations of a text, exactly and without recursion (Eppstein 1998): `O(n log n)` for a text of `n`
//! bytes, and `O(log n)` for each segmentation beside the length of its list of tokens.
//!
//! A way through the text is the best one with *detours*: tokens in place of the best next one, after which it goes on
//! as well as it can. The detours that lie ahead of a place are a heap, by what they lose. That of a place shares all
//! but a few nodes with that of the place where the best token from there ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::lattice::Step;
use super::{Unigram, is_char_start};
use crate::capacity::reserve;
use crate::model::{Covered, Token};

/// Pieces of a text, one after the other: no token is in two.
#[derive(Debug, Default)]
pub struct CollectedPieces {
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// No node, or no detour.
const NONE: u32 = u32::MAX;

/// A token in place of the best, and what is lost by it.
#[derive(Debug, Clone, Copy)]
struct Detour {
    loss: f64,
    start: u32,
    bytes: u32,
    id: u32,
}

/// A node of a leftist heap, which is never changed. Its detour is the best of its place.
#[derive(Debug, Clone, Copy)]
struct HeapNode {
    detour: u32,
    left: u32,
    right: u32,
    /// The number of nodes on the way to the right.
    rank: u32,
}

/// A way that has been found, or waits: a way before it with one more detour.
#[derive(Debug, Clone, Copy)]
struct Way {
    loss: f64,
    /// The number of the way that takes all but the last detour.
    before: u32,
    detour: u32,
    /// The node that has the detour, or a better one of the same place.
    node: u32,
}

/// By loss, then by age: a loss is never negative, so its bits are in its order.
type Waiting = BinaryHeap<Reverse<(u64, u32)>>;

/// All ways through a text.
#[derive(Debug)]
pub struct Ways<'a> {
    model: &'a Unigram,
    pieces: CollectedPieces,
    /// By place: the best token that begins there.
    best: Vec<Step>,
    /// Those of one place stand together, the best first.
    detours: Vec<Detour>,
    nodes: Vec<HeapNode>,
    /// By place: the heap of the detours ahead.
    heaps: Vec<u32>,
}

impl Unigram {
    /// Put a piece behind those collected.
    pub(in crate::model) fn collect(&self, text: &[u8], piece: Range<usize>, pieces: &mut CollectedPieces) -> Covered {
        let (start, word) = (piece.start, &text[piece]);
        let mut is_end = vec![false; word.len() + 1];
        is_end[0] = true;
        for at in (0..word.len()).filter(|at| is_char_start(word[*at])) {
            if is_end[at] {
                self.each_token(word, at, |end, _| is_end[end] = true);
            }
        }
        if !is_end[word.len()] {
            return Err(self.uncovered(word, start));
        }
        reserve(&mut pieces.text, word.len());
        pieces.text.extend_from_slice(word);
        pieces.ends.push(pieces.text.len());
        Ok(())
    }
}

impl<'a> Ways<'a> {
    /// Prepare the ways through pieces, each of which has one.
    pub fn new(model: &'a Unigram, pieces: CollectedPieces) -> Self {
        let places = pieces.text.len() + 1;
        let mut ways =
            Self { model, pieces, best: Vec::new(), detours: Vec::new(), nodes: Vec::new(), heaps: Vec::new() };
        reserve(&mut ways.best, places);
        reserve(&mut ways.heaps, places);
        ways.best.resize(places, (0, 0));
        ways.heaps.resize(places, NONE);
        ways.look_from_the_end();
        ways
    }

    fn look_from_the_end(&mut self) {
        let mut scores = vec![0.0; self.best.len()];
        let mut found: Vec<(f64, Step)> = Vec::new();
        for piece in (0..self.pieces.ends.len()).rev() {
            let start = piece.checked_sub(1).map_or(0, |before| self.pieces.ends[before]);
            let end = self.pieces.ends[piece];
            for at in (start..end).rev() {
                if !is_char_start(self.pieces.text[at]) {
                    continue;
                }
                found.clear();
                let word = &self.pieces.text[start..end];
                self.model.each_token(word, at - start, |end, id| {
                    let bytes = (start + end - at) as u32;
                    found.push((self.model.entries.double(id) + scores[start + end], (id, bytes)));
                });
                // Of equal ones the shortest token first, as they were found.
                found.sort_by(|one, other| other.0.total_cmp(&one.0));
                found.retain(|(score, _)| *score > f64::NEG_INFINITY);
                let Some((score, best)) = found.first().copied() else {
                    scores[at] = f64::NEG_INFINITY;
                    continue;
                };
                (scores[at], self.best[at]) = (score, best);
                let first = self.detours.len() as u32;
                reserve(&mut self.detours, found.len() - 1);
                self.detours.extend(found[1..].iter().map(|(other, (id, bytes))| Detour {
                    loss: score - other,
                    start: at as u32,
                    bytes: *bytes,
                    id: *id,
                }));
                let ahead = self.heaps[at + best.1 as usize];
                self.heaps[at] = if found.len() == 1 { ahead } else { self.with(ahead, first) };
            }
        }
    }

    /// The heap with one more detour; the other stays.
    fn with(&mut self, heap: u32, detour: u32) -> u32 {
        let loss = self.detours[detour as usize].loss;
        let (mut path, mut rest) = (Vec::new(), heap);
        while rest != NONE && self.loss(rest) < loss {
            path.push(rest);
            rest = self.nodes[rest as usize].right;
        }
        let mut made = self.push(HeapNode { detour, left: rest, right: NONE, rank: 1 });
        for above in path.into_iter().rev() {
            let HeapNode { detour, left, .. } = self.nodes[above as usize];
            let (left, right) = if self.rank(left) >= self.rank(made) { (left, made) } else { (made, left) };
            made = self.push(HeapNode { detour, left, right, rank: self.rank(right) + 1 });
        }
        made
    }

    fn push(&mut self, node: HeapNode) -> u32 {
        reserve(&mut self.nodes, 1);
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    fn rank(&self, node: u32) -> u32 {
        self.nodes.get(node as usize).map_or(0, |node| node.rank)
    }

    fn loss(&self, node: u32) -> f64 {
        self.detours[self.nodes[node as usize].detour as usize].loss
    }

    /// The scores of the best ways, at most `count`, the best first, with the tokens of all pieces of those that
    /// `wanted` says.
    ///
    /// # Errors
    /// None but where pieces have no way, which [`Unigram::collect`] refuses.
    pub fn best(&self, count: usize, wanted: impl FnOnce(&[f64]) -> Range<usize>) -> Covered<Vec<(f64, Vec<Token>)>> {
        let found = self.found(count);
        let mut listed: Vec<(f64, usize)> = (0..found.len())
            .map(|way| (self.steps(&found, way).map(|(id, _)| self.model.entries.double(id)).sum(), way))
            .collect();
        listed.sort_by(|one, other| other.0.total_cmp(&one.0));
        let scores: Vec<f64> = listed.iter().map(|(score, _)| *score).collect();
        let wanted = &listed[wanted(&scores)];
        wanted.iter().map(|(score, way)| Ok((*score, self.tokens(&found, *way)?))).collect()
    }

    /// The best ways; the first has no detour.
    fn found(&self, count: usize) -> Vec<Way> {
        let mut found = vec![Way { loss: 0.0, before: NONE, detour: NONE, node: NONE }];
        let (mut all, mut waiting) = (Vec::new(), Waiting::new());
        self.wait_at(self.heaps[0], 0.0, 0, &mut all, &mut waiting);
        while found.len() < count
            && let Some(Reverse((_, at))) = waiting.pop()
        {
            let way: Way = all[at as usize];
            let number = found.len() as u32;
            found.push(way);
            let HeapNode { detour: first, left, right, .. } = self.nodes[way.node as usize];
            let (before, base) = (way.before, found[way.before as usize].loss);
            if way.detour == first {
                self.wait_at(left, base, before, &mut all, &mut waiting);
                self.wait_at(right, base, before, &mut all, &mut waiting);
            }
            let Detour { start, bytes, .. } = self.detours[way.detour as usize];
            let next = self.detours.get(way.detour as usize + 1).filter(|next| next.start == start);
            if let Some(next) = next {
                wait(Way { loss: base + next.loss, detour: way.detour + 1, ..way }, &mut all, &mut waiting);
            }
            self.wait_at(self.heaps[(start + bytes) as usize], way.loss, number, &mut all, &mut waiting);
        }
        found
    }

    /// The way with the best detour of a heap waits.
    fn wait_at(&self, heap: u32, base: f64, before: u32, all: &mut Vec<Way>, waiting: &mut Waiting) {
        if let Some(node) = self.nodes.get(heap as usize) {
            let loss = base + self.loss(heap);
            wait(Way { loss, before, detour: node.detour, node: heap }, all, waiting);
        }
    }

    /// The tokens of a way.
    fn steps<'w>(&'w self, found: &'w [Way], way: usize) -> impl Iterator<Item = Step> + 'w {
        let (mut detours, mut at) = (Vec::new(), way);
        while let Some(taken) = found.get(at).filter(|taken| taken.detour != NONE) {
            detours.push(taken.detour);
            at = taken.before as usize;
        }
        let mut place = 0;
        std::iter::from_fn(move || {
            if place + 1 >= self.best.len() {
                return None;
            }
            let detour = detours.last().map(|detour| self.detours[*detour as usize]);
            let step = match detour.filter(|detour| detour.start as usize == place) {
                Some(Detour { id, bytes, .. }) => {
                    detours.pop();
                    (id, bytes)
                }
                None => self.best[place],
            };
            place += step.1 as usize;
            Some(step)
        })
    }

    /// The tokens of a way, unknown ones as the model writes them.
    fn tokens(&self, found: &[Way], way: usize) -> Covered<Vec<Token>> {
        let (mut tokens, mut steps, mut start) = (Vec::new(), self.steps(found, way), 0);
        let mut own = Vec::new();
        for end in &self.pieces.ends {
            own.clear();
            let mut at = start;
            while at < *end
                && let Some(step) = steps.next()
            {
                own.push(step);
                at += step.1 as usize;
            }
            self.model.append(&self.pieces.text[start..*end], start, &own, &mut tokens)?;
            start = *end;
        }
        Ok(tokens)
    }
}

fn wait(way: Way, all: &mut Vec<Way>, waiting: &mut Waiting) {
    waiting.push(Reverse((way.loss.max(0.0).to_bits(), all.len() as u32)));
    all.push(way);
}
