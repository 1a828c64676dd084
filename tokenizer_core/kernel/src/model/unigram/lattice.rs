//! The best way through a stretch of text, and how much better it is than every other one.

use super::entries::Entries;
use crate::capacity::give_back;

/// The largest error of a float's sum, relative to its size.
const HALF_ULP: f64 = 1.0 / (1 << 24) as f64;

/// A sum beyond is taken back to zero.
pub const SUM_LIMIT: f32 = 100_000.0;

/// No sum of a decided word leaves its start by more: then taking back is exact.
const WORD_LIMIT: f64 = 30_000.0;

/// Of a way to a place: the score of all its tokens, and the last of them.
#[derive(Debug, Clone, Copy)]
struct Node<S> {
    score: S,
    /// The start of the last token; the place itself if no way leads here.
    start: u32,
    id: u32,
}

/// The two best ways to a place.
#[derive(Debug, Clone, Copy)]
struct Two {
    best: Node<f64>,
    second: f64,
    /// Tokens of the best way.
    tokens: u32,
}

/// A token of a way: its id, and its bytes.
pub type Step = (u32, u32);

/// Buffers for texts of any length.
#[derive(Debug, Default)]
pub struct Lattice {
    singles: Vec<Node<f32>>,
    doubles: Vec<Node<f64>>,
    twos: Vec<Two>,
    /// The way that was found, from left to right.
    pub steps: Vec<Step>,
}

impl Lattice {
    /// Find the best way as SentencePiece does: sums are floats, from `sum` on, each token added to the sum before it;
    /// of equal ways, the first found. Return the sum at the end.
    pub fn best_single(&mut self, entries: &Entries, text: &[u8], sum: f32) -> f32 {
        let nodes = &mut self.singles;
        begin(nodes, text.len(), sum, 0.0);
        let mut frontier = 0;
        let mut at = 0;
        while at < text.len() {
            let till_here = nodes[at].score;
            if till_here.abs() > SUM_LIMIT {
                // As the library does, so that sums stay small enough to tell ways apart.
                for (place, node) in nodes[at..=frontier.max(at)].iter_mut().enumerate() {
                    if place == 0 || node.start as usize != at + place {
                        node.score -= till_here;
                    }
                }
            }
            let till_here = nodes[at].score;
            at = entries.each(text, at, |end, id| {
                frontier = frontier.max(end);
                let (score, node) = (entries.single(id) + till_here, &mut nodes[end]);
                if node.start as usize == end || score > node.score {
                    *node = Node { score, start: at as u32, id };
                }
            });
        }
        let sum = nodes[text.len()].score;
        walk(nodes, text.len(), |node| (node.start, node.id), &mut self.steps);
        sum
    }

    /// Find the best way as Hugging Face does: sums are doubles from 0 on; of equal ways, the first found.
    pub fn best_double(&mut self, entries: &Entries, text: &[u8]) {
        let nodes = &mut self.doubles;
        begin(nodes, text.len(), 0.0, 0.0);
        let mut at = 0;
        while at < text.len() {
            let till_here = nodes[at].score;
            at = entries.each(text, at, |end, id| {
                let (score, node) = (entries.double(id) + till_here, &mut nodes[end]);
                if node.start as usize == end || score > node.score {
                    *node = Node { score, start: at as u32, id };
                }
            });
        }
        walk(nodes, text.len(), |node| (node.start, node.id), &mut self.steps);
    }

    /// Find the best way if it is the one of [`Self::best_single`] for every sum up to [`SUM_LIMIT`] that a text may
    /// have before it; return whether it is.
    ///
    /// A way of `k` tokens is off by at most `k` roundings. So each way but the best is taken to be better by as much
    /// as it may be, the best to be worse, and the best must win nevertheless.
    pub fn best_for_every_sum(&mut self, entries: &Entries, text: &[u8]) -> bool {
        let reach = text.len() as f64 * entries.highest();
        if reach > WORD_LIMIT {
            return false;
        }
        let rounding = (f64::from(SUM_LIMIT) + 2.0 * reach) * HALF_ULP;
        let none = Node { score: f64::NEG_INFINITY, start: 0, id: 0 };
        let nodes = &mut self.twos;
        nodes.clear();
        nodes.resize(text.len() + 1, Two { best: none, second: f64::NEG_INFINITY, tokens: 0 });
        nodes[0].best.score = 0.0;
        let mut at = 0;
        while at < text.len() {
            let before = nodes[at];
            at = entries.each(text, at, |end, id| {
                let step = f64::from(entries.single(id)) + rounding;
                let (score, second, node) = (before.best.score + step, before.second + step, &mut nodes[end]);
                if score > node.best.score {
                    node.second = node.best.score.max(second);
                    node.best = Node { score, start: at as u32, id };
                    node.tokens = before.tokens + 1;
                } else {
                    node.second = node.second.max(score);
                }
            });
        }
        let end = nodes[text.len()];
        // The doubles' own roundings are far smaller than one of a float, which the last term is.
        let is_decided = end.best.score - 2.0 * rounding * f64::from(end.tokens) > end.second + rounding;
        if is_decided {
            walk(nodes, text.len(), |node| (node.best.start, node.best.id), &mut self.steps);
        }
        is_decided
    }

    /// Give back the memory of long texts, down to `entries` entries a buffer.
    pub fn shrink(&mut self, entries: usize) {
        give_back(&mut self.singles, entries);
        give_back(&mut self.doubles, entries);
        give_back(&mut self.twos, entries);
        give_back(&mut self.steps, entries);
    }
}

/// Begin with no way to any place but the first.
fn begin<S: Copy>(nodes: &mut Vec<Node<S>>, length: usize, sum: S, zero: S) {
    nodes.clear();
    nodes.extend((0..=length as u32).map(|place| Node { score: zero, start: place, id: 0 }));
    nodes[0].score = sum;
}

/// The tokens of the way to the last place.
fn walk<N>(nodes: &[N], length: usize, last: impl Fn(&N) -> (u32, u32), steps: &mut Vec<Step>) {
    steps.clear();
    let mut end = length as u32;
    while end > 0 {
        let (start, id) = last(&nodes[end as usize]);
        steps.push((id, end - start));
        end = start;
    }
    steps.reverse();
}
