//! Tokens that repeat one byte: a vocabulary has runs of dashes in dozens of lengths, and few of these can be
//! neighbours.

use rustc_hash::FxHashMap;

/// Shorter runs are looked up like all other tokens.
pub(crate) const SHORTEST: usize = 3;

/// So are longer ones: lengths have a bit each.
const LONGEST: usize = u128::BITS as usize - 1;

/// Lengths of runs, a bit each.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RunLengths(u128);

impl RunLengths {
    /// The greatest that is below a limit.
    #[inline]
    pub(crate) fn greatest(self, below: usize) -> Option<usize> {
        let lower = if below > LONGEST { self.0 } else { self.0 & ((1 << below) - 1) };
        lower.checked_ilog2().map(|length| length as usize)
    }

    /// Whether a length is one of them.
    pub(crate) fn has(self, length: usize) -> bool {
        self.0 >> length & 1 != 0
    }

    /// Add a length.
    pub(crate) fn insert(&mut self, length: usize) {
        self.0 |= 1 << length;
    }

    /// Take a length out.
    pub(crate) fn remove(&mut self, length: usize) {
        self.0 &= !(1 << length);
    }
}

/// The tokens that are runs of a byte.
#[derive(Debug)]
pub(crate) struct RunTokens {
    /// By the byte.
    lengths: Box<[RunLengths; 256]>,
    /// By the byte and the length.
    ids: FxHashMap<(u8, u8), u32>,
    /// By the byte: the longest run of it that another token begins with.
    led: Box<[u8; 256]>,
    /// By the byte: the longest run of it that any token begins with.
    reach: Box<[u8; 256]>,
}

impl Default for RunTokens {
    fn default() -> Self {
        let none = || Box::new([0; 256]);
        Self { lengths: Box::new([RunLengths(0); 256]), ids: FxHashMap::default(), led: none(), reach: none() }
    }
}

impl RunTokens {
    /// Take a token of at least [`SHORTEST`] bytes if it is a run.
    pub(crate) fn take(&mut self, id: u32, bytes: &[u8]) -> bool {
        let (byte, run) = (bytes[0], run(bytes));
        let is_run = run == bytes.len();
        let reach = &mut self.reach[usize::from(byte)];
        *reach = run.max(usize::from(*reach)) as u8;
        if is_run {
            self.lengths[usize::from(byte)].insert(run);
            // Of two with the same bytes the first counts.
            self.ids.entry((byte, run as u8)).or_insert(id);
        } else {
            let led = &mut self.led[usize::from(byte)];
            *led = run.max(usize::from(*led)) as u8;
        }
        is_run
    }

    /// The lengths of the runs of a byte.
    #[inline]
    pub(crate) fn lengths(&self, byte: u8) -> RunLengths {
        self.lengths[usize::from(byte)]
    }

    /// The run of a byte that has one of its [lengths](Self::lengths).
    #[inline]
    pub(crate) fn id(&self, byte: u8, length: usize) -> u32 {
        self.ids[&(byte, length as u8)]
    }

    /// How many equal bytes come first, as far as that tells tokens apart.
    #[inline]
    pub(crate) fn run(&self, bytes: &[u8]) -> usize {
        let reach = usize::from(self.reach[usize::from(bytes[0])]);
        run(&bytes[..bytes.len().min(reach + 1)])
    }

    /// Whether a text that begins with a [run](Self::run) of a byte can begin with a longer token.
    #[inline]
    pub(crate) fn is_led(&self, byte: u8, run: usize) -> bool {
        usize::from(self.led[usize::from(byte)]) >= run
    }
}

/// How many equal bytes come first; at most [`LONGEST`] are counted.
#[inline]
fn run(bytes: &[u8]) -> usize {
    match bytes {
        [first, second, ..] if first == second => long_run(*first, bytes),
        _ => bytes.len().min(1),
    }
}

/// How many times `byte` comes first.
fn long_run(byte: u8, bytes: &[u8]) -> usize {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let (words, _) = bytes.as_chunks();
    let whole = words.iter().take_while(|word| u64::from_ne_bytes(**word) == u64::from_ne_bytes([byte; 8])).count() * 8;
    whole + bytes[whole..].iter().take_while(|next| **next == byte).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_counted_up_to_the_longest() {
        for length in 0..300 {
            let mut bytes = vec![b'-'; length];
            assert_eq!(run(&bytes), length.min(LONGEST));
            bytes.extend(b"=-----------");
            assert_eq!(run(&bytes), if length == 0 { 1 } else { length.min(LONGEST) });
        }
    }

    #[test]
    fn lengths_are_told_from_the_greatest() {
        let dashes: Vec<u8> = vec![b'-'; 200];
        let of = |length: usize| &dashes[..length];
        let tokens: [(u32, &[u8]); 6] =
            [(1, of(3)), (4, of(127)), (5, of(128)), (6, of(64)), (8, of(64)), (2, b"----|")];
        let mut runs = RunTokens::default();
        assert_eq!(tokens.map(|(id, bytes)| runs.take(id, bytes)), [true, true, false, true, true, false]);
        let lengths = runs.lengths(b'-');
        assert_eq!(
            [usize::MAX, 128, 127, 64, 4, 3, 0].map(|below| lengths.greatest(below)),
            [Some(127), Some(127), Some(64), Some(3), Some(3), None, None]
        );
        assert_eq!([127, 64, 3].map(|length| runs.id(b'-', length)), [4, 6, 1]);
        let mut fewer = lengths;
        fewer.remove(64);
        assert_eq!([64, 3].map(|length| (lengths.has(length), fewer.has(length))), [(true, false), (true, true)]);
        assert_eq!(fewer.greatest(127), Some(3));
        assert_eq!(runs.lengths(b'=').greatest(usize::MAX), None);
        // A run of 128 is another token.
        assert!(runs.is_led(b'-', LONGEST) && !runs.is_led(b'=', 1));
        assert!(!runs.take(2, b"=====|") && runs.take(3, b"===="));
        let equals = |count: usize| runs.run(&[vec![b'='; count], b"|=".to_vec()].concat());
        assert_eq!([1, 4, 5, 6, 7, 200].map(equals), [1, 4, 5, 6, 6, 6]);
        assert!(runs.is_led(b'=', 5) && !runs.is_led(b'=', 6));
        assert_eq!(runs.run(&dashes), LONGEST);
    }
}
