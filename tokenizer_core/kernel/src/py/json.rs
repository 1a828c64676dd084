//! A caller's values as JSON, in which the template engine reads them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple, PyType};

use super::raise::{Raise, exception, invalid_option, run};
use super::text::kept;
use crate::error::Error;
use crate::json::check;
use crate::json::shape::Shape;
use crate::json::string::write_string;
use crate::requests::{CutOut, Parts};

/// Values nested deeper than this are refused: no JSON of a chat is, and the stack is not endless.
const MAX_DEPTH: usize = 100;
/// Characters of the path of a field: a key may be as long as a request.
const MAX_PATH: usize = 200;

/// See `_kernel.pyi`.
#[pyfunction]
pub fn chat_json<'py>(value: &Bound<'py, PyAny>, field: &str) -> PyResult<Bound<'py, PyBytes>> {
    let py = value.py();
    let mut writer = DumpWriter { json: Vec::with_capacity(4096), path: vec![PathStep::Name(field)] };
    // The list of messages is no level of a message.
    let depth = MAX_DEPTH + usize::from(field == "messages");
    // A mapping that is not a dict runs code of its own, which may change the dict around it.
    catch_unwind(AssertUnwindSafe(|| writer.write(value, depth)))
        .unwrap_or_else(|panic| Err(exception(py, &Error::of_panic(&*panic), None)))?;
    Ok(PyBytes::new(py, &writer.json))
}

/// See `_kernel.pyi`.
#[pyfunction]
pub fn count_json(py: Python<'_>, text: &[u8]) -> PyResult<(usize, usize, usize, usize, usize, usize)> {
    let shape = run(py, text.len(), || Ok(Shape::of(text))).raise(py)?;
    Ok((shape.commas, shape.lists, shape.objects, shape.fields, shape.strings, shape.depth))
}

/// A list as JSON, and where each of its objects ends.
type SplitObjects<'py> = (Bound<'py, PyBytes>, Vec<usize>);

/// See `_kernel.pyi`.
#[pyfunction]
pub fn cut_out_lists<'py>(
    body: &Bound<'py, PyBytes>,
    names: Vec<String>,
) -> PyResult<Option<(Bound<'py, PyBytes>, Bound<'py, PyDict>)>> {
    let (py, body) = (body.py(), body.as_bytes());
    let cut = run(py, body.len(), || Ok(Parts::of(body, &names))).raise(py)?;
    let Some(parts) = cut else { return Ok(None) };
    let objects =
        |list: check::Objects<'_>| -> SplitObjects<'py> { (PyBytes::new(py, list.json.as_bytes()), list.ends) };
    let lists = PyDict::new(py);
    for (name, list) in parts.lists {
        match list {
            CutOut::One(list) => lists.set_item(name, objects(list))?,
            CutOut::Many(all) => lists.set_item(name, all.into_iter().map(objects).collect::<Vec<_>>())?,
        }
    }
    Ok(Some((PyBytes::new(py, parts.rest.as_bytes()), lists)))
}

/// See `_kernel.pyi`.
#[pyfunction]
pub fn ends_of_objects(json: &[u8]) -> Option<Vec<usize>> {
    Some(check::Objects::of(json)?.ends)
}

enum PathStep<'f, 'py> {
    Name(&'f str),
    Key(Bound<'py, PyString>),
    Index(usize),
}

struct DumpWriter<'f, 'py> {
    json: Vec<u8>,
    path: Vec<PathStep<'f, 'py>>,
}

impl<'py> DumpWriter<'_, 'py> {
    fn write(&mut self, value: &Bound<'py, PyAny>, depth: usize) -> PyResult<()> {
        if let Ok(text) = value.cast::<PyString>() {
            return self.text(text);
        }
        if value.is_none() {
            self.json.extend_from_slice(b"null");
            return Ok(());
        }
        if let Ok(flag) = value.cast::<PyBool>() {
            self.json.extend_from_slice(if flag.is_true() { b"true" } else { b"false" });
            return Ok(());
        }
        if value.is_instance_of::<PyInt>() {
            return self.number(value.py().get_type::<PyInt>(), value);
        }
        if let Ok(number) = value.cast::<PyFloat>() {
            if !number.value().is_finite() {
                return Err(self.invalid(value.py(), &format!("{} is not a number of JSON", number.value())));
            }
            return self.number(value.py().get_type::<PyFloat>(), value);
        }
        let Some(depth) = depth.checked_sub(1) else {
            return Err(self.invalid(value.py(), &format!("values are nested deeper than {MAX_DEPTH} levels")));
        };
        if let Ok(dict) = value.cast::<PyDict>() {
            return self.object(dict.iter(), depth);
        }
        if let Ok(list) = value.cast::<PyList>() {
            return self.list(list.iter(), depth);
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            return self.list(tuple.iter(), depth);
        }
        if let Ok(mapping) = value.cast::<PyMapping>() {
            let items = mapping.items()?;
            let pairs = items.iter().map(|item| item.extract()).collect::<PyResult<Vec<_>>>()?;
            return self.object(pairs.into_iter(), depth);
        }
        let kind = value.get_type().name()?;
        Err(self.invalid(value.py(), &format!("a value of a chat is JSON, not {kind}")))
    }

    fn text(&mut self, text: &Bound<'py, PyString>) -> PyResult<()> {
        let utf8 = kept(text, None).map_err(|failure| self.placed(text.py(), failure))?;
        write_string(utf8, &mut self.json);
        Ok(())
    }

    /// Write a number as its type does, whatever a subclass says of itself.
    fn number(&mut self, of: Bound<'py, PyType>, number: &Bound<'py, PyAny>) -> PyResult<()> {
        let digits = of.call_method1("__repr__", (number,));
        // Python writes no integer of more than some thousand digits.
        let digits = digits.map_err(|failure| self.invalid(number.py(), &failure.value(number.py()).to_string()))?;
        self.json.extend_from_slice(digits.cast::<PyString>()?.to_str()?.as_bytes());
        Ok(())
    }

    fn list(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>, depth: usize) -> PyResult<()> {
        self.json.push(b'[');
        for (at, item) in items.enumerate() {
            if at > 0 {
                self.json.push(b',');
            }
            self.path.push(PathStep::Index(at));
            self.write(&item, depth)?;
            self.path.pop();
        }
        self.json.push(b']');
        Ok(())
    }

    fn object(
        &mut self,
        items: impl Iterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
        depth: usize,
    ) -> PyResult<()> {
        self.json.push(b'{');
        for (at, (key, item)) in items.enumerate() {
            if at > 0 {
                self.json.push(b',');
            }
            let Ok(key) = key.cast_into::<PyString>() else {
                return Err(self.invalid(item.py(), "a key is not a string"));
            };
            self.path.push(PathStep::Key(key.clone()));
            self.text(&key)?;
            self.json.push(b':');
            self.write(&item, depth)?;
            self.path.pop();
        }
        self.json.push(b'}');
        Ok(())
    }

    fn field(&self) -> String {
        let mut path = String::new();
        for part in &self.path {
            match part {
                PathStep::Name(name) => path.push_str(name),
                PathStep::Index(at) => path.push_str(&format!("[{at}]")),
                PathStep::Key(key) => {
                    path.push('.');
                    path.extend(key.to_string_lossy().chars().take(MAX_PATH + 1));
                }
            }
            if path.chars().count() > MAX_PATH {
                path = path.chars().take(MAX_PATH - 3).chain("...".chars()).collect();
            }
        }
        path
    }

    fn invalid(&self, py: Python<'py>, message: &str) -> PyErr {
        invalid_option(py, message.to_owned(), &self.field())
    }

    /// The same failure at the present field.
    fn placed(&self, py: Python<'py>, failure: PyErr) -> PyErr {
        let place = failure.value(py).getattr("place").and_then(|place| place.set_item("field", self.field()));
        place.err().unwrap_or(failure)
    }
}
