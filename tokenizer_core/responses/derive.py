"""Derive a response template from a chat template: what that writes of a message, read back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from tokenizer_core.chat.templates import Template, compiled
from tokenizer_core.errors import TokdError
from tokenizer_core.responses.anchors import MARK, Anchors
from tokenizer_core.responses.calls import CallForm, Place, any_of, escaped, form_of, places
from tokenizer_core.responses.probes import SAID, THOUGHT, Prober, Specials, shared_end
from tokenizer_core.responses.verify import failures

_OPENINGS = {" to=functions.": "<|channel|>commentary to=functions."}
"""Beginnings of a call, by what the template writes: gpt-oss names the recipient behind the channel too."""

_NAMED = {"<|channel|>commentary json<|message|>": (" <|constrain|>json<|message|>", " json<|message|>")}
"""What models write behind the name of the tool, by what the template writes."""

_TEXT = {"content": "text", "content_args": {"strip": False}}


class Derived(NamedTuple):
    """What could be derived.

    Attributes:
        spec: a response template; ``None`` if there is none.
        notes: what could not be derived, and why; each begins with the name of a field.
    """

    spec: dict[str, Any] | None
    notes: tuple[str, ...]


def derive(template: Template, specials: Specials) -> Derived:
    """Derive a response template, and leave out the fields that it does not read back.

    Args:
        specials: the special tokens that the chat template reads as variables.
    """
    return _derived(template.source, tuple(specials.items()))


@lru_cache(maxsize=64)
def _derived(source: str, specials: tuple[tuple[str, str], ...]) -> Derived:
    gathered = _Gathered(Prober(compiled(source), dict(specials)))
    notes, fields = gathered.notes, gathered.fields()
    if not fields:
        return Derived(None, tuple(notes))
    defaults, literals = {"role": "assistant", "content": ""}, gathered.anchors.literals
    spec = {"version": 1, "defaults": defaults, "start_anchor": literals, "fields": fields}
    try:
        wrong: dict[tuple[str, str], bool] = {}
        for field, is_same, kind in failures(gathered.prober, spec, gathered.anchors.rest):
            wrong[field, kind] = is_same and wrong.get((field, kind), True)
    except TokdError as error:
        return Derived(None, (*notes, f"content: {error.message}"))
    for (field, kind), is_same in wrong.items():
        if not is_same and kind in ("", "no arguments", "strings"):
            fields.pop(field, None)
            notes.append(f"{field}: what is derived does not read it back")
        elif not is_same or field == "tool_calls":
            found = "written as other values are" if is_same else "not read back"
            notes.append(f"{field}: {kind} in arguments are {found}")
    notes = [note for note in notes if "in arguments" not in note or note.partition(":")[0] in fields]
    for field in ("reasoning_content", "tool_calls"):
        if field not in fields and not any(note.startswith(field) for note in notes):
            notes.append(f"{field}: the template writes none")
    return Derived(spec if "content" in fields else None, tuple(dict.fromkeys(notes)))


class _Gathered:
    """The literals around the fields of turns.

    Attributes:
        heads: what stands before content and means nothing.
        thought, thought_ends: what opens and closes reasoning; ``split`` is the expression behind its end where the
            template takes reasoning away, else ``None``.
        opens, closes: what opens and closes calls.
        ends: what ends a turn.
    """

    def __init__(self, prober: Prober) -> None:
        self.prober = prober
        self.notes: list[str] = []
        self.heads, self.thought, self.thought_ends, self.opens, self.closes, self.ends = (set[str]() for _ in range(6))
        self.split: str | None = None
        self.form: CallForm | None = None
        self.called = prober.called()
        self.plain = [turn for turn in prober.beside([]) if turn.slots]

    def fields(self) -> dict[str, Any]:
        """Gather, and return the fields; none if content is written nowhere, or turns begin in no common way."""
        if not any(turn.find("content") for turn in self.plain):
            self.notes.append(f"content: {self.prober.failure or 'the template writes none'}")
            return {}
        self.anchors = Anchors([*self.plain, *self.called])
        self.plain, self.called = (list(filter(self.anchors.rest, turns)) for turns in (self.plain, self.called))
        if not self.plain:
            self.notes.append("content: turns and generation prompts begin in no common way")
            return {}
        self._read_ends()
        self.anchors.leave_out(self.ends)
        self._read_thoughts()
        if not self.thought:
            self._read_split()
        begun = [turn for turn in [*self.plain, *self.called] if turn.slots[0].field == "content"]
        heads = {turn.text[self.anchors.rest(turn) : turn.slots[0].start] for turn in begun}
        self.heads = heads - {"", *self.thought, *self._no_thoughts()}
        if self.called:
            self._read_calls()
        return self._made()

    def _no_thoughts(self) -> set[str]:
        return {start + end for start in self.thought for end in self.thought_ends}

    def _read_ends(self) -> None:
        said = [turn for turn in self.plain if turn.slots[-1].field == "content"]
        whole = {turn.literal(turn.slots[-1].end) for turn in said}
        for behind in self.prober.behind(SAID):
            if not any(each.strip() and behind.startswith(each) for each in whole):
                mark = MARK.search(behind)
                self.ends |= _beginnings(behind[: mark.end()] if mark else behind)
        self.ends |= {each for text in whole for each in _beginnings(text)}

    def _read_thoughts(self) -> None:
        turns = [turn for turn in [*self.plain, *self.called] if turn.slots[0].field == "reasoning_content"]
        if not all(MARK.search(turn.text[self.anchors.rest(turn) : turn.slots[0].start]) for turn in turns):
            self.anchors.go_back()
        for turn in turns:
            self.thought.add(turn.text[self.anchors.rest(turn) : turn.slots[0].start])
            following = [slot for slot in turn.slots if slot.field != "reasoning_content"]
            if following and following[0].field == "content":
                self.thought_ends.add(turn.literal(turn.slots[0].end, following[0].start))

    def _read_split(self) -> None:
        """Find reasoning that a generation prompt begins, and that the template takes away from content."""
        for mark in dict.fromkeys(re.findall(r"<([\w:]+)>", " ".join(turn.prompt for turn in self.plain))):
            kept = self.prober.kept(f"{THOUGHT}</{mark}>\n\n{SAID}")
            if {SAID, f"\n\n{SAID}"} & kept:
                if any(mark in each for each in self.anchors.literals):
                    self.anchors.go_back()
                self.split = r"\s*" if SAID in kept else ""
                self.thought, self.thought_ends = {f"<{mark}>\n", f"<{mark}>"}, {f"</{mark}>"}
                self.notes.append("reasoning_content: read by its marks; the template leaves it out")
                return

    def _read_calls(self) -> None:
        self.form = form = form_of(self.called[0], *self.prober.single())
        if form is None:
            self.notes.append("tool_calls: the arguments are written in no known way")
            return
        leads: dict[str, set[str]] = {"": set(), "content": set(), "reasoning_content": set()}
        gaps, rests = set(), set()
        for turn in self.called:
            where = places(turn)
            if form.at_once:
                where = [Place(where[0].start, where[-1].end)]
            before = [slot for slot in turn.slots if slot.end <= where[0].start and "." not in slot.field]
            begin = before[-1].end if before else self.anchors.rest(turn)
            lead = turn.literal(begin, where[0].start).removesuffix(form.starts)
            leads[before[-1].field if before else ""].add(lead)
            gaps |= {turn.literal(one.end, two.start).removeprefix(form.stops) for one, two in pairwise(where)}
            after = [slot for slot in turn.slots if slot.start >= where[-1].end and "." not in slot.field]
            rests.add(turn.literal(where[-1].end, after[0].start if after else None).removeprefix(form.stops))
            self.ends |= _beginnings(turn.literal(after[-1].end)) if after else set()
        self._read_opens(leads, gaps)
        for gap in sorted(gaps):
            opening = max((shared_end(gap, each) for each in sorted(self.opens)), key=len)
            self.opens.add(opening)
            self.closes.add(gap.removesuffix(opening))
        for rest in rests:
            closing = rest.removesuffix(max(filter(rest.endswith, self.ends), key=len, default=""))
            self.closes |= {closing, *_beginnings(closing)} if form.content == "json" else {closing}

    def _read_opens(self, leads: dict[str, set[str]], gaps: set[str]) -> None:
        """Take what ends other fields, and what means nothing, away from what stands before calls."""
        if self.thought and not self.thought_ends:
            # Reasoning stands only before calls: it ends with what no reasoning has there too.
            marks = {lead: MARK.search(lead) for lead in leads["reasoning_content"]}
            alone = {lead for lead in marks if any(start + lead in leads[""] for start in self.thought)}
            self.thought_ends |= {lead[: mark.end()] for lead in alone if (mark := marks[lead])}
        skipped = {*self._no_thoughts(), *self.heads}
        bare = {_without(lead, skipped) for lead in leads[""]}
        bare |= {_without(lead, self.thought_ends) for lead in leads["reasoning_content"]}
        core = shared_end(*bare, *leads["content"], *gaps).lstrip()
        self.opens |= {core, *(_without(lead, skipped, core) for lead in leads[""])}
        for lead in sorted(leads["reasoning_content"]):
            opening = _without(lead, self.thought_ends, core)
            if opening == lead:
                opening = max(filter(lead.endswith, sorted(self.opens)), key=len)
                self.thought_ends.add(lead.removesuffix(opening))
            self.opens.add(opening)
        self.opens |= leads["content"] - {end + each for end in self.thought_ends for each in self.opens}

    def _made(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if self.heads:
            fields["head"] = {"open_pattern": r"\A" + any_of(self.heads), "close_pattern": "", **_TEXT}
        if self.thought and self.thought_ends:
            marks = {end.strip() for end in self.thought_ends}
            heads = {head for head in self.heads if MARK.search(head) and not any(mark in head for mark in marks)}
            ends = {end + head for end in self.thought_ends for head in {"", *heads} if not head or head not in end}
            close = any_of(ends) + (self.split or "")
            if self.split == "" and (opens := {each for each in self.opens if each.strip()}):
                # White space before content belongs to that; before calls it would be all of the content.
                close += rf"(?:\s*(?={any_of(opens)}))?"
            thought = {"open_pattern": r"\A" + any_of(self.thought), "close_pattern": close}
            fields["reasoning_content"] = {**thought, **(_TEXT if self.split is None else {"content": "text"})}
        if self.form:
            fields["tool_calls"] = self._made_calls(self.form)
        end = {"close_pattern": any_of(self.ends) + r"\Z"} if self.ends else {}
        return {**fields, "content": {**end, **_TEXT, "repeats": True, "join": ""}}

    def _made_calls(self, form: CallForm) -> dict[str, Any]:
        marked, closes = ({each for each in literals if each.strip()} for literals in (self.opens, self.closes))
        marked |= {_OPENINGS[each] for each in marked & _OPENINGS.keys()}
        begin, is_bare = any_of(marked) if marked else "", "" in self.opens or not marked
        if is_bare:
            begin = rf"(?:\A|{begin})" if begin else r"\A"
        named = form.named
        for literal, others in _NAMED.items():
            named = named.replace(escaped(literal), any_of({literal, *others}))
        ahead = form.ahead if is_bare or form.named else form.ahead[:2]
        following = [any_of(marked)] if marked and not form.at_once else []
        close = "(?=" + "|".join([*following, any_of(self.ends) + r"\Z"]) + ")" if self.ends else r"\Z"
        if closes:
            close = any_of(closes, r"(?<=[}\]])\s*" if form.content == "json" and not form.stops else "")
        return {
            "open_pattern": begin + named + (f"(?={ahead})" if ahead else ""),
            "close_pattern": close,
            "content": form.content,
            "content_args": form.arguments,
            "transform": form.transform,
            "transform_each" if form.at_once else "repeats": True,
        }


def _beginnings(text: str) -> set[str]:
    """Return a text and what of it ends with one of its marks: a model may stop at any."""
    marks = [found.end() for found in MARK.finditer(text)] or [len(text.rstrip())]
    return {text, *(text[:at] for at in marks if text[:at].strip())} - {""}


def _without(text: str, beginnings: Iterable[str], kept: str = "") -> str:
    """Return a text without the longest of some beginnings behind which it still ends with what is kept."""
    found = (each for each in beginnings if text.startswith(each) and text[len(each) :].endswith(kept or text[-1:]))
    return text.removeprefix(max(found, key=len, default=""))
