//! Unreadable lines that are left out at the caller's request.

/// The treatment of an unreadable line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnError {
    /// Stop.
    #[default]
    Stop,
    /// Leave it out and note it.
    Skip,
}

/// The number of first lines that are kept with their places.
const KEPT: usize = 10;

/// Lines that were left out; the same whatever thread met which.
#[derive(Debug, Default)]
pub struct Skipped {
    /// The number of skipped lines.
    pub lines: u64,
    /// Source, number and reason of the first, in their order.
    pub first: Vec<(usize, u64, String)>,
}

impl Skipped {
    /// Note one line.
    pub fn add(&mut self, source: usize, line: u64, reason: String) {
        self.lines += 1;
        let place = self.first.partition_point(|(other, number, _)| (*other, *number) < (source, line));
        if place < KEPT {
            self.first.insert(place, (source, line, reason));
            self.first.truncate(KEPT);
        }
    }

    /// Note what another thread has left out.
    pub fn absorb(&mut self, other: Self) {
        let unlisted = other.lines - other.first.len() as u64;
        other.first.into_iter().for_each(|(source, line, reason)| self.add(source, line, reason));
        self.lines += unlisted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_are_kept_whatever_thread_met_them() {
        let noted = |lines: &[u64]| {
            let mut skipped = Skipped::default();
            lines.iter().for_each(|line| skipped.add(0, *line, String::new()));
            skipped
        };
        let all: Vec<u64> = (0..100).collect();
        let (even, odd): (Vec<u64>, Vec<u64>) = all.iter().rev().partition(|line| *line % 2 == 0);
        let mut together = noted(&odd);
        together.absorb(noted(&even));
        assert_eq!((together.lines, &together.first), (100, &noted(&all).first));
        assert_eq!(together.first.iter().map(|(_, line, _)| *line).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    }
}
