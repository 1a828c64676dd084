//! From the syntax tree of `fancy-regex` to a program.
//!
//! The parser bounds the depth of the tree, and so of the recursion here, at a few hundred.

use std::collections::HashMap;

use fancy_regex::{Assertion, Expr, LookAround};

use super::class::{CharSet, Lead};
use super::extent::extent;
use super::program::{Condition, Greed, Instruction, Pc, Program};

/// More instructions than any real pattern has (some hundreds), few enough to be compiled at once.
const MAX_INSTRUCTIONS: usize = 1 << 16;
/// The most parts of an expression that are visited, including empty and repeated ones: more than that many
/// instructions need, few enough to be visited at once.
const MAX_VISITS: usize = 1 << 22;
/// A slot of a group that has not matched.
pub(super) const UNSET: usize = usize::MAX;

type Compiled = Result<(), String>;

/// Compile a tree; `captures` tells whether some part of it repeats what a group matched.
pub(super) fn compile(tree: &Expr, captures: bool) -> Result<Program, String> {
    let mut compiler = Compiler { captures, ..Compiler::default() };
    compiler.expression(tree)?;
    compiler.emit(Instruction::Done)?;
    let lead = compiler.lead(tree)?;
    Ok(Program { instructions: compiler.instructions, sets: compiler.sets, slots: compiler.slots, lead })
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
    /// How many groups have opened: what is written out more than once opens the same groups again.
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

    /// Let a jump that was emitted before its end was known lead here.
    fn land(&mut self, from: Pc) {
        let here = self.here();
        match &mut self.instructions[from as usize] {
            Instruction::Try { other: to, .. }
            | Instruction::TryOther(to)
            | Instruction::Jump(to)
            | Instruction::Leave { exit: to, .. } => *to = here,
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

    /// The set that an expression is, if it matches exactly one character whatever is around it.
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
                self.repeat(child, *lo, *hi, if *greedy { Greed::Greedy } else { Greed::Lazy })
            }
            Expr::AtomicGroup(inner) => self.atomic(inner),
            Expr::LookAround(inner, kind) => self.look_around(inner, *kind),
            Expr::Assertion(assertion) => self.assertion(*assertion),
            Expr::GeneralNewline { .. } => self.general_newline(),
            Expr::Backref { group, casei: false } => {
                let (start, end) =
                    *self.groups.get(group.wrapping_sub(1)).ok_or("it refers to a group that is not yet open")?;
                self.emit(Instruction::Repeat { start, end }).map(drop)
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
            let lead = self.lead(branch)?;
            let other = self.emit(Instruction::Try { lead, other: 0 })?;
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
        self.emit(Instruction::Note(start))?;
        self.expression(inner)?;
        self.emit(Instruction::Note(end)).map(drop)
    }

    fn repeat(&mut self, child: &Expr, least: usize, most: usize, greed: Greed) -> Compiled {
        if let Some(set) = self.single(child)? {
            return self.emit(Instruction::Run { set, least, most, greed }).map(drop);
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
                break; // It is nothing, and so is a billion of it.
            }
        }
        if most == usize::MAX {
            return self.endless(child, least > 0, greed);
        }
        if least > 0 {
            self.expression(child)?;
        }
        let lead = self.lead(child)?;
        let mut exits = Vec::new();
        for _ in least..most {
            self.opened = opened;
            exits.push(self.option(lead, greed)?);
            self.expression(child)?;
        }
        for exit in exits {
            self.land(exit);
        }
        Ok(())
    }

    /// `child*`, or `child+` if it must match once.
    fn endless(&mut self, child: &Expr, must: bool, greed: Greed) -> Compiled {
        let lead = self.lead(child)?;
        let start = self.here();
        let exit = if must { None } else { Some(self.option(lead, greed)?) };
        let slot = if lead.empty { Some(self.slot()) } else { None };
        if let Some(slot) = slot {
            self.emit(Instruction::Note(slot))?;
        }
        self.expression(child)?;
        let leave = slot.map(|slot| self.emit(Instruction::Leave { slot, exit: 0 })).transpose()?;
        if must {
            let exit = self.option(lead, greed)?;
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

    /// Begin something that may be left out: the jump round it, which is still to land.
    fn option(&mut self, lead: Lead, greed: Greed) -> Result<Pc, String> {
        self.emit(if greed == Greed::Lazy { Instruction::TryOther(0) } else { Instruction::Try { lead, other: 0 } })
    }

    fn atomic(&mut self, inner: &Expr) -> Compiled {
        if let Expr::Repeat { child, lo, hi, greedy: true } = inner
            && let Some(set) = self.single(child)?
        {
            return self.emit(Instruction::Run { set, least: *lo, most: *hi, greed: Greed::Possessive }).map(drop);
        }
        let mark = self.slot();
        self.emit(Instruction::Mark(mark))?;
        self.expression(inner)?;
        self.emit(Instruction::Commit(mark)).map(drop)
    }

    fn look_around(&mut self, inner: &Expr, kind: LookAround) -> Compiled {
        let negative = matches!(kind, LookAround::LookAheadNeg | LookAround::LookBehindNeg);
        let behind = matches!(kind, LookAround::LookBehind | LookAround::LookBehindNeg);
        let (mark, place) = (self.slot(), self.slot());
        self.emit(Instruction::Mark(mark))?;
        self.emit(Instruction::Note(place))?;
        let other = if negative { Some(self.emit(Instruction::Try { lead: Lead::ANY, other: 0 })?) } else { None };
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
            self.emit(Instruction::Back { least, most })?;
        }
        self.expression(inner)?;
        if behind {
            self.emit(Instruction::Met(place))?;
        }
        if let Some(other) = other {
            self.emit(Instruction::Refuse(mark))?;
            self.land(other);
        } else {
            self.emit(Instruction::Commit(mark))?;
            self.emit(Instruction::Return(place))?;
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
            Assertion::WordBoundary => Condition::Border(self.class(r"\w", false)?),
            Assertion::NotWordBoundary => Condition::NoBorder(self.class(r"\w", false)?),
            _ => return Err(r"\b{start} and its like are not supported; write (?<!\w)(?=\w)".to_owned()),
        };
        self.emit(Instruction::Check(condition)).map(drop)
    }

    /// `\R`.
    fn general_newline(&mut self) -> Compiled {
        let mark = self.slot();
        self.emit(Instruction::Mark(mark))?;
        let other = self.emit(Instruction::Try { lead: Lead::ANY, other: 0 })?;
        self.emit(Instruction::Literal(b"\r\n".as_slice().into()))?;
        let jump = self.emit(Instruction::Jump(0))?;
        self.land(other);
        let set = self.class(NEWLINES, false)?;
        self.emit(Instruction::Set(set))?;
        self.land(jump);
        self.emit(Instruction::Commit(mark)).map(drop)
    }

    /// What a match of the expression can begin with.
    fn lead(&mut self, expression: &Expr) -> Result<Lead, String> {
        self.visit()?;
        if let Some(set) = self.single(expression)? {
            return Ok(self.sets[set].lead());
        }
        Ok(match expression {
            Expr::Empty | Expr::LookAround(..) | Expr::Assertion(_) => Lead::EMPTY,
            Expr::Literal { val, casei } => match val.chars().next() {
                Some(first) => CharSet::of_char(first, *casei)?.lead(),
                None => Lead::EMPTY,
            },
            Expr::Concat(parts) => {
                let mut lead = Lead::EMPTY;
                for part in parts {
                    if lead.empty {
                        lead = lead.then(self.lead(part)?);
                    }
                }
                lead
            }
            Expr::Alt(branches) => {
                let mut lead = Lead::default();
                for branch in branches {
                    lead = lead.or(self.lead(branch)?);
                }
                lead
            }
            Expr::Group(inner) => self.lead(inner)?,
            Expr::AtomicGroup(inner) => self.lead(inner)?,
            Expr::Repeat { child, lo, .. } => {
                let lead = self.lead(child)?;
                if *lo == 0 { lead.or(Lead::EMPTY) } else { lead }
            }
            Expr::GeneralNewline { .. } => CharSet::parse(NEWLINES, false)?.lead(),
            _ => Lead::ANY,
        })
    }
}

/// What `\R` matches besides `\r\n`.
const NEWLINES: &str = r"[\n\x0B\x0C\r\x{85}\x{2028}\x{2029}]";

/// Whether it looks at what is around it.
fn is_conditional(expression: &Expr) -> bool {
    matches!(expression, Expr::Assertion(_) | Expr::LookAround(..) | Expr::Backref { .. })
}

fn too_large() -> String {
    format!("it is too large: repetitions are written out, into no more than {MAX_INSTRUCTIONS} steps")
}

/// Whether it asks what comes, other than whether a line or a word ends.
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
