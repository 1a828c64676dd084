//! The running sum of a text, for the words that depend on it.

use super::lattice::{Lattice, SUM_LIMIT};
use super::{UNDECIDED, Unigram};
use crate::model::{Covered, Token, Uncovered};

/// Below, no word that is decided takes a sum to [`SUM_LIMIT`].
const SAFE: f32 = 70_000.0;

/// Decides the words of a text, block by block, as the sum goes on.
pub struct Sums<'a> {
    model: &'a Unigram,
    text: &'a [u8],
    /// The position that the sum has reached.
    at: usize,
    sum: f32,
    lattice: Lattice,
    decided: Vec<Token>,
    give: &'a mut dyn FnMut(&[Token]),
    uncovered: Option<Uncovered>,
}

impl<'a> Sums<'a> {
    /// Begin a text whose tokens `give` takes.
    pub fn new(model: &'a Unigram, text: &'a str, give: &'a mut dyn FnMut(&[Token])) -> Self {
        let (lattice, decided) = (Lattice::default(), Vec::new());
        Self { model, text: text.as_bytes(), at: 0, sum: 0.0, lattice, decided, give, uncovered: None }
    }

    /// The first text that no token stands for.
    pub fn uncovered(self) -> Covered {
        self.uncovered.map_or(Ok(()), Err)
    }

    /// Add a token to the sum.
    #[inline(always)]
    fn add(&mut self, token: Token) {
        match self.model.addends.get(token.id as usize).filter(|score| !score.is_nan()) {
            Some(score) => self.sum += score,
            None => {
                // Each unknown character was added alone, also where its token is one of them all, or its bytes are.
                let bytes = &self.text[self.at..self.at + token.bytes as usize];
                let characters = bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
                (0..characters).for_each(|_| self.sum += self.model.entries.single(super::UNKNOWN));
            }
        }
        self.at += token.bytes as usize;
    }

    /// Decide the word that begins here and ends at `end`, from the sum before it.
    fn decide(&mut self, end: usize) {
        let word = &self.text[self.at..end];
        self.sum = self.lattice.best_single(&self.model.entries, word, self.sum);
        if let Err(uncovered) = self.model.append(word, self.at, &self.lattice.steps, &mut self.decided) {
            self.uncovered.get_or_insert(uncovered);
        }
        self.at = end;
    }

    /// Tell whether a word begins here.
    fn is_at_word(&self) -> bool {
        self.model.borders.as_ref().is_none_or(|borders| borders.is_at(&self.model.entries, self.text, self.at))
    }

    fn end_of_word(&self) -> usize {
        let end = self.text.len();
        self.model.borders.as_ref().map_or(end, |borders| borders.next(&self.model.entries, self.text, self.at))
    }

    /// Tell whether a word that begins here and ends at `end` may take the sum to its limit.
    fn is_near_limit(&self, end: usize) -> bool {
        let reach = (end - self.at) as f64 * self.model.entries.highest();
        f64::from(self.sum.abs()) + reach > f64::from(SUM_LIMIT)
    }

    /// Take the tokens of the next words.
    pub fn take(&mut self, tokens: &[Token]) {
        // Tokens before `given` have been given, or others instead of them.
        let (mut given, mut next) = (0, 0);
        while let Some(token) = tokens.get(next) {
            let is_undecided = token.id == UNDECIDED;
            if !is_undecided && (self.sum.abs() < SAFE || !self.is_at_word()) {
                self.add(*token);
                next += 1;
                continue;
            }
            if self.sum.abs() > SUM_LIMIT {
                self.sum = 0.0;
            }
            let end = if is_undecided { self.at + token.bytes as usize } else { self.end_of_word() };
            if is_undecided || self.is_near_limit(end) {
                (self.give)(&tokens[given..next]);
                let start = self.at;
                self.decide(end);
                (self.give)(&self.decided);
                self.decided.clear();
                let mut at = start;
                while at < end && next < tokens.len() {
                    at += tokens[next].bytes as usize;
                    next += 1;
                }
                given = next;
                continue;
            }
            while self.at < end && next < tokens.len() {
                self.add(tokens[next]);
                next += 1;
            }
        }
        (self.give)(&tokens[given..]);
    }
}
