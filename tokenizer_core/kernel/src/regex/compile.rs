//! Compile the syntax tree of `fancy-regex` to a program.
//!
//! The parser bounds the depth of the tree, and so of the recursion here, at a few hundred.

use std::collections::HashMap;

use fancy_regex::{Assertion, Expr, LookAround};

use super::class::{CharSet, FirstSet};
use super::extent::extent;
use super::program::{Condition, Greediness, Instruction, Pc, Program};

/// More instructions than any real pattern has (some hundreds), few enough to be compiled at once.
const MAX_INSTRUCTIONS: usize = 1 << 16;
/// The most parts of an expression that are visited, including empty and repeated ones: more than that many
/// instructions need, few enough to be visited at once.
const MAX_VISITS: usize = 1 << 22;
/// A slot of a group that has not matched.
pub(super) const UNSET: usize = usize::MAX;

type Compiled = Result<(), String>;

/// Compile a tree; `captures` says whether groups are asked for, as a back reference does.
pub(super) fn compile(tree: &Expr, captures: bool) -> Result<Program, String> {
    let mut compiler = Compiler { captures, ..Compiler::default() };
    compiler.expression(tree)?;
    compiler.emit(Instruction::Match)?;
    let first = compiler.first_set(tree)?;
    let Compiler { instructions, sets, slots, groups, .. } = compiler;
    Ok(Program { instructions, sets, slots, groups, first })
}

#[derive(Default)]
struct Compiler {
    instructions: Vec<Instruction>,
    sets: Vec<CharSet>,
    set_of_source: HashMap<(String, bool), usize>,
    slots: usize,
    captures: bool,
    /// The two slots of each group, from group 1 on.
    groups: Vec<(usize, usize)>,
    /// The number of opened groups: a repetition that is written out opens the same groups again.
    opened: usize,
    visits: usize,
}

impl Compiler {
    fn emit(&mut self, instruction: Instruction) -> Result<Pc, String> {
        if self.instructions.len() >= MAX_INSTRUCTIONS {
            return Err(too_large());
        }
        self.instructions.push(instruction);
        Ok(self.here() - 1)
    }

    fn visit(&mut self) -> Compiled {
        self.visits += 1;
        if self.visits > MAX_VISITS { Err(too_large()) } else { Ok(()) }
    }

    fn here(&self) -> Pc {
        self.instructions.len() as Pc
    }

    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// Set the target of a jump, which was emitted before its target was known, to here.
    fn land(&mut self, from: Pc) {
        let here = self.here();
        match &mut self.instructions[from as usize] {
            Instruction::Split { other: to, .. }
            | Instruction::SplitLazy(to)
            | Instruction::Jump(to)
            | Instruction::ExitIfEmpty { exit: to, .. } => *to = here,
            _ => {}
        }
    }

    fn set(&mut self, set: CharSet) -> usize {
        self.sets.iter().position(|known| *known == set).unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        })
    }

    fn class(&mut self, source: &str, ignore_case: bool) -> Result<usize, String> {
        if let Some(known) = self.set_of_source.get(&(source.to_owned(), ignore_case)) {
            return Ok(*known);
        }
        let set = CharSet::parse(source, ignore_case)?;
        let set = self.set(set);
        self.set_of_source.insert((source.to_owned(), ignore_case), set);
        Ok(set)
    }

    /// The set of an expression that always matches exactly one character, whatever is around it.
    fn single(&mut self, expression: &Expr) -> Result<Option<usize>, String> {
        match expression {
            Expr::Any { newline, .. } => Ok(Some(self.set(CharSet::any(!newline)))),
            Expr::Delegate { inner, casei } => self.class(inner, *casei).map(Some),
            Expr::Literal { val, casei } => {
                let mut characters = val.chars();
                match (characters.next(), characters.next()) {
                    (Some(only), None) => CharSet::of_char(only, *casei).map(|set| Some(self.set(set))),
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    fn expression(&mut self, expression: &Expr) -> Compiled {
        self.visit()?;
        if let Some(set) = self.single(expression)? {
            return self.emit(Instruction::Set(set)).map(drop);
        }
        match expression {
            Expr::Empty => Ok(()),
            Expr::Literal { val, casei: false } => self.emit(Instruction::Literal(val.as_bytes().into())).map(drop),
            Expr::Literal { val, casei: true } => val.chars().try_for_each(|character| {
                let set = self.set(CharSet::of_char(character, true)?);
                self.emit(Instruction::Set(set)).map(drop)
            }),
            Expr::Concat(parts) => parts.iter().try_for_each(|part| self.expression(part)),
            Expr::Alt(branches) => self.alternation(branches),
            Expr::Group(inner) => self.group(inner),
            Expr::Repeat { child, lo, hi, greedy } => {
                self.repeat(child, *lo, *hi, if *greedy { Greediness::Greedy } else { Greediness::Lazy })
            }
            Expr::AtomicGroup(inner) => self.atomic(inner),
            Expr::LookAround(inner, kind) => self.look_around(inner, *kind),
            Expr::Assertion(assertion) => self.assertion(*assertion),
            Expr::GeneralNewline { .. } => self.general_newline(),
            Expr::Backref { group, casei: false } => {
                let (start, end) =
                    *self.groups.get(group.wrapping_sub(1)).ok_or("it refers to a group that is not yet open")?;
                self.emit(Instruction::Backref { start, end }).map(drop)
            }
            _ => Err("it has a part that is not supported: a condition, a call, an absent group, a verb, \\K, \\G, \
                      or a back reference that ignores case"
                .to_owned()),
        }
    }

    fn alternation(&mut self, branches: &[Expr]) -> Compiled {
        let mut jumps = Vec::new();
        let Some((last, others)) = branches.split_last() else { return Ok(()) };
        for branch in others {
            let first = self.first_set(branch)?;
            let other = self.emit(Instruction::Split { first, other: 0 })?;
            self.expression(branch)?;
            jumps.push(self.emit(Instruction::Jump(0))?);
            self.land(other);
        }
        self.expression(last)?;
        for jump in jumps {
            self.land(jump);
        }
        Ok(())
    }

    fn group(&mut self, inner: &Expr) -> Compiled {
        if !self.captures {
            return self.expression(inner);
        }
        if self.opened == self.groups.len() {
            let slots = (self.slot(), self.slot());
            self.groups.push(slots);
        }
        let (start, end) = self.groups[self.opened];
        self.opened += 1;
        self.emit(Instruction::Save(start))?;
        self.expression(inner)?;
        self.emit(Instruction::Save(end)).map(drop)
    }

    fn repeat(&mut self, child: &Expr, least: usize, most: usize, greed: Greediness) -> Compiled {
        if let Some(set) = self.single(child)? {
            return self.emit(Instruction::RepeatSet { set, least, most, greed }).map(drop);
        }
        let is_counted = least > 1 || (2..usize::MAX).contains(&most);
        if is_counted && matches!(extent(child), (0, 1..)) && child.has_descendant(is_conditional) {
            return Err(
                "a counted repetition of what is empty at some places alone ends in Oniguruma where it is empty, \
                        whatever the count; write its turns one behind the other"
                    .to_owned(),
            );
        }
        let opened = self.opened;
        for _ in 1..least {
            let start = self.here();
            self.expression(child)?;
            self.opened = opened;
            if self.here() == start {
                break; // It is empty, and so are a billion of it.
            }
        }
        if most == usize::MAX {
            return self.endless(child, least > 0, greed);
        }
        if least > 0 {
            self.expression(child)?;
        }
        let first = self.first_set(child)?;
        let mut exits = Vec::new();
        for _ in least..most {
            self.opened = opened;
            exits.push(self.option(first, greed)?);
            self.expression(child)?;
        }
        for exit in exits {
            self.land(exit);
        }
        Ok(())
    }

    /// `child*`, or `child+` if it must match once.
    fn endless(&mut self, child: &Expr, must: bool, greed: Greediness) -> Compiled {
        let first = self.first_set(child)?;
        let start = self.here();
        let exit = if must { None } else { Some(self.option(first, greed)?) };
        let slot = if first.empty { Some(self.slot()) } else { None };
        if let Some(slot) = slot {
            self.emit(Instruction::Save(slot))?;
        }
        self.expression(child)?;
        let leave = slot.map(|slot| self.emit(Instruction::ExitIfEmpty { slot, exit: 0 })).transpose()?;
        if must {
            let exit = self.option(first, greed)?;
            self.emit(Instruction::Jump(start))?;
            self.land(exit);
        } else {
            self.emit(Instruction::Jump(start))?;
        }
        for jump in exit.into_iter().chain(leave) {
            self.land(jump);
        }
        Ok(())
    }

    /// Begin an optional part: emit the jump round it, whose target is still to be set.
    fn option(&mut self, first: FirstSet, greed: Greediness) -> Result<Pc, String> {
        self.emit(if greed == Greediness::Lazy {
            Instruction::SplitLazy(0)
        } else {
            Instruction::Split { first, other: 0 }
        })
    }

    fn atomic(&mut self, inner: &Expr) -> Compiled {
        if let Expr::Repeat { child, lo, hi, greedy: true } = inner
            && let Some(set) = self.single(child)?
        {
            return self
                .emit(Instruction::RepeatSet { set, least: *lo, most: *hi, greed: Greediness::Possessive })
                .map(drop);
        }
        let mark = self.slot();
        self.emit(Instruction::BeginAtomic(mark))?;
        self.expression(inner)?;
        self.emit(Instruction::EndAtomic(mark)).map(drop)
    }

    fn look_around(&mut self, inner: &Expr, kind: LookAround) -> Compiled {
        let negative = matches!(kind, LookAround::LookAheadNeg | LookAround::LookBehindNeg);
        let behind = matches!(kind, LookAround::LookBehind | LookAround::LookBehindNeg);
        let (mark, place) = (self.slot(), self.slot());
        self.emit(Instruction::BeginAtomic(mark))?;
        self.emit(Instruction::Save(place))?;
        let other =
            if negative { Some(self.emit(Instruction::Split { first: FirstSet::ANY, other: 0 })?) } else { None };
        if behind {
            if inner.has_descendant(is_atomic) || is_atomic(inner) {
                return Err("a look-behind that holds \\R or an atomic or possessive part is not supported".to_owned());
            }
            let is_refused = |part: &Expr| is_ahead(part) || !negative && is_not_behind(part);
            if inner.has_descendant(is_refused) || is_refused(inner) {
                let reason = "in Oniguruma a look-behind holds no look-ahead and no end of the text, nor a positive \
                              one a negative one";
                return Err(reason.to_owned());
            }
            let (least, most) = extent(inner);
            self.emit(Instruction::GoBack { least, most })?;
        }
        self.expression(inner)?;
        if behind {
            self.emit(Instruction::IsAt(place))?;
        }
        if let Some(other) = other {
            self.emit(Instruction::FailNegativeLookAround(mark))?;
            self.land(other);
        } else {
            self.emit(Instruction::EndAtomic(mark))?;
            self.emit(Instruction::Restore(place))?;
        }
        Ok(())
    }

    fn assertion(&mut self, assertion: Assertion) -> Compiled {
        let condition = match assertion {
            Assertion::StartText => Condition::TextStart,
            Assertion::EndText => Condition::TextEnd,
            Assertion::EndTextIgnoreTrailingNewlines { .. } => Condition::LastLineEnd,
            Assertion::StartLine { .. } | Assertion::StartLineOniguruma { .. } => Condition::LineStart,
            Assertion::EndLine { .. } => Condition::LineEnd,
            Assertion::WordBoundary => Condition::WordBoundary(self.class(r"\w", false)?),
            Assertion::NotWordBoundary => Condition::NotWordBoundary(self.class(r"\w", false)?),
            _ => return Err(r"\b{start} and its like are not supported; write (?<!\w)(?=\w)".to_owned()),
        };
        self.emit(Instruction::Check(condition)).map(drop)
    }

    /// `\R`.
    fn general_newline(&mut self) -> Compiled {
        let mark = self.slot();
        self.emit(Instruction::BeginAtomic(mark))?;
        let other = self.emit(Instruction::Split { first: FirstSet::ANY, other: 0 })?;
        self.emit(Instruction::Literal(b"\r\n".as_slice().into()))?;
        let jump = self.emit(Instruction::Jump(0))?;
        self.land(other);
        let set = self.class(NEWLINES, false)?;
        self.emit(Instruction::Set(set))?;
        self.land(jump);
        self.emit(Instruction::EndAtomic(mark)).map(drop)
    }

    /// The characters that a match of the expression can begin with.
    fn first_set(&mut self, expression: &Expr) -> Result<FirstSet, String> {
        self.visit()?;
        if let Some(set) = self.single(expression)? {
            return Ok(self.sets[set].first_set());
        }
        Ok(match expression {
            Expr::Empty | Expr::LookAround(..) | Expr::Assertion(_) => FirstSet::EMPTY,
            Expr::Literal { val, casei } => match val.chars().next() {
                Some(first) => CharSet::of_char(first, *casei)?.first_set(),
                None => FirstSet::EMPTY,
            },
            Expr::Concat(parts) => {
                let mut first = FirstSet::EMPTY;
                for part in parts {
                    if first.empty {
                        first = first.then(self.first_set(part)?);
                    }
                }
                first
            }
            Expr::Alt(branches) => {
                let mut first = FirstSet::default();
                for branch in branches {
                    first = first.or(self.first_set(branch)?);
                }
                first
            }
            Expr::Group(inner) => self.first_set(inner)?,
            Expr::AtomicGroup(inner) => self.first_set(inner)?,
            Expr::Repeat { child, lo, .. } => {
                let first = self.first_set(child)?;
                if *lo == 0 { first.or(FirstSet::EMPTY) } else { first }
            }
            Expr::GeneralNewline { .. } => CharSet::parse(NEWLINES, false)?.first_set(),
            _ => FirstSet::ANY,
        })
    }
}

/// The characters of `\R` besides `\r\n`.
const NEWLINES: &str = r"[\n\x0B\x0C\r\x{85}\x{2028}\x{2029}]";

/// Tell whether the expression looks at the text around it.
fn is_conditional(expression: &Expr) -> bool {
    matches!(expression, Expr::Assertion(_) | Expr::LookAround(..) | Expr::Backref { .. })
}

fn too_large() -> String {
    format!("it is too large: repetitions are written out, into no more than {MAX_INSTRUCTIONS} steps")
}

/// Tell whether the expression looks ahead, other than for the end of a line or of a word.
fn is_ahead(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::LookAround(_, LookAround::LookAhead | LookAround::LookAheadNeg)
            | Expr::Assertion(Assertion::EndText | Assertion::EndTextIgnoreTrailingNewlines { .. })
    )
}

fn is_not_behind(expression: &Expr) -> bool {
    matches!(expression, Expr::LookAround(_, LookAround::LookBehindNeg))
}

fn is_atomic(expression: &Expr) -> bool {
    matches!(expression, Expr::AtomicGroup(_) | Expr::GeneralNewline { .. })
}
