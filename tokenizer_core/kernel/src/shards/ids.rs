//! Ids as little-endian integers of two, four or eight bytes.

use crate::capacity::reserve;
use crate::error::{Code, Error, Result};

/// Bytes of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// `uint16`.
    Two,
    /// `int32` or `uint32`.
    Four,
    /// `int64`.
    Eight,
}

impl Width {
    /// The width of a number of bytes.
    pub fn of_bytes(bytes: usize) -> Option<Self> {
        match bytes {
            2 => Some(Self::Two),
            4 => Some(Self::Four),
            8 => Some(Self::Eight),
            _ => None,
        }
    }
}

/// Encoded documents, one after the other.
#[derive(Debug)]
pub struct Documents {
    /// The bytes of all ids.
    pub bytes: Vec<u8>,
    /// The number of ids of each document.
    pub lengths: Vec<i64>,
    width: Width,
}

impl Documents {
    /// No documents, with room for about `ids` ids.
    pub fn with_room(width: Width, ids: usize) -> Self {
        let mut bytes = Vec::new();
        reserve(&mut bytes, ids * width as usize);
        Self { bytes, lengths: Vec::new(), width }
    }

    /// Append a document.
    ///
    /// # Errors
    /// `id_out_of_range` if an id does not fit: cut off, it would be another token.
    pub fn push(&mut self, ids: &[u32]) -> Result<()> {
        match self.width {
            Width::Two => {
                let largest = ids.iter().copied().max().unwrap_or_default();
                if largest > u32::from(u16::MAX) {
                    return Err(Error::new(
                        Code::IdOutOfRange,
                        format!("the id {largest} does not fit into two bytes"),
                    ));
                }
                self.extend(ids, |id| (id as u16).to_le_bytes());
            }
            Width::Four => self.extend(ids, u32::to_le_bytes),
            Width::Eight => self.extend(ids, |id| u64::from(id).to_le_bytes()),
        }
        self.lengths.push(ids.len() as i64);
        Ok(())
    }

    fn extend<const N: usize>(&mut self, ids: &[u32], bytes_of: impl Fn(u32) -> [u8; N]) {
        let start = self.bytes.len();
        reserve(&mut self.bytes, ids.len() * N);
        self.bytes.resize(start + ids.len() * N, 0);
        let (places, _) = self.bytes[start..].as_chunks_mut::<N>();
        places.iter_mut().zip(ids).for_each(|(place, id)| *place = bytes_of(*id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_little_endian_in_every_width_and_none_is_cut_off() {
        for (width, bytes) in [(Width::Two, 2), (Width::Four, 4), (Width::Eight, 8)] {
            let mut documents = Documents::with_room(width, 0);
            documents.push(&[1, 0xFFFF]).unwrap();
            documents.push(&[]).unwrap();
            let wanted: Vec<u8> = [1u64, 0xFFFF].iter().flat_map(|id| id.to_le_bytes()[..bytes].to_vec()).collect();
            assert_eq!((documents.bytes, documents.lengths), (wanted, vec![2, 0]));
        }
        let refused = Documents::with_room(Width::Two, 0).push(&[0x10000]).unwrap_err();
        assert_eq!(refused.code, Code::IdOutOfRange);
    }
}
