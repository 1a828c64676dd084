"""Models of training requests and of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from service.schemas.fields import RequestPart
from service.schemas.requests import Example, RequestBody
from tokenizer_core import CorpusFormat, Normalizing, OnError, Rewriting, Setting, training_settings

MAX_NAMES = 10_000
"""Most files or URLs, and most special tokens, of one job."""

Count = Annotated[int, Field(ge=0, le=(1 << 32) - 1)]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
OWNER: Any = Field(description="The name of the key that submitted it; `local` where no keys are needed.")
NEXT: Any = Field(description="Send it as `before` for the jobs after these; null on the last page.")


class CorpusRequest(RequestPart):
    """The corpus: one of `texts`, `files` and `urls`."""

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
    language: str | None = Field(
        None,
        description="With `parity`, what tells the language of a document: `file` (its name up to the first dot), "
        "`directory`, or the field or column that is called so.",
    )
    parallel: Annotated[list[str], Field(max_length=MAX_NAMES)] | None = Field(
        None, description="With `parity`, a file for each language, named so; their lines have the same content."
    )


_ORDER = (
    *("model", "style", "vocab_size", "sizes", "pattern", "pretokenizer", "normalizer", "special_tokens", "unk"),
    *("superwords_from", "superwords_pattern"),
    *("score", "prefix", "limit_alphabet", "character_coverage", "required_characters", "byte_fallback"),
    *("remove_extra_whitespaces", "allow_whitespace_only_pieces", "split_by_unicode_script", "split_by_number"),
    *("split_digits", "add_dummy_prefix", "split_by_whitespace", "treat_whitespace_as_suffix", "user_defined_symbols"),
    *("hard_vocab_limit", "seed_size"),
    *("shrinking_factor", "n_sub_iterations", "tie_break", "min_frequency", "max_token_length", "max_piece_length"),
    *("min_count", "id_layout", "initial_merges", "parity", "global_merges", "parity_window", "extends", "sixteen_bit"),
    *("bos", "eos", "pad", "chat_template", "replace_invalid"),
)
"""The settings of a job, in the order of its answers."""

_LISTS: dict[str, Any] = {
    "sizes": list[Count],
    "normalizer": list[Rewriting | Normalizing],
    "special_tokens": Annotated[list[str], Field(max_length=MAX_NAMES)],
    "user_defined_symbols": Annotated[list[str], Field(max_length=MAX_NAMES)],
    "initial_merges": list[tuple[str, str]],
}


def _field(one: Setting) -> tuple[Any, Any]:
    """Return the type and the default of a setting; null is as if it were not sent."""
    if one.name in _LISTS:
        default = list(one.default) if one.is_common else None
        return _LISTS[one.name] | None, Field(default, description=_sentence(one.text))
    numbers = {int: Count, int | None: Count | None}
    kind = numbers.get(one.kind, one.kind)
    if one.is_common:
        return kind, Field(one.default, description=_sentence(one.text))
    return kind | None, Field(None, description=_sentence(one.meaning))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


if TYPE_CHECKING:

    class TrainingSettings(BaseModel):
        """The settings of `train`."""

        vocab_size: int
        sizes: list[int] | None
        extends: str | None

else:
    TrainingSettings = create_model(
        "TrainingSettings",
        __base__=RequestPart,
        __doc__="The settings of `train`.",
        **{name: _field(training_settings()[name]) for name in _ORDER},
    )


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
    unit: str = Field(
        description="`bytes`, `merges`, `tokens` (of models without merges), `characters` and `rounds` (of Unigram) or "
        "`files`."
    )
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
    name: str | None = Field(description="Null if the job gave none: then only the hash finds the tokenizer.")
    href: str = Field(description="Where the archive is.")


class JobArtifactAnswer(BaseModel):
    """The published result of a job."""

    tokenizer: str = Field(description="The hash; the service answers with this tokenizer at once.")
    name: str | None = Field(description="Null if the job gave none: then only the hash finds the tokenizer.")
    href: str = Field(description="Where the archive is.")
    sizes: list[JobSizeAnswer] = Field(description="One for each of `settings.sizes`, in their order.")


class AnyJobSummary(BaseModel):
    """A job of any kind, as lists and events have it."""

    id: str
    name: str | None
    state: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    phase: str | None
    progress: BaseModel | None
    created_at: Time
    started_at: Time | None
    finished_at: Time | None
    attempts: int = Field(description="How often a worker began it.")
    error: JobErrorAnswer | None


class JobSummary(AnyJobSummary):
    """A job, as lists and events have it."""

    phase: Literal["counting", "merging", "learning", "seeds", "pruning", "publishing"] | None = Field(
        description="Of a running job; `learning` is `merging` of a model without merges, but for Unigram: `seeds` and "
        "`pruning`."
    )
    progress: JobProgressAnswer | None
    artifact: JobArtifactAnswer | None


class JobAnswer(JobSummary):
    """A job."""

    owner: str = OWNER
    settings: TrainingSettings


class SizeReportAnswer(BaseModel):
    """Another size of a run."""

    wanted: int
    vocab_size: int = Field(description="Less than wanted when no pair was left.")
    hash: str = Field(description="Of the tokenizer.")


class SampleAnswer(BaseModel):
    """The tokens of lines from the beginnings of the files or texts of a corpus."""

    lines: int
    back: int = Field(description="Lines that are the same after they are encoded and decoded.")
    tokens: int
    spaces: int = Field(description="Tokens that are a lone space.")
    characters: int = Field(description="Other tokens of one character.")


class LanguageCostAnswer(BaseModel):
    """The cost of one language of a run with parity."""

    language: str
    bytes: int = Field(description="Of its corpus.")
    is_parallel: bool = Field(description="Its tokens are those of the parallel texts; otherwise of its corpus.")
    lines: int = Field(description="Of its parallel texts, if they are known.")
    tokens: int
    without_parity: int = Field(description="Tokens after as many merges without parity.")


class ParityAnswer(BaseModel):
    """The costs of the languages of a run with parity."""

    languages: list[LanguageCostAnswer]
    gini: float = Field(description="Of the languages' tokens for equal texts, or a byte: 0 if all cost the same.")
    gini_without_parity: float
    largest: str = Field(description="The language with most text.")
    largest_times: float = Field(description="Its tokens, divided by those without parity.")


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
    sample: SampleAnswer | None = Field(None, description="Null if there are no lines, or none that can be read.")
    characters: int | None = Field(None, description="Of the alphabet: the tokens of one character.")
    parity: ParityAnswer | None = Field(None, description="Of a run with `parity`.")
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
    next: str | None = NEXT
