//! The ids of most pieces: so few that all of them are copied at once, whatever their number.

/// The most ids that are copied at once.
pub const IDS_LIMIT: usize = 8;

/// The number of ids stands above the first of them, in a byte of its own, which can be read alone.
pub(crate) const COUNT_SHIFT: u32 = 24;

/// Up to [`IDS_LIMIT`] ids.
#[derive(Debug, Clone, Copy, Default)]
pub struct IdChunk {
    /// Only the first `count` are meaningful.
    pub ids: [u32; IDS_LIMIT],
    /// The number of ids.
    pub count: u32,
}

impl IdChunk {
    /// None.
    pub const NONE: Self = Self { ids: [0; IDS_LIMIT], count: 0 };

    /// One id.
    #[inline(always)]
    pub fn one(id: u32) -> Self {
        let mut ids = [0; IDS_LIMIT];
        ids[0] = id;
        Self { ids, count: 1 }
    }

    /// Those that count.
    #[inline(always)]
    pub fn as_slice(&self) -> &[u32] {
        &self.ids[..self.count as usize]
    }

    /// A copy of `ids`, or `None` if they are too many.
    #[inline]
    pub fn new(ids: &[u32]) -> Option<Self> {
        let mut few = Self { count: ids.len() as u32, ..Self::NONE };
        few.ids.get_mut(..ids.len())?.copy_from_slice(ids);
        Some(few)
    }

    /// The first `count` of `ids`, or `None` if they are too many.
    #[inline(always)]
    pub fn first<const N: usize>(ids: &[u32; N], count: usize) -> Option<Self> {
        let first = ids.first_chunk::<IDS_LIMIT>().filter(|_| count <= IDS_LIMIT)?;
        Some(Self { ids: *first, count: count as u32 })
    }
}
