"""Ids that an engine generated, back to text: the common parts of the derender routes.

The state of a stream is the ids so far, or the last few if no more decide what follows. So there is no state that no
stream has: one that a caller made up is at most another list of ids, which is decoded anew.
"""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from hashlib import blake2b
from time import time
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import orjson

from service.errors import ServiceError, core_errors_at, from_core
from service.http.response_json import Answer, report_bytes
from service.registry.served import ServedTokenizer
from service.routes.compat import sampling
from service.routes.compat.derender_models import (
    DerenderFields,
    GenerateChunk,
    Generated,
    GeneratedDelta,
    GeneratedLogProb,
    GeneratedLogProbs,
    GenerateResponse,
    usage,
)
from service.routes.texts import Ids
from service.schemas.fields import Object
from service.state import ServerState
from tokenizer_core import TokdError, Tokenizer

_CONTEXT = 4
"""Ids before a token that may hold the beginning of its character."""

_SEED = 7
"""Ids of the prompt behind which a text is decoded, for decoders that drop a space before the first token."""

_HALF = "\ufffd"
_DIGEST = 8
_HEAD = _DIGEST + 1 + 8
_MOST_CHARACTERS = 1 << 53


class StreamState(NamedTuple):
    """A stream behind its chunks so far.

    Attributes:
        begun: whether the role was sent.
        offset: the characters of the text so far.
        ids: those that decide what follows, a seed before them.
    """

    begun: bool
    offset: int
    ids: Ids

    def write(self, loaded: ServedTokenizer) -> str:
        """Return what the caller carries."""
        content = bytes([self.begun]) + self.offset.to_bytes(8, "little") + self.ids.astype("<u4").tobytes()
        return binascii.b2a_base64(_digest(loaded, content) + content, newline=False).decode("ascii")


NEW = StreamState(begun=False, offset=0, ids=np.empty(0, np.uint32))
"""The state before the first chunk."""


def read_state(loaded: ServedTokenizer, text: str) -> StreamState:
    """Return the state that an answer of this tokenizer wrote.

    Errors:
        ``invalid_option``
    """
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        raise bad_state() from None
    digest, content = data[:_DIGEST], data[_DIGEST:]
    offset = int.from_bytes(content[1:9], "little")
    is_whole = len(data) >= _HEAD and (len(data) - _HEAD) % 4 == 0
    if not is_whole or digest != _digest(loaded, content) or offset > _MOST_CHARACTERS:
        raise bad_state()
    return StreamState(content[0] == 1, offset, np.frombuffer(content, "<u4", offset=9).astype(np.uint32))


def bad_state() -> ServiceError:
    """Refuse a state in vLLM's words."""
    return ServiceError("invalid_option", "invalid stream_state: derender failed", "stream_state")


def _digest(loaded: ServedTokenizer, content: bytes) -> bytes:
    return blake2b(loaded.hash.encode("ascii") + content, digest_size=_DIGEST).digest()


class Output:
    """One output as it is decoded; half a character at its end is left out, as in vLLM."""

    def __init__(self, tokenizer: Tokenizer, *, skips: bool) -> None:
        self._stream = tokenizer.stream_decoder(skip_special_tokens=skips)

    def past(self, ids: Ids) -> str:
        """Decode what came before, which is checked already or stands in a state."""
        try:
            return self._stream.push(ids)
        except TokdError:
            raise bad_state() from None

    def push(self, choice: GeneratedDelta, path: str, *, is_last: bool) -> str:
        """Decode the next ids.

        Args:
            path: the field of the request that holds the output.

        Errors:
            ``unknown_token_id``
        """
        with core_errors_at(f"{path}.token_ids"):
            text = self._stream.push(np.array(choice.token_ids or (), np.uint32))
        if is_last:
            text += self._stream.finish().rstrip(_HALF)
        report_bytes(len(text))
        return text

    @property
    def is_within_a_character(self) -> bool:
        """True if bytes are held back."""
        return bool(self._stream.pending)


class Outputs:
    """Decodes the outputs of one request.

    Args:
        skips: whether special tokens are left out.
    """

    def __init__(self, loaded: ServedTokenizer, *, skips: bool) -> None:
        self._tokenizer = loaded.tokenizer
        self._skips = skips
        self._on_tokens = bool(loaded.tokenizer.config.decoder)
        self._known: dict[int, bytes | None] = {}

    def begin(self, prompt: Sequence[int] | None) -> Output:
        """Begin with the output behind a prompt."""
        output = Output(self._tokenizer, skips=self._skips)
        output.past(self._seed(prompt))
        return output

    def step(self, begun: Step, prompt: Sequence[int] | None, *, keeps_all: bool = False) -> Step:
        """Decode the chunk of a stream, and what decides its text.

        Args:
            keeps_all: decode all that came before, for a parser; the state keeps all ids of the output.
        """
        choice, before = begun.choice, begun.before
        seed = self._seed(None if before.begun and not keeps_all else prompt)
        output = Output(self._tokenizer, skips=self._skips)
        output.past(seed)
        past = output.past(before.ids)
        if choice is None:
            return begun
        text = output.push(choice, "generate_chunk.choices[0]", is_last=choice.finish_reason is not None)
        kept = np.concatenate((seed[: 0 if keeps_all else None], before.ids, np.array(begun.ids, np.uint32)))
        if not (keeps_all or self._on_tokens or output.is_within_a_character):
            kept = kept[-_CONTEXT:]
        after = StreamState(begun=True, offset=before.offset + len(text), ids=kept)
        logprobs = None if keeps_all else self.logprobs(choice.logprobs, before.ids.tolist())
        return begun._replace(after=after, past=past, text=text, logprobs=logprobs)

    def _seed(self, prompt: Sequence[int] | None) -> Ids:
        """Return the ids of a prompt that decide the text of an output."""
        ids = np.array((prompt or ())[-_SEED:] if self._on_tokens else (), np.uint32)
        try:
            self._tokenizer.decode(ids)
        except TokdError as error:
            error.place["index"] += len(prompt or ()) - len(ids)
            raise from_core(error, "prompt_token_ids") from error
        return ids

    def logprobs(self, given: GeneratedLogProbs | None, before: Sequence[int] = ()) -> Object | None:
        """Return the logarithms of probabilities of a chat's output, each with the text of its token.

        Args:
            before: the ids behind which the output goes on.
        """
        if given is None or given.content is None:
            return None if given is None else {"content": None}
        context, content = [self._bytes(id) or b"" for id in before[-_CONTEXT:]], []
        for entry in given.content:
            tops = [self._token(each, context) for each in entry.top_logprobs]
            content.append(self._token(entry, context) | {"top_logprobs": tops})
            context = [*context, self._bytes(entry.token_id) or b""][-_CONTEXT:]
        report_bytes(len(content))
        return {"content": content}

    def _token(self, entry: GeneratedLogProb, context: Sequence[bytes]) -> Object:
        data = self._bytes(entry.token_id)
        if data is None:
            return {"token": "", "logprob": entry.logprob, "bytes": None}
        text = data.decode("utf-8", "replace")
        if text.endswith(_HALF):
            text = _completed(data, context)
        return {"token": text, "logprob": entry.logprob, "bytes": list(text.encode())}

    def _bytes(self, id: int) -> bytes | None:
        if id not in self._known:
            try:
                self._known[id] = self._tokenizer.token_bytes(id)
            except (TokdError, OverflowError):
                self._known[id] = None
        return self._known[id]


def _completed(data: bytes, context: Sequence[bytes]) -> str:
    """Return the text that a token completes behind those before it, or nothing if it ends within a character."""
    for count in range(1, len(context) + 1):
        near = context[-count:]
        text = (b"".join(near) + data).decode("utf-8", "replace")
        if not text.endswith(_HALF):
            while near and near[-1].decode("utf-8", "replace").endswith(_HALF):
                near = near[:-1]
            return text.removeprefix(b"".join(near).decode("utf-8", "replace"))
    return ""


def as_lists(logprobs: Object | None, offset: int = 0) -> Object | None:
    """Return what ``Outputs.logprobs`` does, as the routes for completions write it."""
    if logprobs is None:
        return None
    content: list[Object] = logprobs["content"] or []
    ends = np.cumsum([offset, *(len(each["token"]) for each in content)])
    tops = [{top["token"]: top["logprob"] for top in each["top_logprobs"]} or None for each in content]
    return {
        "text_offset": ends[:-1].tolist(),
        "token_logprobs": [each["logprob"] for each in content],
        "tokens": [each["token"] for each in content],
        "top_logprobs": tops,
    }


def bound(
    state: ServerState,
    loaded: ServedTokenizer,
    model: str | None,
    responses: Sequence[GenerateResponse],
    prompts: Sequence[Sequence[int] | None],
) -> None:
    """Refuse more than a model makes, in vLLM's words, and more ids than this server takes in one request.

    Errors:
        ``invalid_option``, ``too_many_ids``
    """
    length, most = state.engines.length(model, loaded), state.settings.max_items
    if len(responses) > most:
        raise _exceeds(f"generate_responses count ({len(responses)}) exceeds server maximum ({most}).")
    for each in responses:
        if len(each.choices) > most:
            name = f"response '{each.request_id}'" if each.request_id else "a response"
            raise _exceeds(f"choices count ({len(each.choices)}) in {name} exceeds server maximum ({most}).")
    sizes = [(len(ids), "prompt_token_ids length ({})") for ids in prompts if ids]
    for choice in (choice for each in responses for choice in each.choices):
        sizes.append((len(choice.token_ids or ()), f"token_ids length ({{}}) in choice {choice.index}"))
        entries = (choice.logprobs and choice.logprobs.content) or ()
        sizes.append((len(entries), f"logprobs.content length ({{}}) in choice {choice.index}"))
    for size, words in sizes:
        if size > length:
            raise _exceeds(f"{words.format(size)} exceeds max_model_len ({length}).")
    refuse_many(state, sum(size for size, _ in sizes))


class Step(NamedTuple):
    """One chunk of a stream.

    Attributes:
        choice: its output, if it has one.
        before: the state of the stream, and ``after`` that behind the chunk.
        past: the text before that of the chunk.
    """

    chunk: GenerateChunk
    choice: GeneratedDelta | None
    before: StreamState
    after: StreamState
    past: str = ""
    text: str = ""
    logprobs: Object | None = None

    @property
    def ids(self) -> list[int]:
        """The new ids."""
        return [] if self.choice is None else self.choice.token_ids or []

    def usage(self, prompt_tokens: int | None) -> Object | None:
        """Return the numbers of ids, if the engine gives them."""
        given = self.chunk.usage
        if given is None:
            return None
        return usage(given.prompt_tokens if prompt_tokens is None else prompt_tokens, given.completion_tokens or 0)


def begin_step(
    state: ServerState, loaded: ServedTokenizer, body: DerenderFields, prompt: Sequence[int] | None, words: str
) -> Step:
    """Check a chunk and the state that comes with it.

    Args:
        prompt: ids of the prompt.
        words: how vLLM refuses a chunk of several outputs, whose states would be one.

    Errors:
        ``missing_field``, ``invalid_option``, ``too_many_ids``
    """
    chunk = body.generate_chunk
    if chunk is None:
        raise ServiceError("missing_field", "this field is required", "generate_chunk")
    if len(chunk.choices) > 1:
        raise ServiceError("invalid_option", words.format(len(chunk.choices)), "generate_chunk.choices")
    before = NEW if body.stream_state is None else read_state(loaded, body.stream_state)
    choice = next(iter(chunk.choices), None)
    length, ids = state.engines.length(body.model, loaded), (choice and choice.token_ids) or ()
    sizes = len(prompt or ()), len(before.ids), len(ids)
    if sum(sizes) > length:
        raise _exceeds(
            "prompt_token_ids length ({}) plus output_token_ids length ({}) plus delta ({}) exceeds "
            "max_model_len ({}).".format(*sizes, length)
        )
    refuse_many(state, sum(sizes))
    return Step(chunk, choice, before, before)


def ids_of(choice: GeneratedDelta, path: str, name: str) -> list[int]:
    """Return the ids of an output, which must have some.

    Errors:
        ``invalid_option``
    """
    if not choice.token_ids:
        raise ServiceError("invalid_option", f"{name} has empty or null token_ids", f"{path}.token_ids")
    return choice.token_ids


def refuse_many(state: ServerState, ids: int) -> None:
    """Refuse more ids than this server takes.

    Errors:
        ``too_many_ids``
    """
    if ids > state.settings.max_ids:
        raise ServiceError("too_many_ids", f"there are more than {state.settings.max_ids} ids; send fewer")


def _exceeds(words: str) -> ServiceError:
    return ServiceError("invalid_option", words)


def answer(
    state: ServerState,
    loaded: ServedTokenizer,
    body: DerenderFields,
    given: Generated,
    fields: Object,
    tokens: int,
    stream: StreamState | None = None,
) -> Answer:
    """Write the answer to a request.

    Args:
        given: what the engine answered, first.
        fields: those of the answer beside the ones that every answer has.
        stream: the state for the next chunk, if the answer is one.
    """
    common = {
        "id": given.request_id or uuid4().hex,
        "created": int(time()),
        "model": loaded.name if body.model is None else body.model,
        "system_fingerprint": None,
        "metrics": sampling.copied(given, "metrics"),
    }
    written: Any = common | fields
    if stream is not None:
        written = {"chunk": written, "stream_state": stream.write(loaded)}
    return Answer([orjson.dumps(written)], tokens, loaded.hash, headers=state.engines.headers(body.model, loaded))
