//! Bodies whose long lists nobody reads yet: the objects of each are cut out as JSON, and the service's models read
//! what is left.

use crate::json::check::Objects;
use crate::json::scan::Scanner;

/// A value that is cut out.
#[derive(Debug, PartialEq, Eq)]
pub enum CutOut<'a> {
    /// A list of objects, such as one chat.
    One(Objects<'a>),
    /// A list of such lists.
    Many(Vec<Objects<'a>>),
}

/// A body in parts.
#[derive(Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    /// The body in which every object of these lists is empty.
    pub rest: String,
    /// The lists by their fields.
    pub lists: Vec<(&'a str, CutOut<'a>)>,
}

impl<'a> Parts<'a> {
    /// Cut the fields of these names out of an object, where they are lists of objects or of such lists; `None` if the
    /// models have to find what is wrong, or unusual. What is left need not be JSON.
    pub fn of(body: &'a [u8], names: &[String]) -> Option<Self> {
        let mut scanner = Scanner::new(body)?;
        let mut parts = Self { rest: String::new(), lists: Vec::new() };
        let mut copied = 0;
        scanner.object(|scanner, key| {
            // Of equal fields the last counts, which the models find.
            parts.lists.iter().all(|(known, _)| *known != key).then_some(())?;
            if !names.iter().any(|name| name == key) || scanner.peek()? != b'[' {
                return scanner.skip_any().map(|_| ());
            }
            parts.rest.push_str(scanner.body.get(copied..scanner.at)?);
            let list = if scanner.is_nested() {
                let (mut lists, mut emptied) = (Vec::new(), Vec::new());
                scanner.array(|scanner| {
                    let list = scanner.objects()?;
                    emptied.push(empty(&list));
                    lists.push(list);
                    Some(())
                })?;
                parts.rest.push_str(&format!("[{}]", emptied.join(",")));
                CutOut::Many(lists)
            } else {
                let list = scanner.objects()?;
                parts.rest.push_str(&empty(&list));
                CutOut::One(list)
            };
            copied = scanner.at;
            parts.lists.push((key, list));
            Some(())
        })?;
        scanner.end()?;
        parts.rest.push_str(scanner.body.get(copied..)?);
        Some(parts)
    }
}

/// A list of as many empty objects.
fn empty(list: &Objects<'_>) -> String {
    format!("[{}]", vec!["{}"; list.ends.len()].join(","))
}
