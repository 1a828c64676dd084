"""Models of answers. Hot routes write their answers by hand for speed; these models document and test them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.schemas.block_hashes import BlockHashesOfRow
from service.schemas.fields import Span, drop_default
from tokenizer_core import Side


def _if_asked(description: str) -> Any:
    """Describe a field that an answer holds when the request asks for it, and is never null."""
    return Field(None, description=description, json_schema_extra=drop_default)


Rows = list[int] | list[list[int]]
SpanRows = list[Span] | list[list[Span]]
SequenceRows = list[int | None] | list[list[int | None]]


class Answer(BaseModel):
    """A body that the service sends."""

    model_config = ConfigDict(extra="forbid")

    tokenizer: str = Field(description="The hash of the tokenizer that made this answer: equal hashes mean equal ids.")


class ReservedLiteral(BaseModel):
    """The literal of an added token in a caller's text, with its place in the rendered text, in characters."""

    start: int
    end: int
    literal: str


class Truncated(BaseModel):
    """The cut of `max_length` in a text or chat."""

    side: Side
    count: int = Field(description="How many ids.")
    span: Span = Field(description="Their place, half-open, in characters.")


class Segmentation(BaseModel):
    """One way to cut a text."""

    ids: list[int]
    score: float = Field(description="The sum of the scores of its tokens: the logarithm of a probability.")


class EncodeAnswer(Answer):
    """The requested parts, with one entry a text for a list of texts."""

    ids: Rows = _if_asked("Token ids.")
    count: int | list[int] = _if_asked("The number of ids, without padding.")
    tokens: list[str] | list[list[str]] = _if_asked("The text of every id.")
    spans: SpanRows = _if_asked("Half-open, in characters; [0, 0] for what stands for no text.")
    attention_mask: Rows = _if_asked("1 for ids, 0 for padding.")
    special_tokens_mask: Rows = _if_asked("1 for padding and for what was added round the text.")
    position_ids: Rows = _if_asked("0, 1, 2, ... over the ids; 0 on padding.")
    labels: Rows = _if_asked("The ids, with -100 on padding, and in chats where nothing is trained on.")
    type_ids: Rows = _if_asked("The segment of every id, as the model numbers them; 0 on padding.")
    sequence_ids: SequenceRows = _if_asked("0 for the first text, 1 for the second, null for what belongs to neither.")
    template: str | None = _if_asked("The hash of the template, in answers to chats.")
    unused: list[str] | list[list[str]] = _if_asked("Fields of a chat that left no trace in its text.")
    assistant_mask: Rows = _if_asked("1 on what the assistant says.")
    message_index: Rows = _if_asked("The message that a token has text of; -1 where it has none.")
    reserved_literals: list[ReservedLiteral] | list[list[ReservedLiteral]] = _if_asked(
        "Literals that were encoded as text."
    )
    appended: int = _if_asked("Ids behind `prefix_ids`.")
    inserted: list[int] = _if_asked("The ids among them that end the turn that the prefix left open.")
    retokenized_equal: bool = _if_asked("Whether encoding the whole chat anew gives the same ids.")
    prefix_stable: list[bool] | list[list[bool]] = _if_asked(
        "Of each answer of the assistant that messages follow: whether they extend the ids up to it."
    )
    block_hashes: BlockHashesOfRow | list[BlockHashesOfRow] = _if_asked("The hashes of the blocks of the ids.")
    segmentations: list[Segmentation] | list[list[Segmentation]] = _if_asked("The best of a text, the best first.")
    truncated: Truncated | list[Truncated | list[Truncated | None] | None] | None = _if_asked(
        "What `max_length` cut, of a pair for each text; null if nothing."
    )


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
