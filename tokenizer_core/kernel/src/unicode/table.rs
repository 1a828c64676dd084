//! A value for each code point, in blocks of which no two are alike.

use std::ops::RangeInclusive;

use regex_syntax::hir::{Class, Hir, HirKind};

/// The number of code points.
pub(super) const CODES: usize = char::MAX as usize + 1;

const BLOCK: usize = 256;

/// The table.
#[derive(Debug)]
pub(crate) struct ClassTable<T> {
    index: Vec<u16>,
    blocks: Vec<[T; BLOCK]>,
}

impl<T: Copy + Default + PartialEq> ClassTable<T> {
    /// Of the values of all [`CODES`].
    pub(super) fn of(values: &[T]) -> Self {
        let mut table = Self { index: Vec::with_capacity(CODES / BLOCK), blocks: Vec::new() };
        let mut last = 0;
        for block in values.as_chunks::<BLOCK>().0 {
            // Blocks that are alike mostly lie side by side.
            if table.blocks.get(last) != Some(block) {
                last = table.blocks.iter().position(|known| known == block).unwrap_or(table.blocks.len());
                if last == table.blocks.len() {
                    table.blocks.push(*block);
                }
            }
            table.index.push(last as u16);
        }
        table
    }

    /// The value of a code point.
    #[inline(always)]
    pub(crate) fn get(&self, code: u32) -> T {
        let block = self.index.get(code as usize / BLOCK).and_then(|block| self.blocks.get(usize::from(*block)));
        block.map_or_else(T::default, |block| block[code as usize % BLOCK])
    }
}

/// The code points of a class that is a constant of this crate, as regular expressions have it.
pub(crate) fn ranges_of(class: &str) -> Vec<RangeInclusive<usize>> {
    // None is refused: tests look at every code point of each.
    match regex_syntax::parse(class).map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => {
            class.iter().map(|range| range.start() as usize..=range.end() as usize).collect()
        }
        _ => Vec::new(),
    }
}
