"""Models of requests to encode a corpus as a job, and of those jobs."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from service.schemas.fields import RequestPart
from service.schemas.requests import Example, RequestBody
from service.schemas.training import NEXT, OWNER, AnyJobSummary, Count
from service.schemas.training import CorpusRequest as Corpus
from tokenizer_core import CorpusFormat, Dtype, LayoutName, SpecialTokens, TrainedOn, did_you_mean

MAX_NAME = 200
"""Most characters of the name of a job."""


def _known(name: object) -> object:
    if isinstance(name, str) and name not in get_args(LayoutName):
        known = ", ".join(get_args(LayoutName))
        near = did_you_mean(name, get_args(LayoutName))
        if name in get_args(CorpusFormat):
            near = " of the output; -F format=text of a form, or corpus.format, says what the files are"
        raise PydanticCustomError("unknown_format", f"{name[:80]!r} is not a format{near}; the formats are {known}")
    return name


def _place_or_token(eos: object) -> object:
    if eos is None or isinstance(eos, str) or (type(eos) is int and 0 <= eos < 1 << 32):
        return eos
    raise PydanticCustomError("unknown_place", "this must be after, before, none, or a special token or its id")


class EncodingSettings(RequestPart):
    """The settings of `encode-corpus`."""

    format: Annotated[LayoutName, BeforeValidator(_known)] = Field("megatron", description="The trainer's format.")
    eos: Annotated[Literal["after", "before", "none"] | str | Count | None, BeforeValidator(_place_or_token)] = Field(
        None,
        description="Where the end-of-text token stands at each document, or the special token or the id to take for "
        "it; by default where the format's trainer expects it.",
    )
    special_tokens: SpecialTokens = Field(
        "reject", description="What the literal of a special token in a document means: an error, text, or its id."
    )
    dtype: Dtype | None = Field(
        None, description="Of the ids; by default the smallest that the format's trainer takes for the vocabulary."
    )
    shuffle: Annotated[int, Field(ge=0, lt=1 << 63)] | None = Field(
        None, description="The seed of a permutation of the documents of each shard, and of the shards."
    )
    shard_bytes: Annotated[int, Field(ge=1 << 10, lt=1 << 50)] = Field(
        1 << 30, description="Unpacked bytes of the corpus for each shard, which is also what workers share."
    )
    messages: str | None = Field(
        None, description="The field or column that holds a chat, in place of a text; it is written with labels."
    )
    train_on: TrainedOn | None = Field(
        None, description="What of chats is trained on: `assistant` (the default), `last` or `all`."
    )


def _defaults() -> EncodingSettings:
    return EncodingSettings.model_validate({})


class EncodeJobRequest(RequestBody):
    """A corpus to encode."""

    model_config = ConfigDict(extra="forbid")

    corpus: Corpus
    tokenizer: str | None = Field(
        None,
        description="Which tokenizer: a name, a hash (`sha256:` and 64 digits), `name@hash`, or the name of a model. "
        "There is a default. The job encodes with the one that is meant at its submission.",
    )
    settings: EncodingSettings = Field(default_factory=_defaults, description="The settings of `encode-corpus`.")
    name: str | None = Field(None, max_length=MAX_NAME, description="What the job is called in lists.")

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "texts": Example(
            "a job is queued",
            {"corpus": {"texts": ["low lower lowest", "new newer newest"]}, "settings": {"eos": "none"}},
            status=202,
        ),
        "a format that is not known": Example(
            "refused, with the nearest", {"corpus": {"texts": ["a"]}, "settings": {"format": "megatorn"}}, status=422
        ),
        "a path that is not allowed": Example(
            "refused, with the field", {"corpus": {"files": ["/etc/passwd"]}}, status=422
        ),
    }


class EncodingProgressAnswer(BaseModel):
    """The progress of all parts of a job, by all workers."""

    done: int
    total: int | None
    unit: str = Field(description="`bytes`, of the corpus's files as they are.")
    rate: float | None = Field(description="Bytes a second.")
    seconds_left: float | None


class TokenFilesAnswer(BaseModel):
    """The result of a job: token files."""

    manifest: str = Field(description="Where the manifest is; the files are beside it, below `files/`.")
    hash: str = Field(description="Of the manifest, which pins the files by their hashes.")
    format: LayoutName
    dtype: Dtype
    documents: int
    tokens: int
    shards: int
    bytes: int = Field(description="Of all files.")
    skipped: int = Field(description="Documents that were left out.")


class EncodeJobSummary(AnyJobSummary):
    """A job, as lists and events have it."""

    phase: Literal["encoding", "publishing"] | None = Field(description="Of a running job.")
    progress: EncodingProgressAnswer | None
    output: TokenFilesAnswer | None


class EncodeJobAnswer(EncodeJobSummary):
    """A job."""

    owner: str = OWNER
    tokenizer: str = Field(description="The hash.")
    settings: EncodingSettings


class EncodeJobList(BaseModel):
    """Jobs, newest first."""

    jobs: list[EncodeJobSummary]
    next: str | None = NEXT


class TokenFilesManifest(BaseModel):
    """The manifest of token files, as `tokd inspect` reads it."""

    model_config = ConfigDict(extra="allow")

    format: str
    layout: LayoutName
    tokenizer: str
    dtype: Dtype
    documents: int
    tokens: int
    shards: list[dict[str, Any]]
