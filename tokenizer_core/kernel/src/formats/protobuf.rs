//! The wire format of protocol buffers: the fields of a message, one after the other, and nothing by a schema.

use crate::error::{Code, Error, Result};

/// The value of a field as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// An integer, a flag or an enumeration.
    Varint(u64),
    /// A float, among others.
    Fixed32(u32),
    /// Eight bytes.
    Fixed64(u64),
    /// A string, bytes or a message.
    Bytes(&'a [u8]),
}

/// The fields of one message, in order.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    /// The start of the next field in `bytes`.
    at: usize,
    /// The start of the message in the file.
    offset: usize,
}

/// A field: its number, its value, and where it begins in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field<'a> {
    /// Its number in the schema.
    pub number: u32,
    /// The value of the field.
    pub value: Value<'a>,
    /// The end of its value in the file, less its length: the place of a nested message.
    pub offset: usize,
}

impl<'a> Fields<'a> {
    /// The fields of a message that begins at `offset` of the file.
    pub fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, at: 0, offset }
    }

    /// The next field, or `None` at the end of the message.
    ///
    /// # Errors
    /// `invalid_file`, at the byte of the file, for what no message can hold.
    pub fn next(&mut self) -> Result<Option<Field<'a>>> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let start = self.at;
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number));
        let Some(number) = number else { return Err(self.broken(start, "a field has no number")) };
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.fixed(start)?)),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length, start)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.fixed(start)?)),
            _ => return Err(self.broken(start, "a field is of a type that is not in use")),
        };
        let length = if let Value::Bytes(bytes) = value { bytes.len() } else { 0 };
        Ok(Some(Field { number, value, offset: self.offset + self.at - length }))
    }

    fn varint(&mut self) -> Result<u64> {
        let start = self.at;
        let mut value = 0_u64;
        for (index, byte) in self.bytes[start..].iter().take(10).enumerate() {
            if index == 9 && *byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7F) << (7 * index);
            if byte & 0x80 == 0 {
                self.at = start + index + 1;
                return Ok(value);
            }
        }
        Err(self.broken(start, "a number is cut off, or longer than 64 bits"))
    }

    fn take(&mut self, length: u64, start: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let taken = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let Some(taken) = taken else {
            let message = format!("a field says that it has {length} bytes, and {} are left", rest.len());
            return Err(self.broken(start, &message));
        };
        self.at += taken.len();
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self, start: usize) -> Result<[u8; N]> {
        let taken = self.take(N as u64, start)?;
        Ok(std::array::from_fn(|at| taken[at]))
    }

    fn broken(&self, at: usize, message: &str) -> Error {
        Error::new(Code::InvalidFile, message).at_field(format!("byte {}", self.offset + at))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<(u32, Value<'_>)>> {
        let mut fields = Fields::new(bytes, 0);
        let mut found = Vec::new();
        while let Some(field) = fields.next()? {
            found.push((field.number, field.value));
        }
        Ok(found)
    }

    #[test]
    fn every_kind_of_field_is_read() {
        let bytes = [8, 0x96, 1, 0x12, 2, b'h', b'i', 0x1D, 0, 0, 0x80, 0x3F, 0x21, 1, 0, 0, 0, 0, 0, 0, 0];
        let expected = vec![
            (1, Value::Varint(150)),
            (2, Value::Bytes(b"hi")),
            (3, Value::Fixed32(1_f32.to_bits())),
            (4, Value::Fixed64(1)),
        ];
        assert_eq!(read(&bytes), Ok(expected));
    }

    #[test]
    fn what_is_cut_off_or_too_long_is_refused_at_its_byte() {
        let place = |bytes: &[u8]| read(bytes).unwrap_err().place;
        let at = |byte: usize| crate::error::Place::Field(format!("byte {byte}"));
        assert_eq!(place(&[8]), at(1));
        assert_eq!(place(&[8, 1, 0x12, 3, b'a']), at(2));
        let endless = [&[0x12][..], &[0xFF; 9], &[1]].concat();
        assert_eq!(place(&endless), at(0));
        assert_eq!(place(&[0x0B]), at(0));
        assert_eq!(place(&[0x00, 0x01]), at(0));
        assert_eq!(place(&[&[8][..], &[0x80; 12]].concat()), at(1));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_turn_back(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut fields = Fields::new(&bytes, 0);
            let mut before = 0;
            while let Ok(Some(field)) = fields.next() {
                prop_assert!(field.offset > before && field.offset <= bytes.len());
                before = field.offset;
            }
        }
    }
}
