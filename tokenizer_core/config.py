"""The frozen description of a tokenizer: the kernel's configuration, the metadata, and both with a vocabulary.

Everything in ``PipelineConfig`` can change an id and is covered by the tokenizer's hash; nothing in ``Settings`` is. A
field of another type is refused by its name (``InvalidOption``) wherever one of these is made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.arguments import (
    check_choice,
    check_flag,
    check_kind,
    check_unicode,
    integer_of,
    optional_integer,
    tuple_of,
)
from tokenizer_core.errors import InvalidOption, shown
from tokenizer_core.short_repr import ShortRepr
from tokenizer_core.stages import CLEAN_UP, Decoder, Model, Normalizer, Pretokenizer

Side = Literal["left", "right"]
Unit = Literal["byte", "char", "utf16"]
"""Of spans."""

MODEL_LENGTH = "max_model_len"
"""The key of ``Settings.extra`` with the length of the source's ``config.json``."""

ADDED_TOKEN_FLAGS = ("special", "lstrip", "rstrip", "single_word", "normalized")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedToken:
    """A literal with an id of its own; the flags are those of Hugging Face.

    Raises:
        InvalidOption: a field is of another type, or the literal no Unicode text.
    """

    id: int
    content: str
    special: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", integer_of(self.id, "id", 0))
        check_unicode(self.content, "content")
        for flag in ADDED_TOKEN_FLAGS:
            check_flag(getattr(self, flag), flag)

    @property
    def flags(self) -> dict[str, bool]:
        """The flags by name."""
        return {flag: getattr(self, flag) for flag in ADDED_TOKEN_FLAGS}


MAX_FRAME = 256
"""Ids round a text or a pair; published tokenizers have some six. A short text costs as much as its frame, so a frame
without a bound would let a small file and a small request take any memory."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PipelineConfig(ShortRepr):
    """A whole pipeline but for its vocabulary; added tokens stand in the order of their ids.

    A stage is made of its type and its fields: ``Normalizer("nfc")``, ``Pretokenizer("digits", individual=True)``,
    ``Model("word_level", unk=0)``, ``Decoder("fuse")`` of ``tokenizer_core.stages``.

    Raises:
        InvalidOption: a field is of another type.
    """

    normalizer: tuple[Normalizer, ...] = ()
    prefix_space: bool = False
    pretokenizer: tuple[Pretokenizer, ...] = ()
    model: Model = field(default_factory=lambda: Model("byte_bpe"))
    ignore_merges: bool = False
    decoder: tuple[Decoder, ...] = ()
    added_tokens: tuple[AddedToken, ...] = ()
    prefix_ids: tuple[int, ...] = ()
    suffix_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (
            *(("normalizer", Normalizer), ("pretokenizer", Pretokenizer)),
            *(("decoder", Decoder), ("added_tokens", AddedToken)),
        ):
            for index, item in enumerate(items := tuple_of(getattr(self, name), name)):
                check_kind(item, kind, f"{name}[{index}]")
            object.__setattr__(self, name, items)
        for name in ("prefix_ids", "suffix_ids"):
            ids = enumerate(tuple_of(getattr(self, name), name))
            object.__setattr__(self, name, tuple(integer_of(id, f"{name}[{index}]", 0) for index, id in ids))
        check_kind(self.model, Model, "model")
        check_flag(self.prefix_space, "prefix_space")
        check_flag(self.ignore_merges, "ignore_merges")
        _check_frame(len(self.prefix_ids) + len(self.suffix_ids), "prefix_ids")
        # The order changes no id, so it must not change the hash either.
        object.__setattr__(self, "added_tokens", tuple(sorted(self.added_tokens, key=lambda token: token.id)))

    @property
    def has_expressions(self) -> bool:
        """True if a stage has a regular expression without a scanner."""
        stages = (*self.normalizer, *self.pretokenizer)
        return any(stage.type in ("replace", "split") and stage.pattern.kind == "regex" for stage in stages)

    @property
    def lossless(self) -> bool:
        """True if no stage drops or rewrites text: what a text's ids are decoded to is the text."""
        rewrites = self.normalizer or self.prefix_space or self.decoder or not self.model.is_byte_bpe
        return all(stage.keeps_text for stage in self.pretokenizer) and not rewrites

    def to_json(self) -> str:
        """Write the canonical JSON that the kernel reads and the tokenizer's hash covers.

        What says nothing is left out where it came later: tokenizers from before keep their hashes.
        """
        document = {name: getattr(self, name) for name in ("prefix_space", "ignore_merges", "prefix_ids", "suffix_ids")}
        for part in ("normalizer", "pretokenizer", "decoder"):
            document[part] = [stage.to_dict() for stage in getattr(self, part)]
        document["added_tokens"] = [
            {"id": token.id, "content": token.content, **token.flags} for token in self.added_tokens
        ]
        if not self.decoder:
            del document["decoder"]
        if not self.model.is_byte_bpe:
            document["model"] = self.model.to_dict()
        return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings(ShortRepr):
    """The metadata of a tokenizer: it changes no id of a text alone.

    Args:
        bos, eos, pad, unk: literals, or ``None``.
        padding_side, truncation_side: applied only when a caller asks for padding or truncation.
        model_max_length: in ids, or ``None`` when the source names none.
        chat_template: Jinja source, or ``None``.
        named_templates: further templates by name, such as ``tool_use``.
        pair_template: ids, ``"A"`` and ``"B"`` with their type ids, as the source frames a pair; ``None`` is a pair
            whose texts are each framed as if alone, with the type ids 0 and 1.
        type_ids: those of the prefix, the text and the suffix of a text alone; ``None`` is 0 for all.
        generation: what the source's ``generation_config.json`` says, as JSON text by key.
        extra: what else the source's ``tokenizer_config.json`` says, as JSON text by key; kept for export.

    Raises:
        InvalidOption: a literal or a template is not a string of Unicode, or a field of another type.
    """

    bos: str | None = None
    eos: str | None = None
    pad: str | None = None
    unk: str | None = None
    padding_side: Side = "right"
    truncation_side: Side = "right"
    model_max_length: int | None = None
    chat_template: str | None = None
    named_templates: tuple[tuple[str, str], ...] = ()
    pair_template: tuple[tuple[int | Literal["A", "B"], int], ...] | None = None
    type_ids: tuple[int, ...] | None = None
    generation: tuple[tuple[str, str], ...] = ()
    extra: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name in ("bos", "eos", "pad", "unk", "chat_template"):
            if (value := getattr(self, name)) is not None:
                check_unicode(value, name)
        check_choice(self.padding_side, Side, "padding_side")
        check_choice(self.truncation_side, Side, "truncation_side")
        object.__setattr__(self, "model_max_length", optional_integer(self.model_max_length, "model_max_length"))
        for name, second in (("named_templates", "a template"), ("generation", "JSON text"), ("extra", "JSON text")):
            for index, pair in enumerate(tuple_of(getattr(self, name), name)):
                if len(tuple_of(pair, place := f"{name}[{index}]")) != 2:
                    raise InvalidOption(f"{place} is a name and {second}, not {len(pair)} parts", field=place)
                for text in pair:
                    check_unicode(text, place)
        for name in ("generation", "extra"):
            for index, (_, text) in enumerate(getattr(self, name)):
                _check_json(text, f"{name}[{index}]")
        # Two of the parts are the texts.
        _check_frame(len(tuple_of(self.pair_template or (), "pair_template")) - 2, "pair_template")
        for index, item in enumerate(self.pair_template or ()):
            if len(tuple_of(item, place := f"pair_template[{index}]")) != 2:
                raise InvalidOption(f"{place} is an id or a text, and its type id, not {len(item)} parts", field=place)
            if item[0] not in ("A", "B"):
                integer_of(item[0], place, 0)
            integer_of(item[1], place, 0)
        if self.type_ids is not None:
            kinds = tuple_of(self.type_ids, "type_ids")
            kinds = tuple(integer_of(kind, f"type_ids[{index}]", 0) for index, kind in enumerate(kinds))
            object.__setattr__(self, "type_ids", kinds)

    @property
    def model_length(self) -> int | None:
        """The number of ids that the model takes: the least number in the source's files."""
        said = self.model_max_length, json.loads(dict(self.extra).get(MODEL_LENGTH, "null"))
        return min((length for length in said if type(length) is int and length > 0), default=None)

    def max_length_for(self, truncation: object, max_length: int | None) -> int | None:
        """Return the most ids of a row: where one is to be cut and no number is given, the model's, if it has any."""
        return self.model_max_length if max_length is None and truncation is not None else max_length

    @property
    def templates(self) -> dict[str, str]:
        """The sources of all templates by name; the one without a name is ``default``."""
        default = {} if self.chat_template is None else {"default": self.chat_template}
        return default | dict(self.named_templates)

    def template_name(self, *, has_tools: bool) -> str:
        """Choose a template as Hugging Face does: ``tool_use`` if there are tools and it is there, else ``default``."""
        return "tool_use" if has_tools and "tool_use" in self.templates else "default"


def _check_frame(size: int, field: str) -> None:
    if size > MAX_FRAME:
        raise InvalidOption(f"{field}: a frame of {size} ids; one has at most {MAX_FRAME}", field=field)


def _check_json(text: str, field: str) -> None:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidOption(f"{field} has JSON text behind its name, not {shown(text)}", field=field) from None


@dataclass(frozen=True, slots=True, repr=False)
class TokenizerParts(ShortRepr):
    """The parts of a tokenizer: the result of every reader, the input of the facade.

    Attributes:
        sentencepiece: the model's file, from which an artifact is read again.
    """

    vocabulary: Vocabulary
    config: PipelineConfig
    settings: Settings = field(default_factory=Settings)
    name: str = "tokenizer"
    provenance: Mapping[str, Any] = field(default_factory=dict)
    sentencepiece: bytes | None = None

    def __post_init__(self) -> None:
        check_kind(self.vocabulary, Vocabulary, "vocabulary")
        check_kind(self.config, PipelineConfig, "config")
        check_kind(self.settings, Settings, "settings")
        framed = len(self.config.prefix_ids) + 1 + len(self.config.suffix_ids)
        if self.settings.type_ids is not None and len(self.settings.type_ids) != framed:
            raise InvalidOption(f"type_ids are those of prefix, text and suffix: {framed}", field="type_ids")
        check_unicode(self.name, "name")
        check_kind(self.provenance, Mapping, "provenance")
        check_kind(self.sentencepiece, bytes | None, "sentencepiece")

    @property
    def cleans_up(self) -> bool:
        """True if decoded text is cleaned up as transformers does it, whose version 5 leaves the text of BPE alone."""
        wanted = ("clean_up_tokenization_spaces", "true") in self.settings.extra
        is_bpe = self.config.model.type in ("byte_bpe", "char_bpe")
        return wanted and not is_bpe and not any(stage.type == "sentence_piece" for stage in self.config.decoder)

    def pipeline_json(self) -> str:
        """Write what the kernel reads: the pipeline, and the clean-up, which changes no id and is in no hash."""
        config = self.config
        return (replace(config, decoder=(*config.decoder, *CLEAN_UP)) if self.cleans_up else config).to_json()
