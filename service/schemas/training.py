"""Models of training requests and of jobs."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.schemas.requests import Example, RequestBody
from tokenizer_core import (
    BpeStyle,
    CorpusFormat,
    IdLayout,
    ModelName,
    Normalizing,
    OnError,
    PairScore,
    Rewriting,
    TieBreak,
    Words,
)

MAX_NAMES = 10_000
"""Most files or URLs, and most special tokens, of one job."""

Count = Annotated[int, Field(ge=0, le=(1 << 32) - 1)]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class CorpusRequest(BaseModel):
    """The corpus: one of `texts`, `files` and `urls`."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    texts: list[str] | None = Field(None, description="The documents themselves.")
    files: Annotated[list[str], Field(max_length=MAX_NAMES)] | None = Field(
        None,
        description="Files, directories and glob patterns on the server, below one of its `corpus_roots`.",
    )
    urls: Annotated[list[str], Field(max_length=MAX_NAMES)] | None = Field(
        None, description="URLs of files, of one of the server's `corpus_schemes`."
    )
    format: CorpusFormat | None = Field(None, description="What the files are; by default their names say it.")
    field: str = Field("text", description="Of a line of JSON, where its text is.")
    column: str = Field("text", description="Of a Parquet file, where its texts are.")
    on_error: OnError = Field(
        "stop",
        description="`skip` leaves out lines and rows that cannot be read; the report says how many, and the first.",
    )


class TrainingSettings(BaseModel):
    """The settings of `train`."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    model: ModelName = Field(
        "bpe",
        description="BPE, WordPiece, Unigram, words or characters; each with its own settings.",
    )
    style: BpeStyle = Field(
        "byte_level", description="Of BPE: over bytes, or over characters with `▁` for spaces, as SentencePiece has it."
    )
    vocab_size: Count = Field(
        32_000, description="Tokens in all: the bytes or characters, the special tokens and what is learned."
    )
    sizes: list[Count] | None = Field(
        [],
        description="More vocabularies of the same run, at most 63, each checked as `vocab_size`; one is found by its "
        "hash, and where the job has a name as `<name>-<size>`.",
    )
    pattern: str | None = Field(
        "cl100k_base", description="Of the pretokenizer: a known name or a regular expression; null cuts nothing."
    )
    pretokenizer: Words | None = Field(
        None, description="Of WordPiece and words: what words are; by default `bert` and `whitespace`."
    )
    # Null is none, as everywhere; an answer always has the list.
    normalizer: list[Rewriting | Normalizing] | None = Field([], description="Rewrites of the text, in order.")
    special_tokens: Annotated[list[str], Field(max_length=MAX_NAMES)] | None = Field(
        [], description="Literals that end a document, are never counted, and get ids of their own."
    )
    unk: str | None = Field(
        None,
        description="Of all models but byte-level BPE: the token of what is not in the vocabulary, by default "
        "`[UNK]`, of Unigram and BPE `<unk>`.",
    )
    score: PairScore | None = Field(
        None, description="Of WordPiece: merge the most frequent pair (`count`, the default), or by `likelihood`."
    )
    prefix: str | None = Field(
        None, description="Of WordPiece: before entries that do not begin a word; by default `##`."
    )
    limit_alphabet: Count | None = Field(
        None, description="Of WordPiece and Unigram: only the most frequent characters."
    )
    character_coverage: float | None = Field(
        None,
        description="Of BPE of the style `sentencepiece`: only the most frequent characters that are so great a share.",
    )
    required_characters: str | None = Field(
        None, description="Of Unigram and such BPE: characters that are entries whether they occur or not."
    )
    byte_fallback: bool | None = Field(
        None, description="Of Unigram and such BPE: a character that is no entry becomes its bytes; by default false."
    )
    seed_size: Count | None = Field(None, description="Of Unigram: substrings to begin with; by default 1,000,000.")
    shrinking_factor: float | None = Field(
        None, description="Of Unigram: the share of entries that a round of pruning leaves; by default 0.75."
    )
    n_sub_iterations: Count | None = Field(None, description="Of Unigram: estimates in a round; by default 2.")
    tie_break: TieBreak = Field(
        "lexicographic_low",
        description="Which of several equally frequent pairs is merged first; of the style `sentencepiece` by default "
        "`shortest`.",
    )
    min_frequency: Count = Field(1, description="A pair that occurs less often is not merged.")
    max_token_length: Count | None = Field(None, description="In bytes; of all but byte-level BPE in characters.")
    max_piece_length: Count | None = Field(None, description="In bytes; longer pieces are left out.")
    min_count: Count = Field(1, description="Pieces that occur less often are left out, to save memory.")
    id_layout: IdLayout = Field(
        "specials_last", description="Whether special tokens have the lowest or the highest ids."
    )
    initial_merges: list[tuple[str, str]] | None = Field(
        [], description="Made before anything is learned: pairs of entries, as `tokenizer.json` writes them."
    )
    extends: str | None = Field(
        None,
        description="A tokenizer of this server, by name or hash, that gets more merges; what it has, such as "
        "`pattern`, is left out then.",
    )
    sixteen_bit: bool = Field(False, description="Refuse a vocabulary whose ids do not fit into 16 bits.")
    bos: str | None = Field(None, description="The special token that begins a text, for those who ask for it.")
    eos: str | None = Field(None, description="The special token that ends a text, for those who ask for it.")
    pad: str | None = Field(None, description="The special token that fills a row.")
    chat_template: str | None = Field(None, description="Jinja source of a template for chats.")
    replace_invalid: bool = Field(False, description="Replace invalid UTF-8 by U+FFFD instead of failing.")


def _defaults() -> TrainingSettings:
    return TrainingSettings.model_validate({})


class TrainJobRequest(RequestBody):
    """A tokenizer to train."""

    model_config = ConfigDict(extra="forbid")

    corpus: CorpusRequest
    settings: TrainingSettings = Field(default_factory=_defaults, description="The settings of `train`.")
    name: str | None = Field(None, description="The artifact's name; by default `trained`, and found by its hash.")

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "texts": Example(
            "a job is queued",
            {"corpus": {"texts": ["low lower lowest", "new newer newest"]}, "settings": {"vocab_size": 260}},
            status=202,
        ),
        "a vocabulary that is too small": Example(
            "refused, with the field", {"corpus": {"texts": ["a"]}, "settings": {"vocab_size": 10}}, status=422
        ),
        "a path that is not allowed": Example(
            "refused, with the field", {"corpus": {"files": ["/etc/passwd"]}}, status=422
        ),
    }


class JobProgressAnswer(BaseModel):
    """The progress of the phase."""

    done: int
    total: int | None
    unit: str = Field(description="`bytes`, `merges`, `tokens` (of models without merges) or `files`.")
    rate: float | None = Field(description="Units a second.")
    tokens_per_byte: float | None = Field(description="Of the corpus's pieces, with the merges made so far.")
    newest: list[str] = Field(description="The tokens made last, the newest first, cut to 12 characters.")
    seconds_left: float | None = Field(description="Of the phase, about.")


class JobErrorAnswer(BaseModel):
    """Why a job failed."""

    code: str
    message: str
    path: str | None


class JobSizeAnswer(BaseModel):
    """Another size that a job published."""

    size: int = Field(description="As `settings.sizes` has it.")
    tokenizer: str = Field(description="The hash; that of another size where no pair was left for a larger one.")
    name: str
    href: str = Field(description="Where the archive is.")


class JobArtifactAnswer(BaseModel):
    """The published result of a job."""

    tokenizer: str = Field(description="The hash; the service answers with this tokenizer at once.")
    name: str
    href: str = Field(description="Where the archive is.")
    sizes: list[JobSizeAnswer] = Field(description="One for each of `settings.sizes`, in their order.")


class JobSummary(BaseModel):
    """A job, as lists and events have it."""

    id: str
    name: str | None
    state: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    phase: Literal["counting", "merging", "learning", "publishing"] | None = Field(
        description="Of a running job; `learning` is `merging` of a model without merges."
    )
    progress: JobProgressAnswer | None
    created_at: Time
    started_at: Time | None
    finished_at: Time | None
    attempts: int = Field(description="How often a worker began it.")
    error: JobErrorAnswer | None
    artifact: JobArtifactAnswer | None


class JobAnswer(JobSummary):
    """A job."""

    owner: str = Field(description="The name of the key that submitted it; `local` where no keys are needed.")
    settings: TrainingSettings


class SizeReportAnswer(BaseModel):
    """Another size of a run."""

    wanted: int
    vocab_size: int = Field(description="Less than wanted when no pair was left.")
    hash: str = Field(description="Of the tokenizer.")


class JobReport(BaseModel):
    """The report of a run."""

    hash: str = Field(description="Of the tokenizer.")
    corpus: dict[str, Any] = Field(description="Hash, documents, bytes, pieces, distinct pieces, and those left out.")
    vocab_size: int = Field(description="Less than wanted when no pair was left.")
    wanted: int
    tokens: int = Field(description="Learned ones.")
    merges: int
    longest_tokens: list[str]
    longest_piece: int = Field(description="In bytes.")
    skipped: int = Field(description="Lines and rows of the corpus that could not be read and were left out.")
    first_skipped: list[str] = Field(description="What was wrong with the first of them, each with its place.")
    seconds: float = Field(description="From the job's start to its end.")
    learning_seconds: float = Field(description="Of merging, or learning without merges, over all attempts.")
    timeline: list[tuple[float, int]] = Field(description="Of these seconds, and merges made by then.")
    curve: list[tuple[int, float]] = Field(
        default_factory=list, description="Merges made, and the tokens a byte of the corpus's pieces with them."
    )
    sizes: list[SizeReportAnswer] = Field(
        default_factory=list, description="The other sizes; all else is of the first."
    )
    fertility: dict[str, dict[str, int | float] | None] = Field(
        default_factory=dict, description="Sizes and costs by text; null where the tokenizer has no tokens for it."
    )
    frequencies: list[tuple[int, int]] = Field(
        default_factory=list, description="Merges, and how often their pairs occurred; some of many."
    )
    advice: list[str] = Field(default_factory=list, description="What to do, where the report shows what to mend.")
    charts: dict[str, str] = Field(default_factory=dict, description="SVG by name.")


class JobList(BaseModel):
    """Jobs, newest first."""

    jobs: list[JobSummary]
    next: str | None = Field(description="Send it as `before` for the jobs after these; null on the last page.")
