//! Read and check a `response_template`.

use super::content::Content;
use super::json::{self, Dialect};
use super::transform;
use super::value::{Dict, Value};
use crate::error::{Code, Error, Result};
use crate::regex::Expression;

/// A field of the message, and the regions of the text that it takes.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) open: Option<Expression>,
    pub(super) close: Option<Expression>,
    pub(super) content: Content,
    pub(super) repeats: bool,
    pub(super) join: Option<String>,
    pub(super) optional: bool,
    pub(super) transform: Option<Value>,
    pub(super) transform_each: bool,
}

/// A checked `response_template`.
#[derive(Debug)]
pub struct ResponseTemplate {
    pub(super) defaults: Dict,
    pub(super) fields: Vec<Field>,
    /// The field without an opening, which takes all text outside of regions.
    pub(super) implicit: Option<usize>,
    pub(super) start_anchor: Expression,
}

const TEMPLATE_KEYS: &[&str] = &["version", "defaults", "fields", "start_anchor", "start_anchor_pattern", "x-tokd"];
const FIELD_KEYS: &[&str] = &[
    "open", "open_pattern", "close", "close_pattern", "content", "content_args", "repeats", "join", "optional",
    "transform", "transform_each", "x-tokd",
];

impl ResponseTemplate {
    /// Read the JSON of a template.
    ///
    /// # Errors
    /// `invalid_option`, or `invalid_pattern` for an expression, at the key.
    pub fn read(template: &str) -> Result<Self> {
        let place = Place("response_template".to_owned());
        let Ok(Value::Dict(template)) = json::read(template) else { return place.wrong("is an object") };
        let template = Object::new(&template, &place, TEMPLATE_KEYS)?;
        if template.dict.get("version").is_some_and(|version| *version != Value::Number("1".to_owned())) {
            return template.place.key("version").wrong("is 1");
        }
        let empty = Dict::default();
        let defaults = template.object("defaults")?.unwrap_or(&empty).clone();
        let place = template.place.key("fields");
        let fields = match template.object("fields")? {
            Some(fields) if !fields.entries.is_empty() => &fields.entries,
            _ => return place.wrong("is an object with at least one field"),
        };
        let fields: Vec<Field> =
            fields.iter().map(|(name, field)| read_field(name, field, &place.key(name))).collect::<Result<_>>()?;
        let mut implicit = (0..fields.len()).filter(|at| fields[*at].open.is_none());
        let first = implicit.next();
        if let Some(second) = implicit.next() {
            return place.key(&fields[second].name).wrong("has no open or open_pattern, which one field may lack");
        }
        let Some(start_anchor) = template.anchor("start_anchor")? else {
            return template.place.key("start_anchor").wrong("or start_anchor_pattern is needed");
        };
        Ok(Self { defaults, fields, implicit: first, start_anchor })
    }
}

/// The way to a value.
struct Place(String);

impl Place {
    fn key(&self, key: &str) -> Self {
        Self(format!("{}.{key}", self.0))
    }

    fn wrong<T>(&self, message: &str) -> Result<T> {
        Err(Error::new(Code::InvalidOption, format!("{} {message}", self.0)).at_field(&self.0))
    }
}

/// An object with the keys that it may have.
struct Object<'d> {
    dict: &'d Dict,
    place: &'d Place,
}

impl<'d> Object<'d> {
    fn new(dict: &'d Dict, place: &'d Place, known: &[&str]) -> Result<Self> {
        match dict.entries.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            Some((key, _)) => place.key(key).wrong(&format!("is not known; {} has {}", place.0, known.join(", "))),
            None => Ok(Self { dict, place }),
        }
    }

    fn object(&self, key: &str) -> Result<Option<&'d Dict>> {
        match self.dict.get(key) {
            None => Ok(None),
            Some(Value::Dict(dict)) => Ok(Some(dict)),
            Some(_) => self.place.key(key).wrong("is an object"),
        }
    }

    fn flag(&self, key: &str, default: bool) -> Result<bool> {
        match self.dict.get(key) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => self.place.key(key).wrong("is true or false"),
        }
    }

    fn text(&self, key: &str) -> Result<Option<&'d str>> {
        match self.dict.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => self.place.key(key).wrong("is a string"),
        }
    }

    fn pattern(&self, key: &str) -> Result<Option<Expression>> {
        let pattern = self.text(key)?;
        pattern
            .map(|pattern| Expression::python(pattern).map_err(|error| error.at_field(self.place.key(key).0)))
            .transpose()
    }

    /// One text or several under `key`, or an expression under `key_pattern`.
    fn anchor(&self, key: &str) -> Result<Option<Expression>> {
        let (place, pattern) = (self.place.key(key), format!("{key}_pattern"));
        let literals = match self.dict.get(key) {
            None => return self.pattern(&pattern),
            Some(_) if self.dict.get(&pattern).is_some() => {
                return place.wrong(&format!("and {pattern} exclude each other"));
            }
            Some(Value::Text(text)) => vec![text.clone()],
            Some(Value::List(items)) => items.iter().filter_map(Value::as_text).map(str::to_owned).collect(),
            Some(_) => Vec::new(),
        };
        let count = if let Some(Value::List(items)) = self.dict.get(key) { items.len() } else { 1 };
        if count == 0 || literals.len() != count || literals.iter().any(String::is_empty) {
            return place.wrong("is a string or a list of strings, none of them empty");
        }
        Expression::of_literals(&literals).map(Some).map_err(|error| error.at_field(place.0))
    }
}

fn read_field(name: &str, field: &Value, place: &Place) -> Result<Field> {
    let Value::Dict(field) = field else { return place.wrong("is an object") };
    let field = Object::new(field, place, FIELD_KEYS)?;
    let content = field.text("content")?.unwrap_or("text");
    let empty = Dict::default();
    let arguments_place = place.key("content_args");
    let content = read_content(
        content,
        &Object { dict: field.object("content_args")?.unwrap_or(&empty), place: &arguments_place },
        &place.key("content"),
    )?;
    let (open, close) = (field.anchor("open")?, field.anchor("close")?);
    let repeats = field.flag("repeats", false)?;
    let join = field.text("join")?.map(str::to_owned);
    if join.is_some() && !repeats {
        return place.key("join").wrong("needs repeats");
    }
    let transform = field.dict.get("transform").filter(|transform| **transform != Value::Null).cloned();
    let transform_each = field.flag("transform_each", false)?;
    match &transform {
        None if transform_each => return place.key("transform_each").wrong("needs a transform"),
        None => {
            if let Some(group) = open.iter().chain(&close).flat_map(Expression::names).next() {
                return place.wrong(&format!("has no transform, and so no use for the group {group:?}"));
            }
        }
        Some(transform) => {
            if let Some(text) = transform::mixed(transform) {
                return place.key("transform").wrong(&format!("mixes a placeholder with text: {text:?}"));
            }
        }
    }
    let optional = field.flag("optional", true)?;
    Ok(Field { name: name.to_owned(), open, close, content, repeats, join, optional, transform, transform_each })
}

/// Read a content parser's name and arguments; arguments that it does not know are ignored, as in transformers.
fn read_content(name: &str, arguments: &Object<'_>, place: &Place) -> Result<Content> {
    let strip = arguments.flag("strip", true)?;
    Ok(match name {
        "text" => Content::Text { strip },
        "int" => Content::Integer,
        "float" => Content::Float,
        "bool" => Content::Bool { strip },
        "json" => Content::Json {
            dialect: read_dialect(arguments)?,
            or_text: arguments.flag("allow_non_json", false)?.then_some(strip),
        },
        "x-json-sequence" => Content::JsonSequence(read_dialect(arguments)?),
        "xml-inline" => {
            let place = arguments.place.key("tag_pattern");
            let Some(tag) = arguments.pattern("tag_pattern")? else { return place.wrong("is needed") };
            if !tag.names().any(|name| name == "key") {
                return place.wrong("has no group named key");
            }
            let merge = arguments.flag("merge_duplicates", false)?;
            Content::XmlInline { tag: Box::new(tag), value: read_value_parser(arguments)?, merge }
        }
        "kv-lines" => {
            let separator = |key, default| match arguments.text(key)?.unwrap_or(default) {
                "" => arguments.place.key(key).wrong("is not empty"),
                separator => Ok(separator.to_owned()),
            };
            let (line, separator) = (separator("line_sep", "\n")?, separator("kv_sep", ":")?);
            Content::KeyValueLines { line, separator, strip, value: read_value_parser(arguments)? }
        }
        "python-call-list" => Content::PythonCalls { lax: false },
        "x-python-calls" => Content::PythonCalls { lax: true },
        _ => {
            return place.wrong(&format!(
                "{name:?} is not known; there are text, int, float, bool, json, xml-inline, kv-lines, \
                 python-call-list, x-python-calls and x-json-sequence"
            ));
        }
    })
}

fn read_value_parser(arguments: &Object<'_>) -> Result<Option<Box<Content>>> {
    let place = arguments.place.key("value_parser");
    let Some(Value::Dict(parser)) = arguments.dict.get("value_parser") else {
        return match arguments.dict.get("value_parser") {
            None | Some(Value::Null) => Ok(None),
            Some(_) => place.wrong("is an object"),
        };
    };
    let parser = Object { dict: parser, place: &place };
    let (empty, inner) = (Dict::default(), place.key("args"));
    let inner = Object { dict: parser.object("args")?.unwrap_or(&empty), place: &inner };
    read_content(parser.text("name")?.unwrap_or("text"), &inner, &place.key("name"))
        .map(|content| Some(Box::new(content)))
}

fn read_dialect(arguments: &Object<'_>) -> Result<Dialect> {
    let place = arguments.place.key("string_delims");
    let mut delimiters = Vec::new();
    match arguments.dict.get("string_delims") {
        None => {}
        Some(Value::List(pairs)) => {
            for pair in pairs {
                match pair {
                    Value::List(pair) => match &pair[..] {
                        [Value::Text(open), Value::Text(close)] if !open.is_empty() && !close.is_empty() => {
                            delimiters.push((open.clone(), close.clone()));
                        }
                        _ => return place.wrong("is a list of pairs of strings"),
                    },
                    _ => return place.wrong("is a list of pairs of strings"),
                }
            }
        }
        Some(_) => return place.wrong("is a list of pairs of strings"),
    }
    Ok(Dialect { delimiters, unquoted_keys: arguments.flag("unquoted_keys", false)? })
}
