//! The best way to cut a stretch of a word: the one with the highest sum of scores, of equals the one whose last piece
//! is the longest, and so on from the end.

use super::lattice::{Edge, Lattice};

/// Buffers for one thread.
#[derive(Debug, Default)]
pub struct Best {
    /// By character, the sum of the best way to it and its last piece.
    ways: Vec<(f64, Option<Edge>)>,
}

impl Best {
    /// Give the pieces of the best way from the last to the first, and return its sum; `without` is not among them.
    pub fn each(
        &mut self,
        lattice: &Lattice,
        scores: &[f64],
        (start, end): (usize, usize),
        without: Option<usize>,
        mut piece: impl FnMut(usize),
    ) -> f64 {
        let (ways, length) = (&mut self.ways, end - start);
        ways.clear();
        ways.resize(length + 1, (f64::NEG_INFINITY, None));
        ways[0].0 = 0.0;
        for at in 0..length {
            let here = ways[at].0;
            for edge in lattice.at(start + at) {
                // The shortest is first.
                let Some(way) = ways.get_mut(at + edge.length()) else { break };
                let sum = here + scores[edge.piece()];
                if sum > way.0 && without != Some(edge.piece()) {
                    *way = (sum, Some(*edge));
                }
            }
        }
        let mut at = length;
        while let Some(edge) = ways[at].1 {
            piece(edge.piece());
            at -= edge.length();
        }
        ways[length].0
    }
}
