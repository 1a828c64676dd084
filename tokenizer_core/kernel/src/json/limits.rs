//! The JSON that is refused wherever it is read: the limits of the parser of bodies, for lines of a corpus too.

/// Values within one another; the outermost counts.
const MAX_LEVELS: usize = 201;

/// Of the whole part of a number.
const MAX_DIGITS: usize = 4300;

/// Find where a limit is exceeded, and which. Text that is no JSON may pass.
pub fn exceeded(json: &[u8]) -> Option<(usize, String)> {
    if !may_exceed(json) {
        return None;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = json.get(at) {
        let is_value = matches!(byte, b'[' | b'{' | b'"' | b'-') || byte.is_ascii_alphanumeric();
        if is_value && depth == MAX_LEVELS {
            return Some((at, format!("nested deeper than {} lists or objects", MAX_LEVELS - 1)));
        }
        let rest = &json[at..];
        at += match byte {
            b'"' => string_length(rest),
            b'0'..=b'9' => {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                if digits > MAX_DIGITS && begins_number(&json[..at]) {
                    return Some((at, format!("a number of more than {MAX_DIGITS} digits")));
                }
                digits
            }
            b'[' | b'{' => {
                depth += 1;
                1
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                1
            }
            _ => 1,
        };
    }
    None
}

/// Tell quickly that nothing is exceeded, as in all real lines.
fn may_exceed(json: &[u8]) -> bool {
    let is_digit = |at: &usize| json.get(*at).is_some_and(u8::is_ascii_digit);
    // A run of so many digits has one at each of some of these places, and at those around it.
    let has_digits = || (0..json.len()).step_by(MAX_DIGITS / 4).filter(is_digit).count() >= 4;
    (json.len() > MAX_LEVELS && memchr::memchr2_iter(b'[', b'{', json).count() >= MAX_LEVELS)
        || (json.len() > MAX_DIGITS && has_digits())
}

/// The length of a string with its quotes, or of all that is left if it has no end.
fn string_length(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = json.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if json[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    json.len()
}

/// Tell whether digits behind this are the whole part of a number: not its fraction, and not its exponent.
fn begins_number(before: &[u8]) -> bool {
    !matches!(before, [.., b'.' | b'e' | b'E' | b'+'] | [.., b'e' | b'E', b'-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_exceeded(value: &str) -> bool {
        exceeded(format!("{{\"x\":{value}}}").as_bytes()).is_some()
    }

    #[test]
    fn the_limits_are_those_of_the_parser_of_bodies() {
        let lists = |depth: usize, inner: &str| format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(!is_exceeded(&lists(200, "")));
        assert!(!is_exceeded(&lists(199, "1")));
        for inner in ["1", "-1", "\"\"", "null", "{}", "[]"] {
            assert!(is_exceeded(&lists(200, inner)), "{inner}");
        }
        let digits = |count: usize| "7".repeat(count);
        for fits in [digits(4300), format!("-{}", digits(4300)), format!("1.{}", digits(9000))] {
            assert!(!is_exceeded(&fits));
        }
        for exponent in ["e", "E", "e+", "E-"] {
            assert!(!is_exceeded(&format!("1{exponent}{}", digits(9000))));
        }
        for long in [digits(4301), format!("-{}", digits(4301)), format!("[1,{}.5]", digits(4301))] {
            assert!(is_exceeded(&long));
        }
    }

    #[test]
    fn strings_are_not_looked_into() {
        for inner in ["[".repeat(300), "7".repeat(9000), format!("\\\"{}", "{".repeat(300)), "\\\\".repeat(300)] {
            assert!(!is_exceeded(&format!("\"{inner}\"")));
            assert!(is_exceeded(&format!("[\"{inner}\",{}]", "7".repeat(4301))));
        }
        assert!(!is_exceeded(&format!("\"{}\\", "[".repeat(300))));
    }
}
