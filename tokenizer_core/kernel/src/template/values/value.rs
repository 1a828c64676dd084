//! The values of a rendering.

use std::rc::Rc;

use super::budget::{Budget, ITEM, MAX_NESTING, OBJECT};
use super::text::{Origin, TEMPLATE, Text};
use crate::template::syntax::ast::Macro;
use crate::template::syntax::failure::{AtHand, Failure, Result};

/// A list or a tuple.
#[derive(Debug)]
pub struct Items<'t> {
    /// The values; never changed, as the sandbox forbids it.
    pub values: Vec<Value<'t>>,
    /// The depth to which values are nested in it.
    pub nesting: u16,
}

/// A dictionary; never changed once it is made.
#[derive(Debug, Default)]
pub struct Dict<'t> {
    pub(super) entries: Vec<(Value<'t>, Value<'t>)>,
    /// Hashes and the numbers of entries, in order; empty for a few.
    pub(super) index: Vec<(u64, u32)>,
    pub(super) nesting: u16,
    /// The message of the chat that it is, by its number from 1 on; 0 is none.
    pub(super) message: u32,
}

/// The numbers of a `range`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in Python")]
pub struct Counted {
    pub start: i64,
    pub stop: i64,
    pub step: i64,
    /// The origin of the numbers.
    pub origin: Origin,
}

impl Counted {
    /// Return the number of numbers.
    pub fn len(&self) -> usize {
        let (low, high) = if self.step > 0 { (self.start, self.stop) } else { (self.stop, self.start) };
        if low >= high {
            return 0;
        }
        let distance = (i128::from(high) - i128::from(low) - 1) / i128::from(self.step.unsigned_abs());
        usize::try_from(distance + 1).unwrap_or(usize::MAX)
    }

    /// One of them, which has to be there.
    pub fn at(&self, index: usize) -> i64 {
        self.start.wrapping_add(self.step.wrapping_mul(index as i64))
    }
}

/// Why a value is undefined; the message is written only if it is used, since a template may make many of them.
#[derive(Debug, Clone)]
pub enum Undefined<'t> {
    /// No variable has this name.
    Name(&'t str),
    /// A macro was called without this parameter.
    Parameter(&'t str),
    /// A value of this type has no such attribute; the caller's value that it is.
    Attribute(&'static str, Text<'t>, Option<(Origin, bool)>),
    /// A value of this type has no such item, as `repr` writes its key.
    Item(&'static str, Text<'t>),
    /// The sandbox hides this attribute of a value of this type.
    Unsafe(&'static str, Text<'t>),
    /// The condition on this line does not hold, and nothing stands for it.
    NoElse(u32),
    /// Anything else, as a message.
    Hint(&'static str),
}

/// The part of a dictionary that a view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in Python")]
pub enum View {
    Keys,
    Values,
    Items,
}

/// A function that Jinja or Hugging Face gives to templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in templates")]
pub enum Function {
    Range,
    Dict,
    Namespace,
    Cycler,
    Joiner,
    RaiseException,
    StrftimeNow,
}

/// A value. Numbers that stand for objects count those of one rendering, so that no cycle keeps any.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the types of Python and Jinja")]
pub enum Value<'t> {
    /// A variable that is not set.
    Unset,
    Undefined(Undefined<'t>),
    None,
    Bool(bool),
    Int(i64, Origin),
    /// Beyond 64 bits, in decimal digits: written and compared, but not computed with.
    Big(Rc<str>, Origin),
    Float(f64, Origin),
    Str(Text<'t>),
    List(Rc<Items<'t>>),
    Tuple(Rc<Items<'t>>),
    Dict(Rc<Dict<'t>>),
    View(View, Rc<Dict<'t>>),
    Range(Rc<Counted>),
    Function(Function),
    Method(Rc<(Value<'t>, &'static str)>),
    Macro(&'t Macro, u32),
    Namespace(u32),
    Loop(u32),
    Iter(u32),
    Cycler(u32),
    Joiner(u32),
    /// The start of the variables of the enclosing function; only in the first slot of a function.
    Frame(u32),
}

impl<'t> Value<'t> {
    /// A number of the template's.
    pub const fn int(number: i64) -> Self {
        Self::Int(number, TEMPLATE)
    }

    /// A text of the template's.
    pub const fn literal(text: &'t str) -> Self {
        Self::Str(Text::literal(text))
    }

    /// A text of a caller's place.
    pub const fn of_caller(text: &'t str, place: u32) -> Self {
        Self::Str(Text::Plain(text, place * 2))
    }

    /// An undefined value with a message.
    pub const fn undefined(hint: &'static str) -> Self {
        Self::Undefined(Undefined::Hint(hint))
    }

    /// A list.
    pub fn list(values: Vec<Self>, budget: &Budget) -> Result<Self> {
        Ok(Self::List(Items::of(values, budget)?))
    }

    /// A tuple.
    pub fn tuple(values: Vec<Self>, budget: &Budget) -> Result<Self> {
        Ok(Self::Tuple(Items::of(values, budget)?))
    }

    /// As Python names it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Unset | Self::Undefined(_) => "Undefined",
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(..) | Self::Big(..) => "int",
            Self::Float(..) => "float",
            Self::Str(_) => "str",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Dict(_) => "dict",
            Self::View(View::Keys, _) => "dict_keys",
            Self::View(View::Values, _) => "dict_values",
            Self::View(View::Items, _) => "dict_items",
            Self::Range(_) => "range",
            Self::Function(Function::Namespace | Function::Cycler | Function::Joiner | Function::Dict) => "type",
            Self::Function(_) => "function",
            Self::Method(_) => "builtin_function_or_method",
            Self::Macro(..) => "Macro",
            Self::Namespace(_) => "Namespace",
            Self::Loop(_) => "LoopContext",
            Self::Iter(_) => "generator",
            Self::Cycler(_) => "Cycler",
            Self::Joiner(_) => "Joiner",
            Self::Frame(_) => "frame",
        }
    }

    /// Return the depth to which values are nested in it.
    pub fn nesting(&self) -> u16 {
        match self {
            Self::List(items) | Self::Tuple(items) => items.nesting,
            Self::Dict(dict) | Self::View(_, dict) => dict.nesting(),
            Self::Method(method) => method.0.nesting() + 1,
            _ => 0,
        }
    }

    /// The text of a string.
    pub fn as_text(&self) -> Option<&Text<'t>> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The characters of a string.
    pub fn as_str(&self) -> Option<&str> {
        self.as_text().map(Text::as_str)
    }

    /// The whole number that this is; a truth value is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number, _) => Some(*number),
            Self::Bool(flag) => Some(i64::from(*flag)),
            _ => None,
        }
    }

    /// Return the origin of a number or a text, not of the values in containers.
    pub fn own_origin(&self) -> Origin {
        match self {
            Self::Int(_, origin) | Self::Big(_, origin) | Self::Float(_, origin) => *origin,
            Self::Str(text) => text.origin(),
            Self::Range(range) => range.origin,
            _ => TEMPLATE,
        }
    }

    /// Return the place of the value among the caller's: its origin, or that of one of its first parts, and whether it
    /// is a part's. It is asked for often, and so it is never looked for long.
    pub fn place(&self) -> Option<(Origin, bool)> {
        const FIRST: usize = 8;
        let own = |value: &Self| match value {
            Self::Str(text) => text.first_origin(),
            other => other.own_origin(),
        };
        let held = |values: &mut dyn Iterator<Item = &Value<'t>>| {
            values.take(FIRST).map(own).find(|origin| *origin != TEMPLATE)
        };
        let held = match self {
            Self::Dict(dict) => held(&mut dict.entries().iter().map(|(key, _)| key)),
            Self::List(items) => held(&mut items.values.iter()),
            _ => None,
        };
        held.map(|origin| (origin, true)).or_else(|| Some((own(self), false)).filter(|(origin, _)| *origin != TEMPLATE))
    }

    /// The origin of the first character or number of a caller in the value, or that of the template. What may hide
    /// some is refused.
    pub fn origin(&self, budget: &Budget) -> Result<Origin> {
        match self {
            Self::List(items) | Self::Tuple(items) => first_origin(&items.values, budget),
            Self::Dict(dict) | Self::View(View::Items, dict) => {
                let keys = first_origin(dict.entries().iter().map(|(key, _)| key), budget)?;
                if keys != TEMPLATE {
                    return Ok(keys);
                }
                first_origin(dict.entries().iter().map(|(_, value)| value), budget)
            }
            Self::View(View::Keys, dict) => first_origin(dict.entries().iter().map(|(key, _)| key), budget),
            Self::View(View::Values, dict) => first_origin(dict.entries().iter().map(|(_, value)| value), budget),
            Self::Range(range) if range.origin != TEMPLATE => Err(self.hidden()),
            Self::Unset | Self::Undefined(_) | Self::None | Self::Bool(_) | Self::Range(_) => Ok(TEMPLATE),
            Self::Int(..) | Self::Big(..) | Self::Float(..) | Self::Str(_) => Ok(self.own_origin()),
            _ => Err(self.hidden()),
        }
    }

    /// The failure for a value of which nobody knows whether a caller's text is in it.
    pub fn hidden(&self) -> Box<Failure> {
        Failure::untrackable(format!("writes a {} as text, which is not tracked", self.type_name()))
    }
}

fn first_origin<'v, 't: 'v>(values: impl IntoIterator<Item = &'v Value<'t>>, budget: &Budget) -> Result<Origin> {
    for value in values {
        budget.charge(1)?;
        let origin = value.origin(budget)?;
        if origin != TEMPLATE {
            return Ok(origin);
        }
    }
    Ok(TEMPLATE)
}

impl<'t> Items<'t> {
    /// Values that stand together, charged.
    pub fn of(values: Vec<Value<'t>>, budget: &Budget) -> Result<Rc<Self>> {
        budget.charge(OBJECT + ITEM * values.len())?;
        let nesting = nested(values.iter())?;
        Ok(Rc::new(Self { values, nesting }))
    }
}

/// Return the nesting depth of a container of these values.
pub fn nested<'v, 't: 'v>(values: impl Iterator<Item = &'v Value<'t>>) -> Result<u16> {
    let nesting = values.map(Value::nesting).max().unwrap_or(0) + 1;
    if nesting > MAX_NESTING {
        return Err(Failure::limit("nests more values than a chat can need"));
    }
    Ok(nesting)
}

impl Budget {
    /// Charge for values that are read: the characters of a text once, however it is used.
    pub fn charge_reading<'v, 't: 'v>(&self, values: impl IntoIterator<Item = &'v Value<'t>>) -> Result<()> {
        values.into_iter().try_for_each(|value| {
            self.charge(match value {
                Value::Str(text) => 2 + (text.len() >> 3),
                Value::Big(digits, _) => 2 + (digits.len() >> 3),
                _ => 2,
            })
        })
    }
}

impl Failure {
    /// The same failure, with the value that was at hand unless another is known.
    #[must_use]
    pub fn about(mut self: Box<Self>, value: &Value<'_>) -> Box<Self> {
        if self.at_hand.is_none() {
            self.at_hand = value.place().map(|(origin, holds)| AtHand { origin, holds, kind: value.type_name() });
        }
        self
    }
}
