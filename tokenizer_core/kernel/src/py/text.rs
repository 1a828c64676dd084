//! Python's strings as UTF-8.
//!
//! An ASCII string is UTF-8 already. For any other string Python makes the UTF-8 when it is first needed, one character
//! at a time into new memory, and keeps it as long as the string. Most texts come only once, and this would be a sixth
//! of the time of a long one. So it is made here, in blocks, and freed at once, unless the same text comes twice in a
//! row.

use std::mem::MaybeUninit;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use once_cell::race::OnceBox;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySequence, PyString};

use super::arguments::type_name;
use super::raise::invalid_option;
use crate::simd::level::SimdLevel;
use crate::simd::prefetch::{CACHE_LINE, prefetch_bytes};
use crate::unicode::from_utf32::Utf8;

/// Characters taken out of a string at once; as UTF-32 they just fit an L1 cache. A string of no more is not cut.
const BLOCK: usize = 8192;

/// Shorter strings, in characters, are left to Python, which is level with them. Of longer ones it would keep more
/// UTF-8, in memory that nobody has touched before.
const LEAST: usize = 128;

/// A text as UTF-8.
pub enum Text<'a> {
    /// The UTF-8 that Python keeps with the string.
    Kept(&'a str),
    /// The UTF-8 made for this call.
    Made(Utf8),
}

impl Deref for Text<'_> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match self {
            Self::Kept(text) => text,
            Self::Made(text) => text,
        }
    }
}

/// The text as UTF-8, or `InvalidUnicode` with the place of the first lone surrogate.
#[inline]
pub fn utf8<'a>(text: &'a Bound<'_, PyString>, level: SimdLevel) -> PyResult<Text<'a>> {
    let made = if is_wide(text) { make(text, level) } else { None };
    made.map_or_else(|| kept(text, None).map(Text::Kept), |made| Ok(Text::Made(made)))
}

/// Many texts as UTF-8; those that had to be made are in one buffer.
pub struct Texts<'a> {
    made: Option<Utf8>,
    rows: Vec<Row<'a>>,
}

enum Row<'a> {
    Kept(&'a str),
    /// Its position in the text that was made.
    Made(Range<usize>),
}

impl Texts<'_> {
    /// Each of them.
    pub fn rows(&self) -> Vec<&str> {
        let made = self.made.as_deref().unwrap_or_default();
        let rows = self.rows.iter();
        rows.map(|row| match row {
            Row::Kept(text) => text,
            Row::Made(range) => &made[range.clone()],
        })
        .collect()
    }
}

/// As [`utf8`] for many texts; if the first that is not ASCII comes again, so do all.
pub fn all<'a>(texts: &'a [Bound<'_, PyString>], level: SimdLevel) -> PyResult<Texts<'a>> {
    let wide = texts.iter().filter(|text| is_wide(text));
    let again = wide.clone().next().is_none_or(comes_again);
    let mut made = if again { None } else { Utf8::with_room(wide.map(length).sum(), level) };
    let row = |(row, text): (usize, &'a Bound<'_, PyString>)| {
        if let Some(made) = made.as_mut().filter(|_| is_wide(text)) {
            let start = made.len();
            if append(text, made).is_some() {
                return Ok(Row::Made(start..made.len()));
            }
        }
        kept(text, Some(row)).map(Row::Kept)
    };
    let rows = texts.iter().enumerate().map(row).collect::<PyResult<_>>()?;
    Ok(Texts { made, rows })
}

/// The documents of a sequence, each of which is a string.
pub fn documents<'py>(texts: &Bound<'py, PySequence>, field: &str) -> PyResult<Vec<Bound<'py, PyString>>> {
    let text = |text: Bound<'py, PyAny>| {
        let message = format!("a document is a string, not {}", type_name(&text));
        text.cast_into().map_err(|_| invalid_option(texts.py(), message, field))
    };
    texts.to_list()?.iter().map(text).collect()
}

/// Tell whether it is long enough, and not ASCII.
#[inline]
fn is_wide(text: &Bound<'_, PyString>) -> bool {
    length(text) >= LEAST && !is_ascii(text)
}

/// As [`utf8`], made and kept by Python; `row` is which of several texts it is.
pub fn kept<'a>(text: &'a Bound<'_, PyString>, row: Option<usize>) -> PyResult<&'a str> {
    text.to_str().or_else(|failure| {
        let py = text.py();
        let Ok(at) = failure.value(py).getattr("start").and_then(|start| start.extract::<usize>()) else {
            return Err(failure);
        };
        let place = PyDict::new(py);
        place.set_item("span", [at, at + 1])?;
        place.set_item("unit", "char")?;
        if let Some(row) = row {
            place.set_item("row", row)?;
        }
        let class = py.import("tokenizer_core.errors")?.getattr("InvalidUnicode")?;
        let message = format!("the text holds a lone surrogate at character {at}; no Unicode text does");
        Err(PyErr::from_value(class.call((message,), Some(&place))?))
    })
}

/// In characters.
#[inline]
fn length(text: &Bound<'_, PyString>) -> usize {
    // SAFETY: it is a live string and the GIL is held; for a string this cannot fail.
    unsafe { ffi::PyUnicode_GetLength(text.as_ptr()) as usize }
}

/// `None` if it comes again, is no Unicode text, or nothing is gained.
#[cold]
#[inline(never)]
fn make(text: &Bound<'_, PyString>, level: SimdLevel) -> Option<Utf8> {
    if comes_again(text) {
        return None;
    }
    let mut utf8 = Utf8::with_room(length(text), level)?;
    append(text, &mut utf8)?;
    Some(utf8)
}

/// `None` if it is no Unicode text; a part of it may have been appended.
fn append(text: &Bound<'_, PyString>, utf8: &mut Utf8) -> Option<()> {
    let length = length(text);
    if length <= BLOCK {
        return append_block(text, utf8);
    }
    for start in (0..length).step_by(BLOCK) {
        let end = length.min(start + BLOCK);
        prefetch_characters(text, start..end);
        // SAFETY: it is a live string and the GIL is held; `start..end` lies within it. The call returns a new
        // reference, or null with an exception.
        let block = unsafe {
            let block = ffi::PyUnicode_Substring(text.as_ptr(), start as ffi::Py_ssize_t, end as ffi::Py_ssize_t);
            Bound::from_owned_ptr_or_err(text.py(), block).ok()?.cast_into_unchecked::<PyString>()
        };
        if is_ascii(&block) {
            utf8.push_str(block.to_str().ok()?);
        } else {
            append_block(&block, utf8)?;
        }
    }
    Some(())
}

/// Prefetch characters of a long string.
///
/// They are taken to have two bytes each and to follow the head of the string, which has a line, as is mostly so; if
/// not, nothing but time is lost.
fn prefetch_characters(text: &Bound<'_, PyString>, characters: Range<usize>) {
    const HEAD: usize = CACHE_LINE;
    const WIDTH: usize = 2;
    let start = text.as_ptr().cast::<u8>().wrapping_add(HEAD + WIDTH * characters.start);
    prefetch_bytes(start, WIDTH * characters.len());
}

/// As [`append`] for at most [`BLOCK`] characters.
fn append_block(text: &Bound<'_, PyString>, utf8: &mut Utf8) -> Option<()> {
    let mut block = [const { MaybeUninit::<u32>::uninit() }; BLOCK];
    // SAFETY: it is a live string and the GIL is held; the block has room for `BLOCK` characters, and a longer string
    // is an error. No terminating zero is asked for.
    let written =
        unsafe { ffi::PyUnicode_AsUCS4(text.as_ptr(), block.as_mut_ptr().cast(), BLOCK as ffi::Py_ssize_t, 0) };
    if written.is_null() {
        drop(PyErr::take(text.py()));
        return None;
    }
    // SAFETY: the call has not failed, so all characters of the string have been written.
    utf8.push(unsafe { std::slice::from_raw_parts(block.as_ptr().cast(), length(text)) })
}

/// Tell whether the last string that was asked about is this one, as far as its address, its length and a few
/// characters show.
fn comes_again(text: &Bound<'_, PyString>) -> bool {
    static LAST: AtomicU64 = AtomicU64::new(0);
    /// Characters of the text for each that is looked at, and the most of these.
    const STRIDE: usize = 64;
    const LOOKS: usize = 8;
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    let length = length(text);
    let mut mark = text.as_ptr() as u64 ^ length as u64;
    let looks = (length / STRIDE).min(LOOKS);
    for look in 0..looks {
        // SAFETY: it is a live string of at least [`LEAST`] characters and the GIL is held; the place is below its
        // length.
        let character = unsafe { ffi::PyUnicode_ReadChar(text.as_ptr(), (length * look / looks) as ffi::Py_ssize_t) };
        mark = (mark.rotate_left(21) ^ u64::from(character)).wrapping_mul(MIX);
    }
    LAST.swap(mark, Relaxed) == mark
}

/// Tell whether all is ASCII, which a string knows of itself; true where it cannot be asked.
#[inline]
fn is_ascii(text: &Bound<'_, PyString>) -> bool {
    // `OnceBox` and not `OnceLock`: after a fork, a thread that was making the value may not exist, and nobody must
    // wait for it.
    static METHOD: OnceBox<Option<ffi::PyCFunction>> = OnceBox::new();
    let Some(method) = METHOD.get_or_init(|| Box::new(is_ascii_method(text.py()))) else { return true };
    // SAFETY: the function is `str.isascii`, which takes a string and no arguments (null), and the GIL is held. It
    // returns a new reference to `True` or `False`, or null with an exception.
    unsafe {
        let answer = Bound::from_owned_ptr_or_opt(text.py(), method(text.as_ptr(), std::ptr::null_mut()));
        answer.is_none_or(|answer| answer.as_ptr() == ffi::Py_True())
    }
}

/// Return the C function of `str.isascii`: looking the method up takes ten times as long as calling it.
#[cold]
fn is_ascii_method(py: Python<'_>) -> Option<ffi::PyCFunction> {
    let method = PyString::new(py, "").getattr("isascii").ok()?;
    // SAFETY: the GIL is held, and both calls accept any object: for one that is no C function they raise an exception,
    // which is cleared.
    unsafe {
        let no_arguments = ffi::PyCFunction_GetFlags(method.as_ptr()) == ffi::METH_NOARGS;
        let function = ffi::PyCFunction_GetFunction(method.as_ptr());
        drop(PyErr::take(py));
        function.filter(|_| no_arguments)
    }
}
