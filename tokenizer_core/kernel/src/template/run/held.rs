//! The things that a rendering holds beside its variables: arguments, iterators, and what changes.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::template::syntax::ast::For;
use crate::template::syntax::failure::{Failure, Result};
use crate::template::values::budget::Budget;
use crate::template::values::text::{Origin, Text};
use crate::template::values::value::{Counted, Dict, Items, Value, View};

/// The arguments of a call.
#[derive(Debug, Clone, Default)]
pub struct Given<'t> {
    /// By their places.
    pub positional: Vec<Value<'t>>,
    /// By their names.
    pub named: Vec<(Text<'t>, Value<'t>)>,
}

/// Parameters that are given by their places alone have this name.
pub const UNNAMED: &str = "";

impl<'t> Given<'t> {
    /// The values of the parameters, of which the first ones have to be given.
    pub fn bind<const N: usize>(self, of: &str, names: [&str; N], required: usize) -> Result<[Option<Value<'t>>; N]> {
        let mut bound: [Option<Value<'t>>; N] = std::array::from_fn(|_| None);
        let given = self.positional.len();
        if given > N {
            return Err(Failure::failed(format!("{of}() takes at most {N} arguments ({given} given)")));
        }
        for (slot, value) in bound.iter_mut().zip(self.positional) {
            *slot = Some(value);
        }
        for (name, value) in self.named {
            let name = name.as_str();
            match names.iter().position(|known| !known.is_empty() && *known == name) {
                Some(at) if bound[at].is_none() => bound[at] = Some(value),
                Some(_) => return Err(Failure::failed(format!("{of}() got multiple values for argument '{name}'"))),
                None => return Err(Failure::failed(format!("{of}() got an unexpected keyword argument '{name}'"))),
            }
        }
        match bound[..required].iter().position(Option::is_none) {
            Some(at) => Err(Failure::failed(format!("{of}() missing required argument (pos {})", at + 1))),
            None => Ok(bound),
        }
    }

    /// Refuse any argument.
    pub fn nothing(self, of: &str) -> Result<()> {
        self.bind(of, [], 0).map(|_: [_; 0]| ())
    }
}

impl Budget {
    /// Charge for the arguments of a call.
    pub fn charge_given(&self, given: &Given<'_>) -> Result<()> {
        self.charge_reading(given.positional.iter().chain(given.named.iter().map(|(_, value)| value)))
    }
}

/// The source of items.
#[derive(Debug)]
pub enum Source<'t> {
    /// No items.
    Empty,
    /// It is being asked for its next item.
    Busy,
    /// The items that a filter makes, once it is asked for its first item.
    Later(Box<(&'static str, Value<'t>, Given<'t>)>),
    /// A list or a tuple, and the place in it.
    Items(Rc<Items<'t>>, usize),
    /// From the end: how many are left.
    Reversed(Rc<Items<'t>>, usize),
    /// The characters of a text from a byte on.
    Characters(Text<'t>, usize),
    /// A part of a dictionary, and the place in it.
    View(View, Rc<Dict<'t>>, usize),
    /// Numbers, and how many are gone.
    Counted(Counted, usize),
    /// Values that are already made.
    Values(std::vec::IntoIter<Value<'t>>),
    /// Another iterator, by its number.
    Other(u32),
    /// The items that pass the condition of a loop, whose variables begin at a base.
    Tested(Box<Source<'t>>, &'t For, u32),
    /// The items of a source, to each of which a filter's step is applied.
    Filtered(Box<Source<'t>>, Rc<FilterStep<'t>>),
}

/// The step that `map`, `select` and their like apply to each item.
#[derive(Debug)]
pub struct FilterStep<'t> {
    /// The path of an attribute to look at; without parts the item itself.
    pub path: Vec<Value<'t>>,
    /// The action on the item.
    pub action: Action<'t>,
}

/// See [`FilterStep`].
#[derive(Debug)]
pub enum Action<'t> {
    /// Take the attribute, or this where it is undefined.
    Attribute(Value<'t>),
    /// Apply a filter.
    Filter(Text<'t>, Given<'t>),
    /// Keep the item if the test says so, or the truth where there is none.
    Keep(bool, Option<(Text<'t>, Given<'t>)>),
}

impl Source<'_> {
    /// Return the number of items, if Python's `len` tells it.
    pub fn length(&self) -> Option<usize> {
        match self {
            Self::Empty => Some(0),
            Self::Items(items, _) => Some(items.values.len()),
            Self::Characters(text, _) => Some(text.count()),
            Self::View(_, dict, _) => Some(dict.len()),
            Self::Counted(range, _) => Some(range.len()),
            _ => None,
        }
    }
}

/// Something that changes.
#[derive(Debug)]
pub enum Object<'t> {
    /// The attributes of a namespace.
    Namespace(Vec<(Text<'t>, Value<'t>)>),
    /// The variable `loop`.
    Loop(Box<Loop<'t>>),
    /// An iterator; what was taken from it is gone.
    Iter(Source<'t>),
    /// The items of a `cycler`, and the one that is next.
    Cycler(Vec<Value<'t>>, usize),
    /// The separator of a `joiner`, and whether it was asked for one.
    Joiner(Value<'t>, bool),
}

/// The state of a loop.
#[derive(Debug)]
pub struct Loop<'t> {
    pub source: Source<'t>,
    pub length: Option<usize>,
    /// The number of items that were begun.
    pub begun: usize,
    /// The item behind the present one, if it was looked at.
    pub after: Option<Option<Value<'t>>>,
    pub current: Option<Value<'t>>,
    pub before: Option<Value<'t>>,
    pub changed: Option<Vec<Value<'t>>>,
    pub recursion: Option<(&'t For, u32, usize)>,
}

impl<'t> Loop<'t> {
    /// A loop that has not begun.
    pub fn over(source: Source<'t>, length: Option<usize>, recursion: Option<(&'t For, u32, usize)>) -> Self {
        Self { source, length, begun: 0, after: None, current: None, before: None, changed: None, recursion }
    }
}

/// Literals that were taken out, in lower case, and the origins of the texts that they were taken from.
pub type Taken = BTreeMap<String, BTreeSet<Origin>>;
