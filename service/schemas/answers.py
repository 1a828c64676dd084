"""Models of answers. Hot routes write their answers by hand for speed; these models document and test them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from service.schemas.block_hashes import BlockHashesOfRow
from service.schemas.fields import Part, Span, drop_default
from service.schemas.parts import PARTS
from service.schemas.since import NEW_IDS, PREFIX_HASH, SINCE_OF_ANSWER, Since
from tokenizer_core import Side


def _if_asked(description: str) -> Any:
    """Describe a field that an answer holds when the request asks for it, and is never null."""
    return Field(None, description=description, json_schema_extra=drop_default)


Rows = list[int] | list[list[int]]
SpanRows = list[Span] | list[list[Span]]
SequenceRows = list[int | None] | list[list[int | None]]


class Answer(Part):
    """A body that the service sends."""

    tokenizer: str = Field(description="The hash of the tokenizer that made this answer: equal hashes mean equal ids.")


def _of_one_or_many(kind: Any) -> Any:
    return kind | list[kind]


_parts: dict[str, Any] = {name: (_of_one_or_many(part.kind), _if_asked(part.meaning)) for name, part in PARTS.items()}
_PartsAnswer: Any = create_model("_PartsAnswer", __base__=Answer, **_parts)


class EncodeAnswer(_PartsAnswer):  # type: ignore[misc]  # its fields are those of a table
    """The requested parts, with one entry a text for a list of texts."""

    template: str | None = _if_asked("The hash of the template, in answers to chats.")
    unused: list[str] | list[list[str]] = _if_asked("Fields of a chat that left no trace in its text.")
    appended: int = _if_asked("Ids behind `prefix_ids`.")
    inserted: list[int] = _if_asked("The ids among them that end the turn that the prefix left open.")
    retokenized_equal: bool = _if_asked("Whether encoding the whole chat anew gives the same ids.")
    block_hashes: BlockHashesOfRow | list[BlockHashesOfRow] = _if_asked("The hashes of the blocks of the ids.")
    new_ids: list[int] = _if_asked(NEW_IDS)
    prefix_hash: str = _if_asked(PREFIX_HASH)
    since: Since | None = _if_asked(SINCE_OF_ANSWER)


class CountAnswer(Answer):
    """The number of ids."""

    count: int | list[int] = Field(description="One number, or one a text.")
    template: str | None = _if_asked("The hash of the template, in answers to chats.")
    unused: list[str] | list[list[str]] = _if_asked("Fields of a chat that left no trace in its text.")


class CallerSpan(BaseModel):
    """A part of a rendered text that the caller wrote."""

    message: int | None = Field(description="Null for tools, documents and template arguments.")
    field: str
    start: int
    end: int


class RenderAnswer(Answer):
    """A chat as text, or many."""

    template: str = Field(description="The hash of the template.")
    text: str | list[str]
    spans: list[CallerSpan] | list[list[CallerSpan]] = Field(
        description="Half-open, in characters of the text, in order."
    )
    unused: list[str] | list[list[str]] = _if_asked("Fields of a chat that left no trace in its text.")


class OffsetsAnswer(Answer):
    """Ids and their places."""

    ids: Rows = Field(description="Token ids.")
    spans: SpanRows = Field(description="One half-open span an id, in the unit that was asked for.")
    tokens: list[str] | list[list[str]] = _if_asked("The text of every id.")
    mask: Rows = _if_asked("1 where a token overlaps a target span.")
    type_ids: Rows = _if_asked("Of pairs: the segment of every id, as the model numbers them.")
    sequence_ids: SequenceRows = _if_asked("Of pairs: the text that a span is in, 0 or 1; null for neither.")
    template: str = _if_asked("The hash of the template, in answers to chats.")
    unused: list[str] | list[list[str]] = _if_asked("Fields of a chat that left no trace in its text.")


class DecodeAnswer(Answer):
    """Text."""

    text: str | list[str] = Field(description="Invalid UTF-8 becomes U+FFFD.")
    pending: str = _if_asked("What to send with the next ids of this stream.")


class TokenizerInfo(Answer):
    """One tokenizer that is loaded."""

    name: str
    default: bool = Field(description="Answers requests that name no tokenizer.")
    models: list[str] = Field(description="Further names and patterns, from the setting `models`.")
    vocab_size: int = Field(description="One more than the highest id: the rows an embedding needs.")
    special_tokens: dict[str, int] = Field(description="Ids by literal.")
    pad_id: int | None
    unk_id: int | None = Field(description="The token of text that has no other.")
    padding_side: Side
    truncation_side: Side
    model_max_length: int | None
    template: str | None = Field(description="The hash of the chat template.")
    templates: dict[str, str] = Field(description="The hashes of all chat templates by name.")
    missing_tokens: dict[str, list[str]] = Field(
        description="What templates read and no token has, such as `bos_token`: their chats are short of it."
    )
    unicode_version: str
    fingerprint: str = Field(description="A hash over tokenizer, templates and the settings that change ids.")
    provenance: dict[str, Any] = Field(description="Where the tokenizer comes from.")


class TokenizerList(BaseModel):
    """Every tokenizer that is loaded."""

    tokenizers: list[TokenizerInfo]


class CheckPoint(BaseModel):
    """One point of the audit."""

    number: int
    name: str
    status: Literal["passed", "failed", "not_applicable"]
    summary: str
    evidence: dict[str, Any]


class CheckAnswer(Answer):
    """The audit of one tokenizer."""

    name: str
    ok: bool = Field(description="No point failed.")
    points: list[CheckPoint]


class Health(BaseModel):
    """The state of the process."""

    status: Literal["ok", "ready"]


class ProblemAnswer(BaseModel):
    """Any error of any route (RFC 9457)."""

    type: str = Field(description="Where this kind of error is explained.")
    title: str
    status: int
    detail: str = Field(description="What is wrong here, and the way out.")
    code: str = Field(description="Stable; made for programs.")
    path: str | None = Field(description="The offending field, such as `ids[3]`; null if it is not a field.")
