//! Calls: arguments, macros, and the functions that templates are given.

use std::rc::Rc;

use super::held::{Given, Object, UNNAMED};
use super::state::Run;
use crate::template::syntax::ast::{Args, Expr, Macro};
use crate::template::syntax::failure::{Failure, Kind, Result};
use crate::template::syntax::names::STRING_METHODS;
use crate::template::values::budget::{ITEM, OBJECT};
use crate::template::values::repr::text_of;
use crate::template::values::text::Text;
use crate::template::values::value::{Counted, Dict, Function, Value};

/// A whole number that an argument has to be.
pub fn int_of(value: &Value<'_>) -> Result<i64> {
    value.as_int().ok_or_else(|| match value {
        Value::Big(..) => Failure::limit("computes a number that is larger than any chat needs"),
        _ => Failure::failed(format!("'{}' object cannot be interpreted as an integer", value.type_name())),
    })
}

/// A whole number that an argument is, if it is given and not none.
pub fn int_or(value: Option<&Value<'_>>, default: i64) -> Result<i64> {
    value.filter(|value| !matches!(value, Value::None)).map_or(Ok(default), int_of)
}

impl<'t> Run<'t> {
    /// The arguments of a call.
    pub fn given(&mut self, args: &'t Args) -> Result<Given<'t>> {
        let mut given = Given::default();
        if !args.positional.is_empty() {
            given.positional.reserve_exact(args.positional.len());
            for value in &args.positional {
                let value = self.eval(value)?;
                given.positional.push(value);
            }
        }
        if let Some(star) = &args.star {
            let star = self.eval(star)?;
            let star = self.collect(&star)?;
            self.budget.charge_product(star.len(), 2 * ITEM)?;
            given.positional.extend(star);
        }
        for (name, value) in &args.named {
            let value = self.eval(value)?;
            given.named.push((Text::literal(name), value));
        }
        if let Some(star) = &args.double_star {
            let star = self.eval(star)?;
            let Value::Dict(dict) = &star else {
                return Err(Failure::failed(format!("argument after ** must be a mapping, not {}", star.type_name())));
            };
            self.budget.charge_product(dict.len(), OBJECT + args.named.len())?;
            for (key, value) in dict.entries() {
                let Value::Str(name) = key else { return Err(Failure::failed("keywords must be strings")) };
                if args.named.iter().any(|(known, _)| **known == *name.as_str()) {
                    let message = format!("got multiple values for keyword argument '{}'", name.as_str());
                    return Err(Failure::failed(message));
                }
                given.named.push((name.clone(), value.clone()));
            }
        }
        Ok(given)
    }

    /// Call what an expression is, perhaps with a block that the callee may call.
    pub fn call_with(&mut self, callee: &'t Expr, args: &'t Args, caller: Option<Value<'t>>) -> Result<Value<'t>> {
        self.budget.charge(8)?;
        let (owner, name) = match callee {
            Expr::Attribute(owner, name) => (self.eval(owner)?, &**name),
            other => (self.eval(other)?, ""),
        };
        let method = if name.is_empty() { None } else { Self::method_of(&owner, name) };
        let callee = match method {
            Some(_) => owner,
            None if name.is_empty() => owner,
            None => self.attribute(&owner, name)?,
        };
        let mut given = self.given(args)?;
        if let Some(caller) = caller {
            given.named.push((Text::literal("caller"), caller));
        }
        match method {
            Some(name) => self.call_method(&callee, name, given),
            None => self.call_value(&callee, given),
        }
    }

    /// Call a value.
    pub fn call_value(&mut self, callee: &Value<'t>, given: Given<'t>) -> Result<Value<'t>> {
        match callee {
            Value::Macro(called, base) => Ok(Value::Str(self.call_macro(called, *base, given)?)),
            Value::Function(function) => self.call_function(*function, given),
            Value::Method(method) => self.call_method(&method.0, method.1, given),
            Value::Loop(number) => {
                let [over] = given.bind("__call__", ["iterable"], 1)?;
                Ok(Value::Str(self.call_loop(*number, &over.unwrap_or(Value::None))?))
            }
            Value::Joiner(number) => {
                given.nothing("__call__")?;
                Ok(self.call_joiner(*number))
            }
            Value::Undefined(undefined) => Err(Self::undefined_failure(undefined)),
            other => Err(Failure::failed(format!("'{}' object is not callable", other.type_name()))),
        }
    }

    /// Call a method of a value that has it.
    pub fn call_method(&mut self, owner: &Value<'t>, name: &'static str, given: Given<'t>) -> Result<Value<'t>> {
        self.budget.charge_given(&given)?;
        match owner {
            Value::Str(text) => self.string_method(text, name, given),
            Value::Loop(number) if name == "cycle" => self.cycle(*number, &given.positional),
            Value::Loop(number) => self.changed(*number, given.positional),
            Value::Cycler(number) => {
                given.nothing(name)?;
                self.call_cycler(*number, name).ok_or_else(|| Failure::failed("no items for cycling given"))
            }
            _ => self.container_method(owner, name, given),
        }
    }

    fn container_method(&mut self, owner: &Value<'t>, name: &str, given: Given<'t>) -> Result<Value<'t>> {
        match (owner, name) {
            (Value::Dict(dict), "get") => {
                let [key, default] = given.bind("get", [UNNAMED; 2], 1)?;
                let found = dict.get(&key.unwrap_or(Value::None), &self.budget)?.cloned();
                Ok(found.or(default).unwrap_or(Value::None))
            }
            (Value::Dict(dict), "items" | "keys" | "values") => {
                given.nothing(name)?;
                let view = match name {
                    "items" => crate::template::values::value::View::Items,
                    "keys" => crate::template::values::value::View::Keys,
                    _ => crate::template::values::value::View::Values,
                };
                Ok(Value::View(view, Rc::clone(dict)))
            }
            (Value::Dict(dict), _) => {
                given.nothing(name)?;
                let mut entries = self.budget.room(dict.len(), ITEM)?;
                entries.extend_from_slice(dict.entries());
                Ok(Value::Dict(Dict::of(entries, &self.budget)?))
            }
            (Value::Function(_), _) => {
                let [keys, value] = given.bind(name, [UNNAMED; 2], 1)?;
                let keys = self.collect(&keys.unwrap_or(Value::None))?;
                let value = value.unwrap_or(Value::None);
                let mut entries = self.budget.room(keys.len(), ITEM)?;
                entries.extend(keys.into_iter().map(|key| (key, value.clone())));
                Ok(Value::Dict(Dict::of(entries, &self.budget)?))
            }
            (Value::List(_), "copy") => {
                given.nothing(name)?;
                let copied = self.collect(owner)?;
                Value::list(copied, &self.budget)
            }
            (_, "count") => {
                let [sought] = given.bind(name, [UNNAMED], 1)?;
                let (sought, mut count) = (sought.unwrap_or(Value::None), 0);
                for item in self.collect(owner)? {
                    count += i64::from(crate::template::values::compare::equal(&item, &sought, &self.budget)?);
                }
                Ok(Value::int(count))
            }
            _ => {
                let [sought, start, stop] = given.bind(name, [UNNAMED; 3], 1)?;
                if start.is_some() || stop.is_some() {
                    return Err(Failure::untrackable("looks for an item within bounds"));
                }
                let sought = sought.unwrap_or(Value::None);
                for (at, item) in self.collect(owner)?.iter().enumerate() {
                    if crate::template::values::compare::equal(item, &sought, &self.budget)? {
                        return Ok(Value::int(at as i64));
                    }
                }
                Err(Failure::failed(format!("the value is not in the {}", owner.type_name())))
            }
        }
    }

    /// The name of a method that a value has.
    pub fn method_of(owner: &Value<'t>, name: &str) -> Option<&'static str> {
        use crate::template::syntax::names::{DICT_METHODS, LIST_METHODS, LOOP_METHODS, TUPLE_METHODS};
        let methods: &'static [&'static str] = match owner {
            Value::Str(_) => &STRING_METHODS,
            Value::Dict(_) => &DICT_METHODS,
            Value::List(_) => &LIST_METHODS,
            Value::Tuple(_) | Value::Range(_) => &TUPLE_METHODS,
            Value::Loop(_) => &LOOP_METHODS,
            Value::Cycler(_) => &["next", "reset"],
            Value::Function(Function::Dict) => &["fromkeys"],
            _ => return None,
        };
        methods.binary_search(&name).ok().map(|at| methods[at])
    }

    fn call_function(&mut self, function: Function, given: Given<'t>) -> Result<Value<'t>> {
        self.budget.charge_given(&given)?;
        match function {
            Function::Range => self.range(given),
            Function::Dict => Ok(Value::Dict(Dict::of(self.pairs(given, "dict")?, &self.budget)?)),
            Function::Namespace => {
                let pairs = Dict::of(self.pairs(given, "namespace")?, &self.budget)?;
                let mut fields = Vec::with_capacity(pairs.len());
                for (key, value) in pairs.entries() {
                    match key {
                        Value::Str(name) if name.as_str().starts_with('_') => {
                            let message = "a namespace takes no name with an underscore, such as";
                            return Err(Failure::failed(format!("{message} '{}'", name.as_str())));
                        }
                        Value::Str(name) => fields.push((name.clone(), value.clone())),
                        _ => return Err(Failure::untrackable("gives a namespace attributes without names")),
                    }
                }
                Ok(Value::Namespace(self.object(Object::Namespace(fields))?))
            }
            Function::Cycler => {
                if given.positional.is_empty() {
                    return Err(Failure::failed("at least one item has to be provided"));
                }
                Ok(Value::Cycler(self.object(Object::Cycler(given.positional, 0))?))
            }
            Function::Joiner => {
                let [separator] = given.bind("joiner", ["sep"], 0)?;
                let separator = separator.unwrap_or(Value::literal(", "));
                Ok(Value::Joiner(self.object(Object::Joiner(separator, false))?))
            }
            Function::RaiseException => {
                let [message] = given.bind("raise_exception", ["message"], 1)?;
                let message = text_of(&message.unwrap_or(Value::None), &self.budget)?;
                Err(Failure::new(Kind::Raised, message.as_str()))
            }
            Function::StrftimeNow => {
                let [format] = given.bind("strftime_now", ["format"], 1)?;
                let Some(Value::Str(format)) = &format else {
                    return Err(Failure::failed("strftime() argument 1 must be str"));
                };
                self.budget.charge_product(format.len(), 20)?;
                Ok(Value::Str(Text::made(self.clock.format(format.as_str())?, format.origin())))
            }
        }
    }

    fn range(&mut self, given: Given<'t>) -> Result<Value<'t>> {
        const MAX: usize = 100_000;
        let bound = given.bind("range", [UNNAMED; 3], 1)?;
        let mut origin = crate::template::values::text::TEMPLATE;
        let mut numbers = [0; 3];
        let mut count = 0;
        for value in bound.iter().flatten() {
            numbers[count] = int_of(value)?;
            count += 1;
            if origin == crate::template::values::text::TEMPLATE {
                origin = value.own_origin();
            }
        }
        let [first, second, third] = numbers;
        let range = match count {
            1 => Counted { start: 0, stop: first, step: 1, origin },
            2 => Counted { start: first, stop: second, step: 1, origin },
            _ if third == 0 => return Err(Failure::failed("range() arg 3 must not be zero")),
            _ => Counted { start: first, stop: second, step: third, origin },
        };
        if range.len() > MAX {
            return Err(Failure::limit(format!("uses a range of more than {MAX} numbers")));
        }
        self.budget.charge(OBJECT)?;
        Ok(Value::Range(Rc::new(range)))
    }

    /// Collect the arguments of `dict` and `namespace`: an object or pairs, and names.
    fn pairs(&mut self, given: Given<'t>, of: &str) -> Result<Vec<(Value<'t>, Value<'t>)>> {
        let mut pairs = Vec::new();
        let mut positional = given.positional.into_iter();
        match (positional.next(), positional.next()) {
            (_, Some(_)) => return Err(Failure::failed(format!("{of} expected at most 1 argument, got 2"))),
            (Some(Value::Dict(dict)), None) => {
                pairs = self.budget.room(dict.len(), ITEM)?;
                pairs.extend_from_slice(dict.entries());
            }
            (Some(value), None) => {
                for (at, pair) in self.collect(&value)?.iter().enumerate() {
                    let mut parts = self.collect(pair)?;
                    let (Some(second), Some(first), None) = (parts.pop(), parts.pop(), parts.pop()) else {
                        let message = format!("dictionary update sequence element #{at} has another length than 2");
                        return Err(Failure::failed(message));
                    };
                    self.budget.push(&mut pairs, (first, second), ITEM)?;
                }
            }
            (None, None) => {}
        }
        pairs.extend(given.named.into_iter().map(|(name, value)| (Value::Str(name), value)));
        Ok(pairs)
    }

    /// The values of a macro's parameters, unset where none is given, and of `caller`, `kwargs` and `varargs`.
    pub fn bind_macro(&mut self, called: &'t Macro, given: Given<'t>) -> Result<(Vec<Value<'t>>, [Value<'t>; 3])> {
        let name = || called.name.as_deref().map_or_else(|| "None".to_owned(), |name| format!("'{name}'"));
        let (count, total) = (called.params.len(), given.positional.len());
        // Each name is looked for among those that are given.
        self.budget.charge(2 * total + count.saturating_mul(given.named.len()))?;
        let mut positional = given.positional.into_iter();
        let mut values: Vec<Value<'t>> = positional.by_ref().take(count).collect();
        let mut named = given.named;
        let mut found_caller = values.len() == count && called.params.iter().any(|param| &*param.name == "caller");
        for param in &called.params[values.len()..] {
            found_caller |= &*param.name == "caller";
            let at = named.iter().position(|(name, _)| name.as_str() == &*param.name);
            values.push(at.map_or(Value::Unset, |at| named.remove(at).1));
        }
        let mut special = [Value::Unset, Value::Unset, Value::Unset];
        let uses_caller = called.special[0].is_some() || called.params.iter().any(|param| &*param.name == "caller");
        if uses_caller && !found_caller {
            let at = named.iter().position(|(name, _)| name.as_str() == "caller");
            let caller = at.map(|at| named.remove(at).1).filter(|caller| !matches!(caller, Value::None));
            special[0] = caller.unwrap_or_else(|| Value::undefined("No caller defined"));
        }
        if called.special[1].is_some() {
            let pairs = named.drain(..).map(|(name, value)| (Value::Str(name), value)).collect();
            special[1] = Value::Dict(Dict::of(pairs, &self.budget)?);
        } else if let Some((extra, _)) = named.first() {
            if named.iter().any(|(name, _)| name.as_str() == "caller") {
                let message = "was invoked with two values for the special caller argument. This is most likely a bug.";
                return Err(Failure::failed(format!("macro {} {message}", name())));
            }
            return Err(Failure::failed(format!("macro {} takes no keyword argument '{}'", name(), extra.as_str())));
        }
        let rest: Vec<Value<'t>> = positional.collect();
        if called.special[2].is_some() {
            special[2] = Value::tuple(rest, &self.budget)?;
        } else if total > count {
            return Err(Failure::failed(format!("macro {} takes not more than {count} argument(s)", name())));
        }
        Ok((values, special))
    }
}
