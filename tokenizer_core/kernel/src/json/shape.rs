//! The number of values in a body, counted without reading them: it bounds the work of parsing.

use super::special::string_run;

/// The structure of a body outside its strings. It need not be JSON.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Commas.
    pub commas: usize,
    /// Opening brackets.
    pub lists: usize,
    /// Opening braces.
    pub objects: usize,
    /// Colons.
    pub fields: usize,
    /// Strings, keys too.
    pub strings: usize,
    /// The depth of lists and objects in one another.
    pub depth: usize,
}

impl Shape {
    /// Count what a body holds.
    pub fn of(body: &[u8]) -> Self {
        let mut shape = Self::default();
        let (mut at, mut depth) = (0, 0_usize);
        while let Some(byte) = body.get(at) {
            at += 1;
            match byte {
                b',' => shape.commas += 1,
                b':' => shape.fields += 1,
                b'[' | b'{' => {
                    *(if *byte == b'[' { &mut shape.lists } else { &mut shape.objects }) += 1;
                    depth += 1;
                    shape.depth = shape.depth.max(depth);
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b'"' => {
                    shape.strings += 1;
                    at = behind_string(body, at);
                }
                _ => {}
            }
        }
        shape
    }
}

/// Find the end of the string whose first mark is taken, or the end of the body.
fn behind_string(body: &[u8], mut at: usize) -> usize {
    while let Some(rest) = body.get(at..).filter(|rest| !rest.is_empty()) {
        at += string_run(rest) + 1;
        if body.get(at - 1) == Some(&b'"') {
            return at;
        }
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_strings_does_not_count() {
        let shape = Shape::of(br#"{"a,\"[": [1, {"b\\": "x:{"}, []], "c": "unended, "#);
        let expected = Shape { commas: 3, lists: 2, objects: 2, fields: 3, strings: 5, depth: 3 };
        assert_eq!(shape, expected);
        assert_eq!(Shape::of(b"]]}}[["), Shape { lists: 2, depth: 2, ..Shape::default() });
        assert_eq!(Shape::of(b"\"\\"), Shape { strings: 1, ..Shape::default() });
        assert_eq!(Shape::of(b"\"\x01\n\",").commas, 1);
    }
}
