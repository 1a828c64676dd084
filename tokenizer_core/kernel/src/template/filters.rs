//! Filters, by their names. Those of lists stand in `sequences`.

use super::calls::{Given, int_or};
use super::compare::truth;
use super::failure::{Failure, Kind, Result};
use super::json_out;
use super::number::{round, truncated};
use super::repr::text_of;
use super::run::Run;
use super::strings::is_space;
use super::text::{Builder, Text};
use super::value::Value;

impl<'t> Run<'t> {
    /// Apply a filter.
    pub fn filter(&mut self, name: &str, value: Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        self.budget.charge(8)?;
        match name {
            "tojson" => json_out::tojson(self, &value, given),
            "length" | "count" => {
                given.nothing(name)?;
                self.length(&value)
            }
            "trim" => {
                let [set] = given.bind(name, ["chars"], 0)?;
                match &value {
                    Value::Markup(text) => Ok(Value::Markup(self.strip(text, "strip", set.as_ref())?)),
                    _ => {
                        let text = text_of(&value, &self.budget)?;
                        Ok(Value::Str(self.strip(&text, "strip", set.as_ref())?))
                    }
                }
            }
            "default" | "d" => {
                let [default, boolean] = given.bind(name, ["default_value", "boolean"], 0)?;
                let replaced = matches!(value, Value::Undefined(_))
                    || (boolean.is_some_and(|boolean| truth(&boolean)) && !truth(&value));
                Ok(if replaced { default.unwrap_or(Value::literal("")) } else { value })
            }
            // Jinja's `safe` makes a type that escapes what is added to it for HTML. A prompt is no page.
            "string" | "safe" => {
                given.nothing(name)?;
                if matches!(value, Value::Markup(_)) { Ok(value) } else { Ok(Value::Str(text_of(&value, &self.budget)?)) }
            }
            "upper" | "lower" | "capitalize" => {
                let text = self.soft(&value)?;
                let name = if name == "upper" { "upper" } else if name == "lower" { "lower" } else { "capitalize" };
                self.string_method(&text, name, given)
            }
            "replace" => {
                let [old, new, count] = given.bind(name, ["old", "new", "count"], 2)?;
                let text = text_of(&value, &self.budget)?;
                let old = text_of(&old.unwrap_or(Value::None), &self.budget)?;
                let new = text_of(&new.unwrap_or(Value::None), &self.budget)?;
                self.budget.charge(text.len() >> 3)?;
                let count = usize::try_from(int_or(count.as_ref(), -1)?).ok();
                Ok(Value::Str(self.replace(&text, old.as_str(), &new, count)?))
            }
            "join" => self.filter_join(&value, given),
            "indent" => self.indent(&value, given),
            "int" | "float" | "abs" | "round" | "filesizeformat" => self.number_filter(name, &value, given),
            "title" | "center" | "truncate" | "wordcount" | "format" => self.text_filter(name, &value, given),
            "e" | "escape" | "forceescape" => {
                given.nothing(name)?;
                if name != "forceescape" && matches!(value, Value::Markup(_)) {
                    return Ok(value);
                }
                let text = text_of(&value, &self.budget)?;
                self.escape(&text)
            }
            "attr" => {
                let [attribute] = given.bind(name, ["name"], 1)?;
                let attribute = attribute.unwrap_or(Value::None);
                let Value::Str(attribute) = &attribute else { return Err(Failure::failed("attribute name must be string")) };
                let found = self.own_attribute(&value, attribute.as_str())?;
                let (owner, attribute) = (value.type_name(), attribute.as_str());
                Ok(found.unwrap_or_else(|| Value::undefined(format!("'{owner} object' has no attribute '{attribute}'"))))
            }
            _ => self.sequence_filter(name, &value, given),
        }
    }

    /// The text that a filter of texts works on.
    fn soft(&mut self, value: &Value<'t>) -> Result<Text<'t>> {
        match value {
            Value::Markup(_) => Err(Failure::untrackable("changes text that is safe for HTML")),
            _ => text_of(value, &self.budget),
        }
    }

    /// `len`.
    pub fn length(&mut self, value: &Value<'t>) -> Result<Value<'t>> {
        Ok(Value::int(match value {
            Value::Str(text) | Value::Markup(text) => {
                self.budget.charge(text.len() >> 4)?;
                text.count()
            }
            Value::List(items) | Value::Tuple(items) => items.values.len(),
            Value::Dict(dict) | Value::View(_, dict) => dict.len(),
            Value::Range(range) => range.len(),
            Value::Undefined(_) => 0,
            Value::Loop(number) => match self.loop_attribute(*number, "length")? {
                Some(Value::Int(length, _)) => usize::try_from(length).unwrap_or(0),
                _ => 0,
            },
            other => return Err(Failure::failed(format!("object of type '{}' has no len()", other.type_name()))),
        } as i64))
    }

    fn filter_join(&mut self, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        let [separator, attribute] = given.bind("join", ["d", "attribute"], 0)?;
        let separator = text_of(&separator.unwrap_or(Value::literal("")), &self.budget)?;
        let path = self.path(attribute.as_ref())?;
        let mut source = self.iterate(value)?;
        let mut parts = Vec::new();
        while let Some(item) = self.next(&mut source)? {
            let item = self.follow(item, &path)?;
            self.budget.charge(2)?;
            parts.push(Value::Str(text_of(&item, &self.budget)?));
        }
        self.join_values(&separator, &parts)
    }

    fn indent(&mut self, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        let [width, first, blank] = given.bind("indent", ["width", "first", "blank"], 0)?;
        let is_set = |flag: Option<Value<'t>>| flag.is_some_and(|flag| truth(&flag));
        let (first, blank) = (is_set(first), is_set(blank));
        let Value::Str(text) = value else {
            Self::defined(value)?;
            let message = format!("unsupported operand type(s) for +=: '{}' and 'str'", value.type_name());
            return Err(Failure::failed(message));
        };
        let margin = match width {
            Some(Value::Str(margin)) => margin,
            width => {
                let width = usize::try_from(int_or(width.as_ref(), 4)?).unwrap_or(0);
                self.budget.charge(width)?;
                Text::made(" ".repeat(width), super::text::TEMPLATE)
            }
        };
        // A text that ends in a line break keeps it: one more stands behind it while the lines are cut.
        let Value::Str(text) = self.join(&[text.clone(), Text::literal("\n")], text.len() + 1)? else {
            return Ok(Value::None);
        };
        let mut made = Builder::with_capacity(text.len());
        let mut ended: Option<Text<'t>> = None;
        for (at, (line, whole)) in self.lines(&text)?.into_iter().enumerate() {
            self.budget.charge(margin.len() + whole.len())?;
            if let Some(ended) = &ended {
                // Whoever ended the line wrote the break, whatever it is written as.
                made.push("\n", ended.origin());
            }
            if (at > 0 && (!line.is_empty() || blank)) || (at == 0 && first) {
                made.push_text(&margin);
            }
            made.push_text(&line);
            ended = Some(whole.slice(line.len()..whole.len()));
        }
        Ok(Value::Str(made.finish()))
    }

    fn number_filter(&mut self, name: &str, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        let mut origin = value.origin(&self.budget)?;
        for other in given.positional.iter().chain(given.named.iter().map(|(_, value)| value)) {
            origin = if origin == super::text::TEMPLATE { other.own_origin() } else { origin };
        }
        Ok(match name {
            "int" => {
                let [default, base] = given.bind(name, ["default", "base"], 0)?;
                // A base that is no whole number leaves the way over a float.
                let base = base.map_or(Some(10), |base| base.as_int());
                match self.int_of_value(value, base) {
                    Ok(Some(number)) => number.with_origin(origin),
                    Ok(None) => default.unwrap_or(Value::int(0)).with_origin(origin),
                    Err(failure) => return Err(failure),
                }
            }
            "float" => {
                let [default] = given.bind(name, ["default"], 0)?;
                match float_of(value)? {
                    Some(number) => Value::Float(number, origin),
                    None => default.unwrap_or(Value::Float(0.0, 0)).with_origin(origin),
                }
            }
            "abs" => {
                given.nothing(name)?;
                match value {
                    Value::Int(number, origin) => Value::Int(number.checked_abs().unwrap_or(i64::MAX), *origin),
                    Value::Float(number, origin) => Value::Float(number.abs(), *origin),
                    Value::Bool(flag) => Value::int(i64::from(*flag)),
                    Value::Big(digits, origin) => Value::Big(digits.trim_start_matches('-').into(), *origin),
                    other => {
                        Self::defined(other)?;
                        return Err(Failure::failed(format!("bad operand type for abs(): '{}'", other.type_name())));
                    }
                }
            }
            "round" => {
                let [precision, method] = given.bind(name, ["precision", "method"], 0)?;
                rounded(value, int_or(precision.as_ref(), 0)?, method.as_ref())?.with_origin(origin)
            }
            _ => {
                let [binary] = given.bind(name, ["binary"], 0)?;
                let Some(bytes) = float_of(value)? else {
                    return Err(Failure::failed("could not convert string to float"));
                };
                Value::Str(Text::made(file_size(bytes, binary.is_some_and(|binary| truth(&binary)))?, origin))
            }
        })
    }

    /// `int(value)`, or `int(float(value))`, or nothing.
    fn int_of_value(&mut self, value: &Value<'t>, base: Option<i64>) -> Result<Option<Value<'t>>> {
        let from_float = |number: f64| match truncated(number, 0) {
            Ok(number) => Ok(Some(number)),
            Err(failure) if failure.kind == Kind::Failed => Ok(None),
            Err(failure) => Err(failure),
        };
        match value {
            Value::Int(..) | Value::Big(..) => Ok(Some(value.clone())),
            Value::Bool(flag) => Ok(Some(Value::int(i64::from(*flag)))),
            Value::Float(number, _) => from_float(*number),
            Value::Str(text) => {
                self.budget.charge(text.len())?;
                let digits = text.as_str().trim_matches(is_space);
                if !digits.is_ascii() {
                    return if digits.chars().any(super::strings::is_decimal) {
                        Err(Failure::untrackable("reads a number whose digits are not ASCII"))
                    } else {
                        Ok(None)
                    };
                }
                if let Some(number) = base.map_or(Ok(None), |base| parse_int(digits, base))? {
                    return Ok(Some(number));
                }
                float_of(value)?.map_or(Ok(None), from_float)
            }
            Value::Undefined(undefined) => Err(Self::undefined_failure(undefined)),
            _ => Ok(None),
        }
    }

    fn text_filter(&mut self, name: &str, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        match name {
            "title" => {
                given.nothing(name)?;
                let text = self.soft(value)?;
                self.budget.charge(4 * text.len())?;
                Ok(Value::Str(titled(&text)))
            }
            "center" => {
                let [width] = given.bind(name, ["width"], 0)?;
                let text = self.soft(value)?;
                self.pad(&text, "center", int_or(width.as_ref(), 80)?, &Text::literal(" "))
            }
            "wordcount" => {
                given.nothing(name)?;
                let text = self.soft(value)?;
                self.budget.charge(text.len())?;
                let mut words = 0;
                let mut inside = false;
                for character in text.as_str().chars() {
                    let is_word = character == '_' || super::strings::is_letter(character) || character.is_numeric();
                    words += i64::from(is_word && !inside);
                    inside = is_word;
                }
                Ok(Value::Int(words, text.origin()))
            }
            "format" => {
                let text = self.soft(value)?;
                if !given.positional.is_empty() && !given.named.is_empty() {
                    let message = "can't handle positional and keyword arguments at the same time";
                    return Err(Failure::failed(message));
                }
                let values = if given.named.is_empty() {
                    Value::tuple(given.positional, &self.budget)?
                } else {
                    let pairs = given.named.into_iter().map(|(name, value)| (Value::Str(name), value));
                    Value::Dict(super::dict::Dict::of(pairs.collect(), &self.budget)?)
                };
                self.percent(&text, &values)
            }
            _ => self.truncate(value, given),
        }
    }

    fn truncate(&mut self, value: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        let [length, kill, end, leeway] = given.bind("truncate", ["length", "killwords", "end", "leeway"], 0)?;
        let Value::Str(text) = value else {
            return Err(Failure::untrackable("truncates what is not text"));
        };
        let (length, leeway) = (int_or(length.as_ref(), 255)?, int_or(leeway.as_ref(), 5)?);
        let end = end.unwrap_or(Value::literal("..."));
        let end = super::methods::text_arg(&end, "truncate")?;
        if length < end.count() as i64 || leeway < 0 {
            return Err(Failure::failed(format!("expected length >= {}, got {length}", end.count())));
        }
        if text.count() as i64 <= length.saturating_add(leeway) {
            return Ok(value.clone());
        }
        let bytes = super::attributes::bytes_of(text.as_str(), 0, length as usize - end.count());
        let mut kept = text.slice(bytes);
        if !kill.is_some_and(|kill| truth(&kill))
            && let Some(space) = kept.as_str().rfind(' ')
        {
            kept = kept.slice(0..space);
        }
        let together = kept.len() + end.len();
        self.join(&[kept, end.clone()], together)
    }

    fn escape(&mut self, text: &Text<'t>) -> Result<Value<'t>> {
        self.budget.charge(6 * text.len())?;
        let mut made = Builder::with_capacity(text.len());
        text.each_run(|part, origin| {
            let mut from = 0;
            for (at, byte) in part.bytes().enumerate() {
                let escaped = match byte {
                    b'&' => "&amp;",
                    b'<' => "&lt;",
                    b'>' => "&gt;",
                    b'\'' => "&#39;",
                    b'"' => "&#34;",
                    _ => continue,
                };
                made.push(&part[from..at], origin);
                made.push(escaped, origin);
                from = at + 1;
            }
            made.push(&part[from..], origin);
        });
        Ok(Value::Markup(made.finish()))
    }
}

impl Value<'_> {
    /// A number or a text that was made, as a caller's; what has an origin keeps it.
    #[must_use]
    pub fn with_origin(self, origin: super::text::Origin) -> Self {
        match self {
            Self::Int(number, 0) => Self::Int(number, origin),
            Self::Float(number, 0) => Self::Float(number, origin),
            Self::Big(digits, 0) => Self::Big(digits, origin),
            other => other,
        }
    }
}

/// `float(value)`, or nothing where that is no number.
fn float_of(value: &Value<'_>) -> Result<Option<f64>> {
    Ok(match value {
        Value::Int(number, _) => Some(*number as f64),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Float(number, _) => Some(*number),
        Value::Big(digits, _) => digits.parse().ok(),
        Value::Str(text) => {
            let text = text.as_str().trim_matches(is_space);
            if text.contains('_') {
                return Err(Failure::untrackable("reads a number with underscores"));
            }
            text.parse().ok()
        }
        Value::Undefined(undefined) => return Err(Run::undefined_failure(undefined)),
        _ => None,
    })
}

/// `int(text, base)`.
fn parse_int<'t>(text: &str, base: i64) -> Result<Option<Value<'t>>> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.contains('_') {
        return Err(Failure::untrackable("reads a number with underscores"));
    }
    if base == 10 {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        return Ok(is_number.then(|| super::number::integer(text, 0)));
    }
    let prefix = digits.get(..2).map(str::to_ascii_lowercase).unwrap_or_default();
    let of_prefix = match prefix.as_str() {
        "0x" => 16,
        "0o" => 8,
        "0b" => 2,
        _ => 0,
    };
    let (base, digits) = match base {
        0 if of_prefix > 0 => (of_prefix, &digits[2..]),
        0 if digits.starts_with('0') && digits.bytes().any(|byte| byte != b'0') => return Ok(None),
        0 => (10, digits),
        2..=36 if of_prefix == base => (base, &digits[2..]),
        2..=36 => (base, digits),
        _ => return Ok(None),
    };
    if digits.is_empty() || digits.starts_with(['+', '-']) || digits.bytes().any(|byte| !char::from(byte).is_digit(base as u32)) {
        return Ok(None);
    }
    let number = i64::from_str_radix(digits, base as u32);
    let number = number.map_err(|_| Failure::limit("computes a number that is larger than any chat needs"))?;
    Ok(Some(Value::int(if text.starts_with('-') { -number } else { number })))
}

fn rounded<'t>(value: &Value<'t>, precision: i64, method: Option<&Value<'t>>) -> Result<Value<'t>> {
    let method = method.map_or(Some("common"), Value::as_str).unwrap_or_default();
    if !matches!(method, "common" | "ceil" | "floor") {
        return Err(Failure::failed("method must be common, ceil or floor"));
    }
    if method == "common" {
        return match value {
            Value::Int(number, origin) if precision >= 0 => Ok(Value::Int(*number, *origin)),
            Value::Bool(flag) if precision >= 0 => Ok(Value::int(i64::from(*flag))),
            Value::Float(number, origin) => Ok(Value::Float(round(*number, precision)?, *origin)),
            Value::Int(..) | Value::Bool(_) => Err(Failure::untrackable("rounds a whole number")),
            other => Err(Failure::failed(format!("type {} doesn't define __round__ method", other.type_name()))),
        };
    }
    let Some(number) = float_of(value)?.filter(|_| !matches!(value, Value::Str(_))) else {
        return Err(Failure::failed("must be real number"));
    };
    if !(0..=15).contains(&precision) || number.abs() > 1e15 {
        return Err(Failure::limit("computes a number that is larger than any chat needs"));
    }
    let scale = 10_f64.powi(precision as i32);
    let scaled = if method == "ceil" { (number * scale).ceil() } else { (number * scale).floor() };
    Ok(Value::Float(scaled / scale, value.own_origin()))
}

fn file_size(bytes: f64, binary: bool) -> Result<String> {
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    if bytes == 1.0 {
        return Ok("1 Byte".to_owned());
    }
    if bytes < base {
        if !bytes.is_finite() || bytes.abs() > 9e18 {
            return Err(Failure::failed("cannot convert float to integer"));
        }
        return Ok(format!("{} Bytes", bytes as i64));
    }
    let prefixes = ["k", "M", "G", "T", "P", "E", "Z", "Y"];
    let mut unit = base * base;
    let mut at = 0;
    while bytes >= unit && at + 1 < prefixes.len() {
        unit *= base;
        at += 1;
    }
    let prefix = if binary { format!("{}iB", prefixes[at].to_uppercase()) } else { format!("{}B", prefixes[at]) };
    Ok(format!("{:.1} {prefix}", base * bytes / unit))
}

/// As the filter `title` has it: words begin behind white space, hyphens and opening brackets.
fn titled<'t>(text: &Text<'t>) -> Text<'t> {
    let is_border = |character: char| is_space(character) || matches!(character, '-' | '(' | '{' | '[' | '<');
    let mut made = Builder::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let borders = rest.starts_with(is_border);
        let end = rest.find(|character| is_border(character) != borders).unwrap_or(rest.len());
        let first = rest.chars().next().map_or(0, char::len_utf8);
        made.push_text(&super::cases::mapped(&text.part(&rest[..first]), "upper"));
        made.push_text(&super::cases::mapped(&text.part(&rest[first..end]), "lower"));
        rest = &rest[end..];
    }
    made.finish()
}
