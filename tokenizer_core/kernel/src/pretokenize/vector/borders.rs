//! The beginnings of pieces, from one bit a character for each class.

use super::super::rules::{Contraction, PatternRules};
use super::lowest_bits;

/// The characters of each class in a window: a word with a bit each.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Masks {
    pub(super) letter: u64,
    /// This and the next two only for patterns that tell them apart.
    pub(super) upper: u64,
    pub(super) lower: u64,
    pub(super) mark: u64,
    pub(super) number: u64,
    pub(super) space: u64,
    pub(super) newline: u64,
    /// U+0020.
    pub(super) blank: u64,
    pub(super) quote: u64,
    /// Only for patterns that know slashes.
    pub(super) slash: u64,
}

/// The facts that a window needs about its first character if that is the last one of the window before.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carry {
    /// It is neither word nor number nor space and does not begin a piece.
    within_other: u64,
    /// A small letter, or one without case that follows a small one: a capital begins a word.
    small: u64,
}

/// The result for a window.
#[derive(Default)]
pub(super) struct BorderMasks {
    /// The characters that begin a piece, except the first one, which was decided before.
    pub(super) starts: u64,
    /// Nothing was left undecided.
    pub(super) whole: bool,
    /// For a window that begins with the last character of this one, if one may begin there.
    pub(super) next: Option<Carry>,
}

/// The borders among the first `count` characters; `last` if the text ends after them. `contractions` tells for quotes
/// whether one, and whether two of the characters after each belong to a contraction. A character has a bit for each of
/// its bytes; `inside` are all but the first of them.
#[inline(always)]
pub(super) fn borders<R: PatternRules>(
    masks: &Masks,
    inside: u64,
    count: usize,
    last: bool,
    before: Carry,
    contractions: impl Fn(u64) -> (u64, u64),
) -> BorderMasks {
    let Masks { letter, number, space, newline, blank, quote, .. } = *masks;
    let valid = lowest_bits(count);
    // Characters for which everything is decided.
    let mut known = valid;

    let word = if R::CASED { letter | masks.mark } else { letter };
    let other = valid & !(word | number | space);
    let behind_blank = blank << 1;
    let other_start = other & !(other << 1 | behind_blank | before.within_other);
    // All of the first character of others.
    let two = other_start | other_start << 1 & inside;
    let three = two | two << 1 & inside;
    let other_first = three | three << 1 & inside;
    let leading_other = other_first & word >> 1;

    let (one, two) = match R::CONTRACTION {
        _ if quote == 0 => (0, 0),
        Contraction::Suffix => contractions(quote & word << 1),
        Contraction::AnyCase | Contraction::Lower => contractions(quote & leading_other),
    };

    // Newlines after others belong to them; white space is cut after its last newline and before its last character.
    let mut newline_left = newline;
    if R::NEWLINE_TAIL {
        newline_left &= newline.wrapping_add(other << 1 & newline);
    }
    let tail = newline & !newline_left;
    if R::SLASH_TAIL {
        known &= below(masks.slash & tail << 1);
    }
    let space_left = space & !tail;
    let mut starts = space_left & !(space_left << 1);
    let leading_space = if R::NEWLINE_CUT { space & !newline } else { space };
    let last_byte = leading_space & (valid & !space) >> 1;
    // White space has three bytes at most.
    let second = last_byte & !inside | (last_byte & inside) >> 1;
    starts |= second & !inside | (second & inside) >> 1;
    if R::NEWLINE_CUT {
        starts |= behind_last_newline(newline_left, leading_space);
    }
    if !last {
        // Where white space ends is not known, nor where it is cut.
        let run = (space_left << (64 - count)).leading_ones();
        known &= valid >> run.saturating_sub(1);
    }

    let number_start = number & !(number << 1);
    starts |= match R::DIGITS {
        1 => number & !inside,
        usize::MAX => number_start & !behind_blank,
        digits => {
            // They are counted by their bits.
            known &= below(number & inside);
            portions(number, number_start, digits)
        }
    };

    let lead = if R::ANY_LEAD { space & !newline | leading_other } else { blank };
    starts |= other_start | word & !((word | lead) << 1);

    match R::CONTRACTION {
        Contraction::Suffix => starts &= !(one | two),
        Contraction::Lower => starts &= !((one | two) << 1),
        Contraction::AnyCase => (),
    }
    starts |= one << 2 | two << 3;

    let at_end = |bits: u64| bits >> (count - 1) & 1;
    let (mut small_end, mut word_end) = (0, word);
    if R::CASED {
        // A mark among others is one of them, and they go on after it.
        known &= below(masks.mark & (other & !leading_other) << 1);
        let apart = !((one | two) << 1 | two << 2);
        let (upper, lower) = (masks.upper & apart, masks.lower & apart);
        let caseless = word & apart & !(upper | lower);
        let small = lower | caseless & !caseless.wrapping_add((lower << 1 | before.small) & caseless);
        let open = caseless & !small;
        starts |= upper & small << 1;
        let mut doubtful = upper & open << 1;
        while doubtful != 0 {
            // Capitals after one without case begin a word if neither another such nor a small letter follows them.
            let at = doubtful.trailing_zeros() as usize;
            let end = at + (upper >> at).trailing_ones() as usize;
            if end >= count && !last {
                known &= lowest_bits(at);
            } else if end >= count || (lower | caseless) >> end & 1 == 0 {
                starts |= 1 << at;
            }
            doubtful &= doubtful - 1;
        }
        (small_end, word_end) = (at_end(small), small | open);
    }
    let whole = known == valid;
    // The next window could not know of a contraction that reaches into it, how many digits there were, or of white
    // space before newlines.
    let clear = (one | two) >> count.saturating_sub(3) == 0;
    let number_end = if R::DIGITS == 1 || R::DIGITS == usize::MAX { number } else { 0 };
    let space_end = if R::NEWLINE_CUT { space & !newline } else { space };
    let goes_on = whole && !last && clear && at_end(word_end | other | number_end | space_end) != 0;
    let carry = Carry { within_other: at_end(other & !other_first), small: small_end };
    BorderMasks { starts: starts & known & !1, whole, next: goes_on.then_some(carry) }
}

/// All bits below the lowest of `bits`; all there are if there is none.
#[inline(always)]
fn below(bits: u64) -> u64 {
    bits.wrapping_sub(1) & !bits
}

/// The starts of runs of `space`, which has no newline, that follow a newline and are not followed by one.
#[inline(always)]
fn behind_last_newline(newline: u64, space: u64) -> u64 {
    let mut starts = newline << 1 & space;
    // Newlines after a run that begins with one of `starts`.
    let mut newlines = space.wrapping_add(starts) & newline;
    while newlines != 0 {
        let before = starts & below(newlines);
        starts ^= (1 << 63) >> (before.leading_zeros() & 63);
        newlines &= newlines - 1;
    }
    starts
}

/// The starts of the portions of `digits` characters that each run is cut into.
#[inline(always)]
fn portions(number: u64, start: u64, digits: usize) -> u64 {
    // Numbers that follow as many others.
    let full = (1..=digits).fold(number, |full, back| full & number << back);
    let (mut all, mut next) = (start, start << digits & full);
    while next != 0 {
        all |= next;
        next = next << digits & full;
    }
    all
}
