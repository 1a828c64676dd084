//! Random numbers of one text: which they are depends on the seed and the index of the text alone, so neither threads
//! nor machines change them.

/// The step that SplitMix64 adds with each number.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A number of SplitMix64: a key plus so many steps, mixed.
#[derive(Debug, Clone)]
pub struct Stream {
    key: u64,
    drawn: u64,
}

impl Stream {
    /// The numbers of the text that is number `row` of a call.
    pub fn new(seed: u64, row: u64) -> Self {
        // Mixed between the two: neighbouring seeds would share the numbers of neighbouring rows.
        Self { key: mix(mix(seed).wrapping_add(row)), drawn: 0 }
    }

    /// The next number, at least 0 and below 1, in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        self.drawn += 1;
        let number = mix(self.key.wrapping_add(self.drawn.wrapping_mul(STEP)));
        (number >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// SplitMix64's finalizer.
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}
