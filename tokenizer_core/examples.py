"""Turn examples of fine-tuning data into ids, and say which of them are trained on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tokenizer_core.arguments import check_choice, check_flag, whole_number
from tokenizer_core.chat.encoding import ChatPolicy
from tokenizer_core.encoding_options import SpecialTokens
from tokenizer_core.errors import InvalidOption, TokdError, UnknownTokenId, shown
from tokenizer_core.nearest import did_you_mean
from tokenizer_core.padding import IGNORED
from tokenizer_core.tokenizer import Tokenizer

TrainedOn = Literal["assistant", "last", "completion", "all"]
"""The trained part of an example: all turns of the assistant, the last of them, the completion, or every token."""

_EITHER: dict[str, TrainedOn] = {"messages": "assistant", "prompt": "completion", "text": "all", "input_ids": "all"}
"""The field that tells what an example is, and what is trained on if the caller does not say."""

CHAT_FIELDS = ("tools", "documents", "chat_template_kwargs")
"""The fields beside a chat that are given to its template."""

_FIELDS: dict[str, tuple[str, ...]] = {
    "messages": ("messages", *CHAT_FIELDS),
    "prompt": ("prompt", "completion", *CHAT_FIELDS),
    "text": ("text",),
    "input_ids": ("input_ids", "labels"),
}
"""The fields that are read of an example; others, such as a number or a source, are nobody's text."""


class Encoded(NamedTuple):
    """An example as ids, uint32 of shape (n,), and which of them are trained on, bool of shape (n,)."""

    ids: npt.NDArray[np.uint32]
    trained: npt.NDArray[np.bool_]


class ExampleEncoder:
    """Encodes examples: ``messages`` (a chat), ``prompt`` and ``completion``, ``text``, or ``input_ids``.

    The names are those of TRL's datasets. A prompt and its completion are texts or lists of messages. Texts are encoded
    apart, as a model sees them: it writes the completion behind the ids of the prompt.

    Args:
        train_on: what is trained on; by default what the assistant says, completions, and all of texts and ids.
        eos: end texts and completions with the end-of-text token, on which they are trained; a chat's template and
            whoever made ids have written their own.
        add_special_tokens: put what the tokenizer puts round a text before texts and prompts; its ``eos`` is apart.
        special_tokens: what the literal of a special token means in a text; in a chat ``"reject"`` or ``"text"``.

    Raises:
        InvalidOption: the tokenizer has no end-of-text token.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        train_on: TrainedOn | None = None,
        eos: bool = True,
        add_special_tokens: bool = False,
        special_tokens: SpecialTokens = "reject",
    ) -> None:
        if train_on is not None:
            check_choice(train_on, TrainedOn, "train_on")
        check_choice(special_tokens, SpecialTokens, "special_tokens")
        check_flag(eos, "eos")
        check_flag(add_special_tokens, "add_special_tokens")
        self._tokenizer, self._train_on, self._policy = tokenizer, train_on, special_tokens
        self._prefix = tokenizer.config.prefix_ids if add_special_tokens else ()
        self._eos, self._eos_is_wanted = tokenizer.eos_id, eos

    def encode(self, example: Mapping[str, Any]) -> Encoded:
        """Encode an example.

        Raises:
            InvalidOption: with the field: it is none of the four kinds, or something else than ``train_on`` wants.
            TokdError: as ``encode`` and ``encode_chat``, with the field.
        """
        kind = _kind_of(example)
        train_on = self._train_on or _EITHER[kind]
        values = {name: example[name] for name in _FIELDS[kind] if example.get(name) is not None}
        match kind:
            case "messages":
                return self._chat(values, values["messages"], train_on, 0)
            case "prompt":
                return self._pair(values, train_on)
            case "text":
                _require_all(train_on, "text")
                body = self._text(values["text"], "text", self._prefix, self._end("text"))
                return Encoded(body, np.ones(len(body), dtype=bool))
            case _:
                _require_all(train_on, "input_ids")
                return _given(values["input_ids"], values.get("labels"), self._tokenizer.vocab_size)

    def _pair(self, values: Mapping[str, Any], train_on: TrainedOn) -> Encoded:
        prompt, completion = values["prompt"], values.get("completion")
        if isinstance(prompt, str) and isinstance(completion, str):
            if train_on not in ("completion", "all"):
                raise InvalidOption(
                    f'there are no turns in texts; train_on is "completion" or "all", not {train_on!r}',
                    field="train_on",
                )
            before = self._text(prompt, "prompt", self._prefix)
            behind = self._text(completion, "completion", (), self._end("completion"))
            trained = np.arange(len(before) + len(behind)) >= (len(before) if train_on == "completion" else 0)
            return Encoded(np.concatenate([before, behind]), trained)
        if not (isinstance(prompt, list) and isinstance(completion, list)):
            message = "a prompt and its completion are two texts or two lists of messages"
            raise InvalidOption(message, field="completion" if isinstance(prompt, str | list) else "prompt")
        if prompt and isinstance(prompt[-1], Mapping) and prompt[-1].get("role") == "assistant":
            message = "a prompt ends before the assistant's turn; move its last message to the completion"
            raise InvalidOption(message, field=f"prompt[{len(prompt) - 1}]")
        with _moved(len(prompt)):
            return self._chat(values, prompt + completion, train_on, len(prompt))

    def _chat(self, values: Mapping[str, Any], messages: Any, train_on: TrainedOn, prompt: int) -> Encoded:
        if prompt == 0 and train_on == "completion":
            message = 'a chat has no completion; train_on is "assistant", "last" or "all"'
            raise InvalidOption(message, field="train_on")
        policy: ChatPolicy = "reject" if self._policy == "reject" else "text"
        if self._policy == "parse":
            message = 'whoever writes a chat writes no control token; special_tokens is "reject" or "text"'
            raise InvalidOption(message, field="special_tokens")
        chat = self._tokenizer.encode_chat(
            messages,
            special_tokens=policy,
            tools=_listed(values.get("tools"), "tools"),
            documents=_listed(values.get("documents"), "documents"),
            template_args=values.get("chat_template_kwargs"),
        )
        chat.rendered.require_all_used()
        chat.rendered.require_calls_used()
        if train_on == "all":
            return Encoded(chat.ids, np.ones(len(chat.ids), dtype=bool))
        trained_turns = "last" if train_on == "last" else "assistant"
        trained = chat.labels(train_on=trained_turns, lost_calls="ignore") != IGNORED
        if prompt and train_on == "completion":
            written = np.flatnonzero((chat.message_index >= 0) & (chat.message_index < prompt))
            trained[: written[-1] + 1 if len(written) else 0] = False
        return Encoded(chat.ids, trained)

    def _text(
        self, text: Any, field: str, prefix: Sequence[int] = (), suffix: Sequence[int] = ()
    ) -> npt.NDArray[np.uint32]:
        try:
            ids = self._tokenizer.encode(text, special_tokens=self._policy)
        except TokdError as error:
            error.place.setdefault("field", field)
            raise
        parts = (np.asarray(part, dtype=np.uint32) for part in (prefix, ids, suffix))
        return np.concatenate(list(parts))

    def _end(self, field: str) -> Sequence[int]:
        if not self._eos_is_wanted:
            return ()
        if self._eos is None:
            message = f"the tokenizer has no end-of-text token that could end this {field}; with eos off there is none"
            raise InvalidOption(message, field="eos")
        return (self._eos,)


def _kind_of(example: Any) -> str:
    if not isinstance(example, Mapping):
        raise InvalidOption(f"an example is an object, not {shown(example)}", field="")
    kinds = [kind for kind in _EITHER if example.get(kind) is not None]
    if len(kinds) != 1:
        # Of many fields the first are enough, and those that are null are not there.
        names = [str(name)[:40] for name in islice(filter(lambda name: example[name] is not None, example), 8)]
        near = next(filter(None, (did_you_mean(name, _EITHER) for name in names)), "")
        found = " and ".join(kinds) or f"{', '.join(names) or 'no field'}{near}"
        raise InvalidOption(
            f"an example has messages, prompt and completion, text, or input_ids; this one has {found}",
            field=kinds[1] if kinds else "",
        )
    return kinds[0]


def _require_all(train_on: TrainedOn, kind: str) -> None:
    if train_on != "all":
        message = f'of {kind} all is trained on; train_on is "all", not {train_on!r}'
        raise InvalidOption(message, field="train_on")


def _listed(value: Any, field: str) -> Any:
    """Return a list of objects, which datasets also hold as JSON, since their columns have one type."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise InvalidOption(f"{field} is a list, or a string of JSON that is one", field=field) from None


def _given(ids: Any, labels: Any, vocab_size: int) -> Encoded:
    values = _numbers(ids, "input_ids", 0)
    for index in np.flatnonzero(values >= vocab_size)[:1]:
        message = f"the tokenizer has {vocab_size} ids, and {values[index]} is none of them"
        raise UnknownTokenId(message, field=f"input_ids[{index}]")
    if labels is None:
        return Encoded(values.astype(np.uint32), np.ones(len(values), dtype=bool))
    learned = _numbers(labels, "labels", IGNORED)
    if len(learned) != len(values):
        message = f"there are {len(values)} ids and {len(learned)} labels"
        raise InvalidOption(message, field="labels")
    for index in np.flatnonzero((learned != IGNORED) & (learned != values))[:1]:
        message = f"a label is the id at its place or {IGNORED}, without a shift; {learned[index]} is neither"
        raise InvalidOption(message, field=f"labels[{index}]")
    return Encoded(values.astype(np.uint32), learned != IGNORED)


def _numbers(values: Any, field: str, least: int) -> npt.NDArray[np.int64]:
    if not isinstance(values, list | tuple):
        raise InvalidOption(f"{field} is a list of whole numbers", field=field)
    for index, value in enumerate(values) if set(map(type, values)) - {int} else ():
        if whole_number(value) is None:
            raise InvalidOption(f"{shown(value)} is not a whole number", field=f"{field}[{index}]")
    try:
        numbers = np.array(values, dtype=np.int64)
    except OverflowError:
        raise InvalidOption(f"{field} has a number that is far too large", field=field) from None
    for index in np.flatnonzero(numbers < least)[:1]:
        raise InvalidOption(f"{numbers[index]} is less than {least}", field=f"{field}[{index}]")
    return numbers


@contextmanager
def _moved(prompt: int) -> Iterator[None]:
    """Let errors about messages name them in their own list: the prompt or its completion."""
    try:
        yield
    except TokdError as error:
        field = str(error.place.get("field", ""))
        if field.startswith("messages["):
            number, rest = field.removeprefix("messages[").split("]", 1)
            at = int(number)
            error.place["field"] = f"prompt[{at}]{rest}" if at < prompt else f"completion[{at - prompt}]{rest}"
        raise
