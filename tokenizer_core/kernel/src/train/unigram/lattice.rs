//! The pieces at every character of the text: the edges of the lattices of all words, in one array.

use super::seeds::Suffixes;
use super::text::TrainingText;
use crate::error::{Code, Error, Result};

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
    /// By character, its first edge.
    first: Vec<u32>,
    /// Those of one character together, the shortest first.
    edges: Vec<Edge>,
    /// By piece, a place where it stands and its length.
    pub places: Vec<(u32, u32)>,
}

impl Lattice {
    /// Number the characters of the alphabet, which is sorted, and after them the seeds.
    ///
    /// # Errors
    /// `corpus_too_large`.
    pub fn new(text: &TrainingText, alphabet: &[char], suffixes: &Suffixes) -> Result<Self> {
        let mut places = vec![(u32::MAX, 1); alphabet.len()];
        places.extend(suffixes.seeds.iter().map(|seed| (suffixes.places[seed.first as usize], seed.length)));
        let standing = |seed: &super::seeds::Seed| &suffixes.places[seed.first as usize..seed.last as usize];
        let mut first = vec![0u32; text.len() + 1];
        for (start, end, _) in text.words() {
            first[start..end].fill(1);
        }
        for seed in &suffixes.seeds {
            standing(seed).iter().for_each(|place| first[*place as usize] += 1);
        }
        let mut total = 0u64;
        for count in &mut first {
            (*count, total) = (total as u32, total + u64::from(*count));
        }
        if total >= u64::from(u32::MAX) {
            let message = "the words hold more than 4 billion pieces; train on a sample, or with fewer seeds";
            return Err(Error::new(Code::CorpusTooLarge, message));
        }
        let mut edges = vec![Edge(0); total as usize];
        let mut next = first.clone();
        let mut put = |at: usize, edge: Edge| {
            edges[next[at] as usize] = edge;
            next[at] += 1;
        };
        for (start, end, _) in text.words() {
            for at in start..end {
                let character = std::str::from_utf8(text.slice(at, 1)).ok().and_then(|one| one.chars().next());
                let piece = character.map_or(0, |one| alphabet.partition_point(|other| *other < one));
                if places[piece].0 == u32::MAX {
                    places[piece].0 = at as u32;
                }
                put(at, Edge::new(piece as u32, 1));
            }
        }
        let mut order: Vec<usize> = (0..suffixes.seeds.len()).collect();
        order.sort_by_key(|index| suffixes.seeds[*index].length);
        for index in order {
            let (seed, piece) = (&suffixes.seeds[index], alphabet.len() + index);
            let edge = Edge::new(piece as u32, seed.length as usize);
            standing(seed).iter().for_each(|place| put(*place as usize, edge));
        }
        Ok(Self { first, edges, places })
    }

    /// The pieces that begin at a character, the shortest first.
    #[inline]
    pub fn at(&self, at: usize) -> &[Edge] {
        &self.edges[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// Keep the pieces for which `kept` is true, and number them anew in the same order.
    pub fn keep(&mut self, kept: &[bool]) {
        let mut numbers = Vec::with_capacity(kept.len());
        let mut count = 0;
        for kept in kept {
            numbers.push(if *kept { count } else { u32::MAX });
            count += u32::from(*kept);
        }
        let (mut from, mut to) = (0, 0);
        for at in 1..self.first.len() {
            while from < self.first[at] as usize {
                let edge = self.edges[from];
                let number = numbers[edge.piece()];
                if number != u32::MAX {
                    self.edges[to] = Edge::new(number, edge.length());
                    to += 1;
                }
                from += 1;
            }
            self.first[at] = to as u32;
        }
        self.edges.truncate(to);
        let mut kept = kept.iter();
        self.places.retain(|_| kept.next().is_some_and(|kept| *kept));
    }
}
