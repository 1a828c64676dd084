"""The answers of a client, as immutable values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from tokenizer_core import Side


class Fields:
    """An answer of the service. Reading a field that was not requested raises an AttributeError."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__.update(fields)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    __hash__ = None  # type: ignore[assignment]  # how Python says that there is none

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"the answer has no {name}; it has what was asked for: {', '.join(self.__dict__)}")


class Answer(Fields):
    """An answer about a text or ids.

    Attributes:
        tokenizer: the hash of the tokenizer that answered: equal hashes mean equal ids.
    """

    tokenizer: str

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.tokenizer = fields["tokenizer"]
        super().__init__(fields)


class Compared(Fields):
    """Tokenizers on the same texts.

    Attributes:
        context: tokens of the first tokenizer that fill a context.
        tokenizers: each with its vocabulary's measures.
        texts: by name, each with its size and its costs, one for each tokenizer.
    """

    context: int
    tokenizers: list[dict[str, Any]]
    texts: dict[str, dict[str, Any]]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.tokenizers = fields["tokenizers"]
        super().__init__(fields)


class Parsed(Answer):
    """The message of one output; places are half-open, in characters of the output.

    Attributes:
        arguments: of each call, as the model wrote them.
        parts: the whole output in order: ``field``, ``start``, ``end``, ``first_id``, ``end_id``.
        unfinished: the field whose end is missing.
        malformed: parts that are not as the response template says: ``reason``, ``start``, ``end``.
        exact: whether the message renders back; ``None`` without messages.
        difference: the first one, if it does not: ``at``, ``written``, ``rendered``.
    """

    message: dict[str, Any]
    arguments: list[str]
    parts: list[dict[str, Any]]
    unfinished: str | None
    malformed: list[dict[str, Any]]
    exact: bool | None
    difference: dict[str, Any] | None


class Encoding(Answer):
    """Of one text or chat: what ``parts`` asked for, by default ``ids`` and ``count``."""

    ids: list[int]
    count: int
    tokens: list[str]
    spans: list[list[int]]
    attention_mask: list[int]
    special_tokens_mask: list[int]
    position_ids: list[int]
    labels: list[int]
    type_ids: list[int]
    sequence_ids: list[int | None]
    word_ids: list[int | None]
    overflow_of: int
    template: str | None
    assistant_mask: list[int]
    message_index: list[int]
    reserved_literals: list[dict[str, Any]]
    truncated: dict[str, Any] | None
    block_hashes: dict[str, Any]
    new_ids: list[int]
    prefix_hash: str
    since: dict[str, Any] | None
    appended: int
    inserted: list[int]
    retokenized_equal: bool
    prefix_stable: list[bool]
    segmentations: list[dict[str, Any]]


class Rendered(Answer):
    """A chat as text; ``template`` is the template's hash, ``spans`` what of the text the caller wrote."""

    template: str | None
    text: str
    spans: list[dict[str, Any]]


class Places(Answer):
    """The ids of one text and where they stand; ``tokens`` if asked for, ``mask`` if there were targets."""

    ids: list[int]
    spans: list[list[int]]
    tokens: list[str]
    mask: list[int]
    type_ids: list[int]
    sequence_ids: list[int | None]


class Count(Answer):
    """The number of ids of one text."""

    count: int


class Decoded(Answer):
    """Text; in a stream with the ``pending`` that goes with the next ids."""

    text: str
    pending: str


class TokenizerInfo(Answer):
    """One tokenizer that is loaded."""

    name: str
    default: bool
    models: list[str]
    vocab_size: int
    special_tokens: dict[str, int]
    pad_id: int | None
    unk_id: int | None
    padding_side: Side
    truncation_side: Side
    model_max_length: int | None
    template: str | None
    templates: dict[str, str]
    missing_tokens: dict[str, list[str]]
    unicode_version: str
    fingerprint: str
    provenance: dict[str, Any]


class AnyJob(Fields):
    """A job as it was when the service answered.

    Attributes:
        state: ``queued``, ``running``, ``succeeded``, ``failed`` or ``cancelled``.
        error: ``code``, ``message`` and ``path`` of a failed job.
    """

    id: str
    name: str | None
    state: str
    phase: str | None
    progress: dict[str, Any] | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    attempts: int
    error: dict[str, Any] | None
    owner: str
    settings: dict[str, Any]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.id, self.state = fields["id"], fields["state"]

    @property
    def ended(self) -> bool:
        """Tell whether nothing about it will change any more."""
        return self.state in ("succeeded", "failed", "cancelled")


class Job(AnyJob):
    """A training job as it was when the service answered.

    Attributes:
        phase: of a running job, ``counting``, ``merging`` (``learning`` without merges; of Unigram ``seeds``,
            ``pruning``) or ``publishing``.
        progress: ``done``, ``total``, ``unit``, ``rate``, ``seconds_left``, ``tokens_per_byte`` and ``newest``.
        tokenizer: the hash of what it published, or ``None``.
        artifact: its ``tokenizer``, ``name`` (if any) and ``href``, and in ``sizes`` these and each other ``size``.
    """

    artifact: dict[str, Any] | None

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.tokenizer: str | None = None if fields["artifact"] is None else fields["artifact"]["tokenizer"]


class EncodeJob(AnyJob):
    """A job that encodes as it was when the service answered.

    Attributes:
        phase: of a running job, ``encoding`` or ``publishing``.
        progress: ``done`` and ``total`` of all parts, ``unit``, ``rate`` and ``seconds_left``.
        output: ``manifest``, ``hash`` and the numbers of what it wrote, or ``None``.
        tokenizer: the hash of the one that it encodes with.
    """

    output: dict[str, Any] | None
    tokenizer: str

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.output = fields["output"]


class EncodeJobPage(Fields):
    """Some jobs that encode, newest first; ``next`` goes into ``before`` for those after them."""

    jobs: list[EncodeJob]
    next: str | None


class JobPage(Fields):
    """Some jobs, newest first; ``next`` goes into ``before`` for those after them, and is ``None`` on the last page."""

    jobs: list[Job]
    next: str | None
