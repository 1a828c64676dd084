//! The places among a caller's values, by number: origins of texts are made of them, and errors are told at them.

use crate::template::syntax::failure::{Failure, Kind};
use crate::template::values::text::Text;
use crate::template::values::value::Value;

/// Characters of a path; of a longer one, the beginning is told.
const MAX_PATH: usize = 200;

/// A place among the caller's values: in what it stands, and under which key or index.
#[derive(Debug, Clone)]
struct CallersPlace<'t> {
    above: u32,
    part: Part<'t>,
}

/// The step to a place from the value that holds it.
#[derive(Debug, Clone)]
pub enum Part<'t> {
    /// A message by its number, or an option by its name.
    Root(Option<u32>, &'static str),
    /// The value of a key.
    Key(Text<'t>),
    /// An item of a list.
    Index(u32),
}

/// All places, by number; the first is no place.
#[derive(Debug)]
pub struct Places<'t> {
    places: Vec<CallersPlace<'t>>,
}

impl<'t> Places<'t> {
    /// No places.
    pub fn new() -> Self {
        Self { places: vec![CallersPlace { above: 0, part: Part::Root(None, "") }] }
    }

    /// One more place.
    pub fn add(&mut self, above: u32, part: Part<'t>) -> u32 {
        self.places.push(CallersPlace { above, part });
        self.places.len() as u32 - 1
    }

    /// The number of the place that comes next.
    pub fn next(&self) -> u32 {
        self.places.len() as u32
    }

    /// A further place, which is the content of a message.
    pub fn content_of(&mut self, message: u32) -> u32 {
        self.add(0, Part::Root(Some(message), "content"))
    }

    /// A key of this name in an object that stands at a place, and the place of its value.
    pub fn key(&mut self, above: u32, name: &'static str) -> (Value<'t>, u32) {
        let origin = self.next() * 2;
        let key = Text::Plain(name, origin);
        let place = self.add(above, Part::Key(key.clone()));
        (Value::Str(key), place)
    }

    /// The place of an item in a list that stands at a place.
    pub fn item(&mut self, above: u32, index: usize) -> u32 {
        self.add(above, Part::Index(index as u32))
    }

    /// Return the root of a place: the number of a message or the name of an option.
    pub fn root(&self, place: u32) -> (Option<u32>, &'static str) {
        let mut at = &self.places[place as usize];
        loop {
            match &at.part {
                Part::Root(message, name) => return (*message, name),
                _ => at = &self.places[at.above as usize],
            }
        }
    }

    /// Tell whether a place is the role of a message.
    pub fn is_role(&self, place: u32) -> bool {
        let at = &self.places[place as usize];
        let above = &self.places[at.above as usize].part;
        matches!(&at.part, Part::Key(key) if key.as_str() == "role") && matches!(above, Part::Root(Some(_), _))
    }

    /// The message and the path of a place.
    pub fn path(&self, place: u32) -> (Option<u32>, String) {
        let mut parts = Vec::new();
        let mut at = place;
        let (message, mut path) = loop {
            let place = &self.places[at as usize];
            match &place.part {
                Part::Root(message, name) => break (*message, (*name).to_owned()),
                part => parts.push(part),
            }
            at = place.above;
        };
        for part in parts.into_iter().rev() {
            match part {
                Part::Index(index) => path.push_str(&format!("[{index}]")),
                Part::Key(key) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.extend(key.as_str().chars().take(MAX_PATH + 1));
                }
                Part::Root(..) => {}
            }
            if path.chars().count() > MAX_PATH {
                path = path.chars().take(MAX_PATH - 3).chain("...".chars()).collect();
            }
        }
        (message, path)
    }

    /// A failure at a place.
    pub fn invalid(&self, message: impl Into<String>, place: u32) -> Box<Failure> {
        let mut failure = Failure::new(Kind::Input, message);
        failure.field = Some(self.field(place));
        failure
    }

    /// The path of a place, with that of its message.
    fn field(&self, place: u32) -> String {
        match self.path(place) {
            (Some(message), path) if path.is_empty() => format!("messages[{message}]"),
            (Some(message), path) => format!("messages[{message}].{path}"),
            (None, path) => path,
        }
    }

    /// Tell a failure of the template at the field that was at hand, and the remedy where one is known.
    pub fn tell(&self, failure: &mut Failure) {
        let Some(at_hand) = failure.at_hand else { return };
        let place = at_hand.origin >> 1;
        let field = self.field(if at_hand.holds { self.places[place as usize].above } else { place });
        if let Some(missing) = &failure.missing {
            failure.message.push_str(&format!("; this template needs {missing:?} in {field}"));
            failure.field = Some(format!("{field}.{missing}"));
            return;
        }
        let is_text = at_hand.kind == "str";
        if is_text && field.ends_with(".arguments") {
            failure.message.push_str("; this template takes arguments as an object, not as JSON in a string");
        } else if !is_text && field.ends_with(".content") {
            failure.message.push_str("; this template takes content as a string");
        }
        failure.field = Some(field);
    }
}

impl Default for Places<'_> {
    fn default() -> Self {
        Self::new()
    }
}
