//! Leftmost-longest matches in linear time, however long the literals are and however they overlap.
//!
//! An automaton of Aho and Corasick over the literals written backwards runs from the end of the text to its beginning.
//! The longest literal that *ends* there, backwards, is the longest that *begins* there, forwards; the leftmost of them
//! that do not overlap are then read off.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// No literal.
const NONE: u32 = u32::MAX;
/// The state before any byte.
const ROOT: u32 = 0;

/// The automaton.
#[derive(Debug)]
pub(super) struct Backward {
    edges: FxHashMap<(u32, u8), u32>,
    states: Vec<State>,
    /// Lengths of the literals in bytes.
    lengths: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    /// The state of the longest proper suffix.
    fallback: u32,
    /// The longest literal that ends here, or [`NONE`].
    literal: u32,
}

/// The matches in one text.
pub(super) struct Hits<'a> {
    lengths: &'a [usize],
    /// Where a literal begins and the longest that does, from right to left.
    begins: Vec<(usize, u32)>,
    /// Where the match before ended.
    end: usize,
}

impl Backward {
    /// Compile literals, none of them empty; `None` if there are more bytes than states can be numbered.
    pub(super) fn new<'l>(literals: impl Iterator<Item = &'l str>) -> Option<Self> {
        let mut automaton = Self {
            edges: FxHashMap::default(),
            states: vec![State { fallback: ROOT, literal: NONE }],
            lengths: Vec::new(),
        };
        // Of each state but the root: its depth, the state before and the byte from there.
        let mut origins = Vec::new();
        for literal in literals {
            let mut state = ROOT;
            for (depth, byte) in literal.bytes().rev().enumerate() {
                let fresh = u32::try_from(automaton.states.len()).ok()?;
                let next = *automaton.edges.entry((state, byte)).or_insert(fresh);
                if next == fresh {
                    automaton.states.push(State { fallback: ROOT, literal: NONE });
                    origins.push((depth, state, byte, fresh));
                }
                state = next;
            }
            automaton.states[state as usize].literal = u32::try_from(automaton.lengths.len()).ok()?;
            automaton.lengths.push(literal.len());
        }
        origins.sort_unstable();
        for (depth, before, byte, state) in origins {
            let fallback = if depth == 0 { ROOT } else { automaton.next(automaton.state(before).fallback, byte) };
            let shorter = automaton.state(fallback).literal;
            let state = &mut automaton.states[state as usize];
            state.fallback = fallback;
            if state.literal == NONE {
                state.literal = shorter;
            }
        }
        Some(automaton)
    }

    /// The leftmost-longest matches, from left to right.
    pub(super) fn find(&self, text: &[u8]) -> Hits<'_> {
        let mut begins = Vec::new();
        let mut state = ROOT;
        for (at, byte) in text.iter().enumerate().rev() {
            state = self.next(state, *byte);
            let literal = self.state(state).literal;
            if literal != NONE {
                begins.push((at, literal));
            }
        }
        Hits { lengths: &self.lengths, begins, end: 0 }
    }

    fn state(&self, state: u32) -> State {
        self.states[state as usize]
    }

    fn next(&self, mut state: u32, byte: u8) -> u32 {
        loop {
            match self.edges.get(&(state, byte)) {
                Some(next) => return *next,
                None if state == ROOT => return ROOT,
                None => state = self.state(state).fallback,
            }
        }
    }
}

impl Iterator for Hits<'_> {
    type Item = (usize, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some((start, literal)) = self.begins.pop() {
            if start >= self.end {
                self.end = start + self.lengths[literal as usize];
                return Some((literal as usize, start..self.end));
            }
        }
        None
    }
}
