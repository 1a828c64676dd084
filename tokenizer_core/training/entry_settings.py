"""Settings of the models whose entries are text: WordPiece, words and characters, checked before any work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

from tokenizer_core._kernel import Pipeline, Vocabulary
from tokenizer_core.config import PipelineConfig, Settings, TokenizerParts
from tokenizer_core.errors import ArtifactError, InvalidOption, InvalidUnicode
from tokenizer_core.formats.added import reserve, special
from tokenizer_core.formats.sentencepiece_export import SIGMA
from tokenizer_core.stages import Decoder, Model, Normalizer, Pretokenizer
from tokenizer_core.training.described import described
from tokenizer_core.training.learning import Learned, Lesson, Start, Unit
from tokenizer_core.training.setting_checks import (
    check_distinct,
    check_frequency,
    check_steps,
    check_types,
)
from tokenizer_core.training.settings import MAX_REWRITES, MAX_VOCAB_SIZE

Normalizing = Literal[
    "nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip_accents", "nmt", "casefold", "bert", "bert_cased"
]
Words = Literal["bert", "whitespace", "whitespace_split"]
PairScore = Literal["count", "likelihood"]
Merges = Sequence[tuple[int, int, int]]
"""Left, right and product by the index of their entry."""


def _bert(*, lowercase: bool) -> Normalizer:
    return Normalizer("bert", clean_text=True, handle_chinese_chars=True, strip_accents=lowercase, lowercase=lowercase)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySettings(ABC):
    """Settings of all these models. The constructor checks every field, before any work.

    Special tokens have the lowest ids. The rewrite ``bert`` cleans a text, sets Chinese characters apart and makes
    letters small without accents; ``bert_cased`` leaves letters as they are.

    Raises:
        InvalidOption: with the field.
    """

    name: ClassVar[str]
    has_nested_sizes: ClassVar[bool] = True
    """A smaller vocabulary is the beginning of a larger one."""

    has_scores: ClassVar[bool] = False
    """Entries have scores."""

    learns: ClassVar[Unit] = "merges"
    """The unit of progress, of several the first."""

    parity: ClassVar[bool] = False
    """There is none."""

    has_merges: ClassVar[bool] = False
    """Text is encoded by the merges."""

    vocab_size: int = 32_000
    normalizer: Sequence[Normalizing] = ()
    special_tokens: Sequence[str] = ()
    unk: str = described(
        "[UNK]",
        "of all models but byte-level BPE: the token of what is not in the vocabulary, by default `[UNK]`, of Unigram "
        "and BPE `<unk>`; the first special token, unless it is another one of them",
        "LITERAL",
    )
    min_frequency: int = 1
    max_piece_length: int | None = None
    min_count: int = 1
    hard_vocab_limit: bool = described(
        False, "of all models but byte-level BPE: fewer tokens than `vocab_size` are an error"
    )

    def __post_init__(self) -> None:
        check_types(self)
        self._check_own()
        check_steps(self.normalizer, MAX_REWRITES)
        check_frequency(self.min_frequency)
        check_frequency(self.min_count, "min_count")
        check_distinct(self.special_tokens)
        self._check_pipeline()
        if not len(self.fixed) < self.vocab_size <= MAX_VOCAB_SIZE:
            message = f"vocab_size is {len(self.fixed) + 1} to {MAX_VOCAB_SIZE}, not {self.vocab_size}"
            raise InvalidOption(message, field="vocab_size")

    @property
    def literals(self) -> tuple[str, ...]:
        """The special tokens by id."""
        listed = tuple(self.special_tokens)
        return listed if self.unk in listed else (self.unk, *listed)

    @property
    def fixed(self) -> tuple[str, ...]:
        """The entries that are not learned, by id."""
        return self.literals

    @property
    @abstractmethod
    def pretokenizers(self) -> tuple[Pretokenizer, ...]:
        """Return what cuts a text into pieces."""

    @property
    @abstractmethod
    def decoders(self) -> tuple[Decoder, ...]:
        """Return what joins tokens to text."""

    @abstractmethod
    def model(self, unk: int) -> Model:
        """Return what makes ids of pieces; ``unk`` is the id of the unknown token."""

    @abstractmethod
    def learn(self, lesson: Lesson) -> Learned:
        """Learn entries besides the fixed ones."""

    def pipeline(self) -> PipelineConfig:
        """Describe the pipeline, as yet without a model and special tokens: how a corpus is cut."""
        own = {
            "bert": (_bert(lowercase=True),),
            "bert_cased": (_bert(lowercase=False),),
            "casefold": (Normalizer("lowercase"), SIGMA),
        }
        normalizer = [stage for name in self.normalizer for stage in own.get(name) or (Normalizer(name),)]
        return PipelineConfig(normalizer=tuple(normalizer), pretokenizer=self.pretokenizers)

    def build(self, entries: Sequence[str], scores: Sequence[float], merges: Merges = ()) -> TokenizerParts:
        """Make the tokenizer of fixed and learned entries, which have ``scores`` in some models.

        Args:
            merges: of learned entries; of models that encode by them.
        """
        literals, fixed = self.literals, self.fixed
        added = special({literal: id for id, literal in enumerate(literals)})
        # Those that no text becomes have the scores that Hugging Face's trainer gives them; bytes are the last resort.
        lowest = [min(scores, default=0.0)] * (len(fixed) - len(literals))
        all_scores = [*[0.0] * len(literals), *lowest, *scores] if self.has_scores else []
        ids = [(left + len(fixed), right + len(fixed), product + len(fixed)) for left, right, product in merges]
        vocabulary = Vocabulary.from_texts(list(enumerate((*fixed, *entries))), ids, all_scores)
        model = self.model(literals.index(self.unk))
        config = replace(self.pipeline(), model=model, decoder=self.decoders, added_tokens=added)
        return TokenizerParts(reserve(vocabulary, added), config, Settings(unk=self.unk))

    def to_dict(self) -> dict[str, Any]:
        """Return what can be written as JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        listed = {name: list(value) for name, value in values.items() if isinstance(value, tuple)}
        return {"model": self.name, **values, **listed}

    def _check_own(self) -> None:
        """Check the fields that not every model has, whose types are right by now."""
        if not self.unk:
            raise InvalidOption("unk is a literal that is not empty", field="unk")

    def _check_pipeline(self) -> None:
        try:
            parts = self.build([], [])
            Pipeline(parts.vocabulary, parts.config.to_json())
        except (ArtifactError, InvalidUnicode) as error:
            place, _, _ = str(error.place.get("field", "")).removeprefix("added_tokens").partition(".")
            # Of a model of SentencePiece the place is one of its pieces.
            place = place if place.startswith("[") else ""
            raise InvalidOption(error.message, field=f"special_tokens{place}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPieceSettings(EntrySettings):
    """Settings of WordPiece."""

    name: ClassVar[str] = "wordpiece"

    pretokenizer: Words = described(
        "bert",
        "of WordPiece and words, what words are: `bert` (the default of WordPiece) cuts at white space and around "
        "punctuation, `whitespace` (that of words) also between letters and symbols, `whitespace_split` only at white "
        "space",
        "NAME",
    )
    score: PairScore = described(
        "count",
        "of WordPiece: merge the most frequent pair first (`count`, the default, as in Hugging Face), or the one with "
        "the highest `count(ab) / (count(a) * count(b))` (`likelihood`)",
        "SCORE",
    )
    prefix: str = described("##", "of WordPiece: before entries that do not begin a word", "TEXT")
    limit_alphabet: int | None = described(
        None,
        "of WordPiece and Unigram, and of the command's `--level characters`: only the most frequent characters",
        "N",
    )
    max_token_length: int | None = None

    def _check_own(self) -> None:
        EntrySettings._check_own(self)
        if not self.prefix:
            raise InvalidOption("prefix is a string that is not empty", field="prefix")

    @property
    def pretokenizers(self) -> tuple[Pretokenizer, ...]:
        return (Pretokenizer(self.pretokenizer),)

    @property
    def decoders(self) -> tuple[Decoder, ...]:
        return (Decoder("word_piece", prefix=self.prefix, cleanup=True),)

    def model(self, unk: int) -> Model:
        return Model("word_piece", unk=unk, prefix=self.prefix)

    def learn(self, lesson: Lesson) -> Learned:
        learned = lesson.merges(
            level="word_pieces",
            min_frequency=self.min_frequency,
            max_token_length=self.max_token_length,
            tie_break="lowest_ids",
            forbidden=self.literals,
            prefix=self.prefix,
            limit_alphabet=self.limit_alphabet,
            score=self.score,
        )
        self._check_alphabet(learned.start.tokens)
        return learned

    def _check_alphabet(self, alphabet: Sequence[bytes]) -> None:
        """Refuse a literal that is spelled as a character of the corpus: one entry cannot be both."""
        named = {f"special_tokens[{index}]": literal for index, literal in enumerate(self.special_tokens)}
        for field, literal in {"unk": self.unk, **named}.items():
            if literal.encode() in alphabet:
                message = f"{literal!r} is also the entry of a character of the corpus; take another literal"
                raise InvalidOption(message, field=field)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequentSettings(EntrySettings):
    """The common settings of vocabularies of whole pieces."""

    learns: ClassVar[Unit] = "tokens"

    def model(self, unk: int) -> Model:
        return Model("word_level", unk=unk)

    def learn(self, lesson: Lesson) -> Learned:
        return frequent(lesson, lesson.pieces.items(0, lesson.sizes[0] + len(self.literals)), self)


def frequent(lesson: Lesson, counted: Iterable[tuple[bytes, int]], settings: EntrySettings) -> Learned:
    """Take the most frequent of the pieces, which come first."""
    # A literal is not counted, but a normalizer may make one of other text.
    tokens, without = lesson.sizes[0], {entry.encode() for entry in settings.fixed}
    found = [piece for piece, count in counted if count >= settings.min_frequency and piece not in without][:tokens]
    if lesson.on_merges is not None:
        lesson.on_merges(len(found), tokens, [], None)
    return Learned(Start(()), found, [])


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSettings(FrequentSettings):
    """Settings of a vocabulary of whole words: the most frequent ones, of equals the least in UTF-8."""

    name: ClassVar[str] = "word"

    pretokenizer: Words = "whitespace"

    @property
    def pretokenizers(self) -> tuple[Pretokenizer, ...]:
        return (Pretokenizer(self.pretokenizer),)

    @property
    def decoders(self) -> tuple[Decoder, ...]:
        return (Decoder("spaced"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacterSettings(FrequentSettings):
    """Settings of a vocabulary of single characters: the most frequent ones, of equals the least in UTF-8."""

    name: ClassVar[str] = "character"

    @property
    def pretokenizers(self) -> tuple[Pretokenizer, ...]:
        return (Pretokenizer("fixed_length", length=1),)

    @property
    def decoders(self) -> tuple[Decoder, ...]:
        return (Decoder("fuse"),)
