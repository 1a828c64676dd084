//! The output of Python's pickle (protocol 5) for the tuples that vLLM hashes, byte for byte.
//!
//! A string that is written again as the same object becomes a reference, and equal strings need not be one object. So
//! callers make sure that no string comes twice.

/// An object in its frame.
pub struct Pickle {
    bytes: Vec<u8>,
}

/// The offset of the frame's length, and that of its contents.
const LENGTH: usize = 3;
const CONTENT: usize = LENGTH + 8;

/// Contents of a frame; Python splits longer ones.
pub const MAX_FRAME: usize = 1 << 16;

const MEMOIZE: u8 = 0x94;

impl Pickle {
    /// Begin.
    pub fn new() -> Self {
        let mut bytes = vec![0x80, 5, 0x95];
        bytes.resize(CONTENT, 0);
        Self { bytes }
    }

    /// Add a string of fewer than 256 bytes.
    pub fn add_bytes(&mut self, data: &[u8]) {
        self.bytes.extend([b'C', data.len() as u8]);
        self.bytes.extend(data);
        self.bytes.push(MEMOIZE);
    }

    /// Add text.
    pub fn add_text(&mut self, text: &str) {
        match u8::try_from(text.len()) {
            Ok(length) => self.bytes.extend([0x8C, length]),
            Err(_) => {
                self.bytes.push(b'X');
                self.bytes.extend((text.len() as u32).to_le_bytes());
            }
        }
        self.bytes.extend(text.as_bytes());
        self.bytes.push(MEMOIZE);
    }

    /// Add nothing.
    pub fn add_none(&mut self) {
        self.bytes.push(b'N');
    }

    /// Add a number below 2^31.
    fn add_number(&mut self, number: u32) {
        match number {
            0..=0xFF => self.bytes.extend([b'K', number as u8]),
            0x100..=0xFFFF => {
                self.bytes.push(b'M');
                self.bytes.extend((number as u16).to_le_bytes());
            }
            _ => {
                self.bytes.push(b'J');
                self.bytes.extend(number.to_le_bytes());
            }
        }
    }

    /// Add a tuple of numbers.
    pub fn add_numbers(&mut self, numbers: &[u32]) {
        if numbers.len() > 3 {
            self.bytes.push(b'(');
        }
        for &number in numbers {
            self.add_number(number);
        }
        self.end_tuple(numbers.len());
    }

    /// Make a tuple of the last items; of more than three, those since the mark.
    pub fn end_tuple(&mut self, length: usize) {
        match length {
            0 => return self.bytes.push(b')'),
            1 => self.bytes.push(0x85),
            2 => self.bytes.push(0x86),
            3 => self.bytes.push(0x87),
            _ => self.bytes.push(b't'),
        }
        self.bytes.push(MEMOIZE);
    }

    /// End the object; the frame has its length.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(b'.');
        let length = (self.bytes.len() - CONTENT) as u64;
        self.bytes[LENGTH..CONTENT].copy_from_slice(&length.to_le_bytes());
        self.bytes
    }
}
