//! Dictionaries in the order of their keys, which are found by their hashes if there are many.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::rc::Rc;
use std::sync::OnceLock;

use super::budget::{Budget, ITEM, OBJECT};
use super::compare::equal;
use super::value::{Dict, Value, View, nested};
use crate::template::syntax::failure::{Failure, Result};

/// Up to so many keys are compared one by one.
const FEW: usize = 8;

impl<'t> Dict<'t> {
    /// Of entries in order: of equal keys the first keeps its place, and the last its value.
    pub fn of(entries: Vec<(Value<'t>, Value<'t>)>, budget: &Budget) -> Result<Rc<Self>> {
        budget.charge(OBJECT)?;
        let room = budget.room(entries.len(), 4 * ITEM)?;
        let mut dict = Self { entries: room, index: Vec::new(), nesting: 1, message: 0 };
        if entries.len() <= FEW {
            for (key, value) in entries {
                hash(&key, budget)?;
                match dict.position(&key, budget)? {
                    Some(at) => dict.entries[at].1 = value,
                    None => dict.entries.push((key, value)),
                }
            }
        } else {
            dict.insert_many(entries, budget)?;
        }
        dict.nesting = nested(dict.entries.iter().flat_map(|(key, value)| [key, value]))?;
        Ok(Rc::new(dict))
    }

    fn insert_many(&mut self, entries: Vec<(Value<'t>, Value<'t>)>, budget: &Budget) -> Result<()> {
        let mut hashes = Vec::with_capacity(entries.len());
        for (at, (key, _)) in entries.iter().enumerate() {
            hashes.push((hash(key, budget)?, at as u32));
        }
        hashes.sort_unstable();
        // Which entry an entry goes to: itself, or an earlier one with an equal key.
        let mut goes: Vec<u32> = (0..entries.len() as u32).collect();
        for at in 1..hashes.len() {
            let mut before = at;
            while before > 0 && hashes[before - 1].0 == hashes[at].0 {
                before -= 1;
                let (first, this) = (hashes[before].1 as usize, hashes[at].1 as usize);
                if equal(&entries[first].0, &entries[this].0, budget)? {
                    goes[this] = goes[first];
                    break;
                }
            }
        }
        let mut places = vec![0; entries.len()];
        for (at, (key, value)) in entries.into_iter().enumerate() {
            let to = goes[at] as usize;
            if to == at {
                places[at] = self.entries.len();
                self.entries.push((key, value));
            } else {
                self.entries[places[to]].1 = value;
            }
        }
        hashes.retain(|(_, at)| goes[*at as usize] == *at);
        hashes.iter_mut().for_each(|(_, at)| *at = places[*at as usize] as u32);
        self.index = hashes;
        Ok(())
    }

    /// Say which message it is, as long as nobody else has it.
    pub fn number(dict: &mut Rc<Self>, message: u32) {
        if let Some(dict) = Rc::get_mut(dict) {
            dict.message = message + 1;
        }
    }

    /// The number of the message that it is.
    pub fn message(&self) -> Option<u32> {
        self.message.checked_sub(1)
    }

    /// Keys and values.
    pub fn entries(&self) -> &[(Value<'t>, Value<'t>)] {
        &self.entries
    }

    /// Return the number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Return the depth to which values are nested in it.
    pub fn nesting(&self) -> u16 {
        self.nesting
    }

    fn position(&self, key: &Value<'t>, budget: &Budget) -> Result<Option<usize>> {
        if self.index.is_empty() {
            for (at, (known, _)) in self.entries.iter().enumerate() {
                if equal(known, key, budget)? {
                    return Ok(Some(at));
                }
            }
            return Ok(None);
        }
        let hash = hash(key, budget)?;
        let first = self.index.partition_point(|(known, _)| *known < hash);
        for (known, at) in &self.index[first..] {
            if *known != hash {
                break;
            }
            if equal(&self.entries[*at as usize].0, key, budget)? {
                return Ok(Some(*at as usize));
            }
        }
        Ok(None)
    }

    /// The value of a key, which has to be one that can be hashed.
    pub fn get(&self, key: &Value<'t>, budget: &Budget) -> Result<Option<&Value<'t>>> {
        if let Value::Str(text) = key {
            budget.charge(1 + (text.len() >> 4))?;
            return Ok(self.get_str(text.as_str()));
        }
        hash(key, budget)?;
        Ok(self.position(key, budget)?.map(|at| &self.entries[at].1))
    }

    /// The value of a key that is a string.
    pub fn get_str(&self, key: &str) -> Option<&Value<'t>> {
        if self.index.is_empty() {
            return self.entries.iter().find(|(known, _)| known.as_str() == Some(key)).map(|(_, value)| value);
        }
        let hash = hash_str(key);
        let first = self.index.partition_point(|(known, _)| *known < hash);
        let found = self.index[first..].iter().take_while(|(known, _)| *known == hash);
        let mut entries = found.map(|(_, at)| &self.entries[*at as usize]);
        entries.find(|(known, _)| known.as_str() == Some(key)).map(|(_, value)| value)
    }
}

fn keyed() -> &'static RandomState {
    static KEYED: OnceLock<RandomState> = OnceLock::new();
    KEYED.get_or_init(RandomState::new)
}

fn hash_str(text: &str) -> u64 {
    keyed().hash_one(text)
}

/// A hash that equal values share; what a list or an object has none of is refused, as in Python.
pub fn hash(value: &Value<'_>, budget: &Budget) -> Result<u64> {
    let number = |number: i64| keyed().hash_one(number);
    Ok(match value {
        Value::Str(text) => {
            budget.charge(text.len() >> 4)?;
            hash_str(text.as_str())
        }
        Value::Bool(flag) => number(i64::from(*flag)),
        Value::Int(int, _) => number(*int),
        Value::Float(float, _) if float.fract() == 0.0 && float.abs() < 9e18 => number(*float as i64),
        Value::Float(float, _) => keyed().hash_one(float.to_bits()),
        Value::Big(digits, _) => {
            budget.charge(digits.len() >> 4)?;
            keyed().hash_one(digits)
        }
        Value::Tuple(items) => {
            let mut hasher = keyed().build_hasher();
            for item in &items.values {
                budget.charge(8)?;
                hasher.write_u64(hash(item, budget)?);
            }
            hasher.finish()
        }
        Value::List(_) | Value::Dict(_) | Value::View(View::Items | View::Keys, _) => {
            return Err(Failure::failed(format!("unhashable type: '{}'", value.type_name())));
        }
        // There are few of these, and they are told apart by comparing.
        other => keyed().hash_one(other.type_name()),
    })
}
