//! The pieces at every place of the text: the edges of the lattices of all words.
//!
//! All pieces at a place are beginnings of the longest one there, so that one alone is written down by place, and the
//! others by piece.

use super::seeds::{Seed, Suffixes};
use super::text::END;

/// Bits of an edge for the length of its piece.
const LENGTH_BITS: u32 = 8;

/// The longest piece, in characters.
pub const MAX_LENGTH: usize = (1 << LENGTH_BITS) - 1;

/// The most pieces.
pub const MAX_PIECES: usize = 1 << (32 - LENGTH_BITS);

/// A piece that stands somewhere.
#[derive(Debug, Clone, Copy)]
pub struct Edge(u32);

impl Edge {
    fn new(piece: u32, length: usize) -> Self {
        Self(piece << LENGTH_BITS | length as u32)
    }

    /// The number of the piece.
    #[inline]
    pub fn piece(self) -> usize {
        (self.0 >> LENGTH_BITS) as usize
    }

    /// Its length in characters.
    #[inline]
    pub fn length(self) -> usize {
        self.0 as usize & MAX_LENGTH
    }
}

/// The edges.
#[derive(Debug, Clone)]
pub struct Lattice {
    /// By place, its longest piece, or [`END`].
    longest: Vec<u32>,
    /// By piece, its first edge, and the end of all.
    first: Vec<u32>,
    /// The pieces that one begins with, the shortest first, and that one itself.
    edges: Vec<Edge>,
    /// By piece, a place where it stands and its length; of seeds alone.
    pub places: Vec<(u32, u8)>,
}

impl Lattice {
    /// Take the characters of the text, whose numbers are below `characters`, and number the seeds after them.
    pub fn new(symbols: Vec<u32>, characters: usize, suffixes: &Suffixes) -> Self {
        let mut lattice = Self {
            longest: symbols,
            first: (0..=characters as u32).collect(),
            edges: (0..characters as u32).map(|character| Edge::new(character, 1)).collect(),
            places: vec![(0, 1); characters],
        };
        // Seeds around the next place, each within the one before.
        let mut open: Vec<(usize, Seed)> = Vec::new();
        let mut written = 0;
        for (piece, seed) in (characters..).zip(&suffixes.seeds) {
            while let Some((around, outer)) = open.pop_if(|(_, outer)| outer.last <= seed.first) {
                lattice.write(&suffixes.places[written..outer.last as usize], around);
                written = outer.last as usize;
            }
            if let Some((around, _)) = open.last() {
                lattice.write(&suffixes.places[written..seed.first as usize], *around);
            }
            written = seed.first as usize;
            let place = suffixes.places[written];
            let beginning = open.last().map_or(lattice.longest[place as usize] as usize, |(around, _)| *around);
            let edges = lattice.first[beginning] as usize..lattice.first[beginning + 1] as usize;
            lattice.edges.extend_from_within(edges);
            lattice.edges.push(Edge::new(piece as u32, seed.length.into()));
            lattice.first.push(lattice.edges.len() as u32);
            lattice.places.push((place, seed.length));
            open.push((piece, *seed));
        }
        while let Some((around, outer)) = open.pop() {
            lattice.write(&suffixes.places[written..outer.last as usize], around);
            written = outer.last as usize;
        }
        lattice
    }

    fn write(&mut self, places: &[u32], piece: usize) {
        places.iter().for_each(|place| self.longest[*place as usize] = piece as u32);
    }

    /// The character at a place within a word.
    pub fn character(&self, at: usize) -> usize {
        self.at(at)[0].piece()
    }

    /// The pieces that begin at a place within a word, the shortest first.
    #[inline]
    pub fn at(&self, at: usize) -> &[Edge] {
        let piece = self.longest[at] as usize;
        &self.edges[self.first[piece] as usize..self.first[piece + 1] as usize]
    }

    /// Keep the pieces for which `kept` is true, all characters among them, and number them anew in the same order.
    pub fn keep(&mut self, kept: &[bool]) {
        // By piece, the longest one left that it begins with.
        let mut left: Vec<u32> = Vec::with_capacity(kept.len());
        let (mut count, mut from, mut to) = (0, 0, 0);
        for (piece, is_kept) in kept.iter().enumerate() {
            let last = self.first[piece + 1] as usize;
            if *is_kept {
                self.first[count as usize] = to as u32;
                left.push(count);
                count += 1;
                for at in from..last {
                    let edge = self.edges[at];
                    if kept[edge.piece()] {
                        self.edges[to] = Edge::new(left[edge.piece()], edge.length());
                        to += 1;
                    }
                }
            } else {
                left.push(left[self.edges[last - 2].piece()]);
            }
            from = last;
        }
        self.first.truncate(count as usize + 1);
        self.first[count as usize] = to as u32;
        self.edges.truncate(to);
        for piece in self.longest.iter_mut().filter(|piece| **piece != END) {
            *piece = left[*piece as usize];
        }
        let mut kept = kept.iter();
        self.places.retain(|_| kept.next().is_some_and(|kept| *kept));
    }
}
