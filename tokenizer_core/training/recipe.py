"""A training run as plain data, from a job, a settings file or a command line, checked before any work.

>>> from tokenizer_core import Recipe
>>> recipe = Recipe.from_dict({"corpus": {"texts": ["low lower lowest"]}, "vocab_size": 260})
>>> recipe.to_dict()["pattern"]
'cl100k_base'
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.arguments import check_flag, check_kind, check_unicode, path_of, place_of, tuple_of
from tokenizer_core.chat.templates import Template
from tokenizer_core.corpus.files import Files
from tokenizer_core.corpus.languages import check_languages
from tokenizer_core.errors import (
    HashMismatch,
    InvalidArtifact,
    InvalidOption,
    InvalidSettings,
    TemplateFailed,
    TemplateUnsupported,
    shown,
)
from tokenizer_core.formats.files import check_name, is_hash
from tokenizer_core.nearest import did_you_mean
from tokenizer_core.tokenizer import Tokenizer
from tokenizer_core.training.described import Setting, declared, described
from tokenizer_core.training.entry_plan import new_plan
from tokenizer_core.training.families import (
    ALL_FIELDS,
    SETTINGS,
    AnySettings,
    BpeStyle,
    ModelName,
    settings_of,
)
from tokenizer_core.training.plans import EXTENDING, MAX_SIZES, LongerVocabulary, Plan
from tokenizer_core.training.settings import OPTIONAL, TrainSettings

_OF_FILES = ("format", "field", "column", "on_error", "language")
_ACCOMPANYING = ("bos", "eos", "pad", "chat_template")
"""Fields that change no id of a text."""

_ONLY_BPE = "only byte-level BPE can be extended; leave extends away"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A corpus, and the tokenizer to train on it.

    Attributes:
        corpus: files, or documents as strings.
        settings: of the model: ``TrainSettings`` for byte-level BPE, ``SentencePieceBpeSettings`` and the others of
            SentencePiece, ``WordPieceSettings``, ``UnigramSettings``, ``WordSettings`` or ``CharacterSettings``.
        extends_hash: of the tokenizer that ``extends`` names; the run refuses another one at its place.

    Raises:
        InvalidSettings: with the field as ``path``.
    """

    corpus: Files | tuple[str, ...]
    settings: AnySettings
    sizes: tuple[int, ...] = described(
        (),
        "more vocabularies of the same run, at most 63, each checked as `vocab_size`; with a name each is called "
        "`<name>-<size>`",
        "N,N",
    )
    extends: str | None = described(
        None,
        "the tokenizer that gets more merges, in the place of a new vocabulary: an artifact, or for a job a name or a "
        "hash of the server; what it has, such as `pattern`, is left out then",
        "ARTIFACT",
    )
    extends_hash: str | None = None
    replace_invalid: bool = described(False, "bytes that are not UTF-8 become U+FFFD, rather than an error")
    name: str | None = described(None, "of the artifact, in its manifest", "NAME")
    bos: str | None = described(None, "the special token that begins a text, for those who ask for it", "LITERAL")
    eos: str | None = described(None, "the special token that ends a text, for those who ask for it", "LITERAL")
    pad: str | None = described(None, "the special token that fills a row", "LITERAL")
    chat_template: str | None = described(None, "Jinja source of a template for chats")

    def __post_init__(self) -> None:
        try:
            if self.name is not None:
                check_name(self.name)
            check_kind(self.settings, AnySettings, "settings")
            if not isinstance(self.corpus, Files):
                texts = tuple_of(self.corpus, "corpus")
                for index, text in enumerate(texts):
                    check_unicode(text, f"corpus.texts[{index}]")
                object.__setattr__(self, "corpus", texts)
            if self.extends is not None:
                object.__setattr__(self, "extends", str(path_of(self.extends, "extends")))
            if self.extends_hash is not None:
                self._check_hash(self.extends_hash)
            check_flag(self.replace_invalid, "replace_invalid")
            for name in ("bos", "eos", "pad", "chat_template"):
                if (text := getattr(self, name)) is not None:
                    check_unicode(text, name)
            sizes: Any = self.sizes
            # Not ``bool(sizes)`` of anything: an array of NumPy raises there.
            has_sizes = not isinstance(sizes, list | tuple) or bool(sizes)
            plan = new_plan(self.settings, sizes if has_sizes else (self.settings.vocab_size,))
        except (InvalidOption, InvalidArtifact) as error:
            raise _settings_error(error) from None
        if has_sizes:
            if len(plan.sizes) == MAX_SIZES:
                raise InvalidSettings(f"sizes is at most {MAX_SIZES - 1} sizes beside vocab_size", field="sizes")
            object.__setattr__(self, "sizes", plan.sizes)
            self._check_names()
        try:
            check_languages(self.corpus if isinstance(self.corpus, Files) else None, self.settings.parity)
        except InvalidOption as error:
            raise _settings_error(error) from None
        if self.extends is not None and not isinstance(self.settings, TrainSettings):
            raise InvalidSettings(_ONLY_BPE, field="extends")
        if self.extends is not None and self.sizes:
            raise InvalidSettings("an artifact is extended to one size; leave sizes away", field="sizes")
        if self.extends is None:
            self._check_roles(self.settings.literals)
        if self.chat_template is not None:
            try:
                # Not ``compiled``, which keeps what it makes: callers would fill the memory of a server.
                Template(self.chat_template)
            except (TemplateFailed, TemplateUnsupported) as error:
                raise InvalidSettings(error.message, field="chat_template") from None

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Recipe:
        """Check every field of a JSON object; unknown ones are refused by name.

        ``corpus`` is an object: ``paths`` (with ``format``, ``field``, ``column`` and ``on_error`` as in ``Files``), or
        ``texts``.
        ``model`` is ``bpe``, ``wordpiece``, ``unigram``, ``word`` or ``character``; by default ``bpe``, whose ``style``
        is ``byte_level`` or ``sentencepiece``, as that of words and characters may be.
        ``initial_merges`` are pairs of entries as a ``tokenizer.json`` has them. The other fields are those of the
        model's settings and of this class.

        Raises:
            InvalidSettings: with the field as ``path``.
        """
        if not isinstance(given, Mapping):
            raise InvalidSettings(f"a recipe is an object, not {type(given).__name__}", field="")
        known = {"corpus", "sizes", "extends", "extends_hash", "replace_invalid", "name", "model"}
        known |= {*_ACCOMPANYING, *ALL_FIELDS}
        for key in given:
            if key not in known:
                near = did_you_mean(str(key), known)
                raise InvalidSettings(f"no setting is called {str(key)[:80]!r}{near}", field=str(key)[:80])
        if "corpus" not in given:
            raise InvalidSettings("there is no corpus; name paths, or give texts", field="corpus")
        extends = _optional(given, "extends", str)
        chosen = {key: given[key] for key in ALL_FIELDS if key in given}
        model = given.get("model", "bpe")
        if extends is not None:
            if model != "bpe":
                raise InvalidSettings(_ONLY_BPE, field="extends")
            for key in chosen.keys() - set(EXTENDING):
                raise InvalidSettings(f"{key} is as the artifact has it; leave it away, or extends", field=key)
            chosen["pattern"] = None
        if "initial_merges" in chosen:
            chosen["initial_merges"] = _merges(chosen["initial_merges"])
        try:
            settings = settings_of(model, chosen)
        except InvalidOption as error:
            raise _settings_error(error) from None
        return cls(
            corpus=_corpus(given["corpus"]),
            settings=settings,
            sizes=_sizes(given.get("sizes", ())),
            extends=extends,
            extends_hash=_optional(given, "extends_hash", str),
            replace_invalid=_optional(given, "replace_invalid", bool) or False,
            name=_optional(given, "name", str),
            **{key: _optional(given, key, str) for key in _ACCOMPANYING},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what ``from_dict`` makes the same recipe of, as values that JSON has."""
        settings = self.settings.to_dict()
        if isinstance(self.settings, TrainSettings):
            merges = self.settings.initial_merges
            listed = [[_entry(left), _entry(right)] for left, right in merges]
            settings |= {"model": "bpe", "style": "byte_level", "initial_merges": listed}
            settings |= {name: getattr(self.settings, name) for name in OPTIONAL}
        if self.extends is not None:
            settings = {key: settings[key] for key in EXTENDING}
        return {"corpus": _corpus_dict(self.corpus), **settings} | {
            "sizes": list(self.sizes),
            "extends": self.extends,
            "extends_hash": self.extends_hash,
            "replace_invalid": self.replace_invalid,
            "name": self.name,
            **{key: getattr(self, key) for key in _ACCOMPANYING},
        }

    def plan(self) -> Plan:
        """Return what is to be done with the corpus; the artifact that is extended is opened here.

        Raises:
            ArtifactError: it is damaged, or ``HashMismatch`` if it is another one than ``extends_hash`` names.
            InvalidSettings
        """
        if self.extends is None:
            return new_plan(self.settings, (self.settings.vocab_size, *self.sizes))
        chosen = {key: getattr(self.settings, key) for key in EXTENDING if key != "vocab_size"}
        tokenizer = Tokenizer.open(self.extends)
        if self.extends_hash not in (None, tokenizer.hash):
            raise HashMismatch(
                f"{self.extends} holds {tokenizer.hash} by now, and {self.extends_hash} was to be extended; put that "
                "one back, or extend the one that is there",
                field="extends",
                expected=self.extends_hash,
                found=tokenizer.hash,
            )
        self._check_roles(tokenizer.special_tokens)
        try:
            return LongerVocabulary.of(tokenizer, self.settings.vocab_size, **chosen)
        except InvalidOption as error:
            raise _settings_error(error) from None

    def pinned(self) -> Recipe:
        """Return the recipe with the hash of what it extends as that is now.

        Raises:
            ArtifactError: it cannot be opened.
        """
        if self.extends is None or self.extends_hash is not None:
            return self
        return replace(self, extends_hash=Tokenizer.open(self.extends).hash)

    def finished(self, tokenizer: Tokenizer, name: str | None = None) -> Tokenizer:
        """Give a tokenizer that was learned its name, by default that of the recipe, and what accompanies it.

        Raises:
            InvalidOption: it is not a tokenizer.
        """
        check_kind(tokenizer, Tokenizer, "tokenizer")
        chosen = {key: getattr(self, key) for key in _ACCOMPANYING}
        settings = replace(tokenizer.settings, **{key: value for key, value in chosen.items() if value is not None})
        name = name or self.name or tokenizer.parts.name
        return tokenizer.with_parts(replace(tokenizer.parts, name=name, settings=settings))

    @property
    def names(self) -> tuple[str | None, ...]:
        """The names of the artifacts: of ``vocab_size``, then of each of ``sizes``."""
        return self.name, *(None if self.name is None else f"{self.name}-{size}" for size in self.sizes)

    def _check_names(self) -> None:
        try:
            for name in filter(None, self.names):
                check_name(name)
        except InvalidArtifact as error:
            raise InvalidSettings(f"another size is called <name>-<size>: {error.message}", field="name") from None

    def _check_hash(self, hash: str) -> None:
        check_unicode(hash, "extends_hash")
        if self.extends is None:
            raise InvalidSettings("extends_hash is that of what extends names", field="extends_hash")
        if not is_hash(hash):
            raise InvalidSettings("a hash is sha256: and 64 hexadecimal digits", field="extends_hash")

    def _check_roles(self, literals: Collection[str]) -> None:
        for role in ("bos", "eos", "pad"):
            literal = getattr(self, role)
            if literal is not None and literal not in literals:
                message = f"{role} is one of the special tokens, which {literal[:80]!r} is not"
                raise InvalidSettings(message, field=role)


_ENTRIES: dict[bytes, str] = {
    bytes([id]): text
    for text, id in Vocabulary.from_tokens([(byte, bytes([byte])) for byte in range(256)], []).token_texts()
}
_BYTES = {text: byte for byte, text in _ENTRIES.items()}


def _entry(token: bytes) -> str:
    return "".join(_ENTRIES[bytes([byte])] for byte in token)


def _merges(given: object) -> list[tuple[bytes, bytes]]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise InvalidSettings("initial_merges is a list of pairs", field="initial_merges")
    merges = []
    for index, pair in enumerate(given):
        field = f"initial_merges[{index}]"
        if not (isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
            raise InvalidSettings("a merge is a pair of strings, as tokenizer.json has them", field=field)
        left, right = pair
        for character in left + right:
            if character not in _BYTES:
                raise InvalidSettings(
                    f"{character!r} is not a byte of the byte alphabet of tokenizer.json", field=field
                )
        merges.append((b"".join(map(_BYTES.__getitem__, left)), b"".join(map(_BYTES.__getitem__, right))))
    return merges


def _settings_error(error: InvalidOption | InvalidArtifact) -> InvalidSettings:
    return InvalidSettings(error.message, **error.place)


def _optional(given: Mapping[str, Any], key: str, kind: type) -> Any:
    value = given.get(key)
    if value is not None and not isinstance(value, kind):
        raise InvalidSettings(f"{key} is not a {kind.__name__}: {shown(value)}", field=key)
    return value


def _sizes(given: object) -> tuple[int, ...]:
    if not isinstance(given, list | tuple):
        raise InvalidSettings("sizes is a list of whole numbers", field="sizes")
    return tuple(given)


def _corpus(given: object) -> Files | tuple[str, ...]:
    if not isinstance(given, Mapping) or ("paths" in given) == ("texts" in given):
        raise InvalidSettings("corpus is an object with paths, or with texts", field="corpus")
    known = {"texts"} if "texts" in given else {"paths", "parallel", *_OF_FILES}
    for key in given:
        if key not in known:
            message = f"a corpus has no {str(key)[:80]!r} beside {min(known)}{did_you_mean(str(key), known)}"
            raise InvalidSettings(message, field=f"corpus.{str(key)[:80]}")
    name = "texts" if "texts" in given else "paths"
    items = given[name]
    if not isinstance(items, list | tuple) or not items:
        raise InvalidSettings(f"corpus.{name} is a list of strings that is not empty", field=f"corpus.{name}")
    if name == "texts":
        return tuple(items)
    try:
        parallel = _paths(given.get("parallel", ()), "parallel")
        chosen = {key: given[key] for key in _OF_FILES if key in given}
        return Files(paths=_paths(items, "paths"), parallel=parallel, **chosen)
    except InvalidOption as error:
        raise _settings_error(error) from None


def _paths(given: object, name: str) -> tuple[str, ...]:
    if not isinstance(given, list | tuple):
        raise InvalidSettings(f"corpus.{name} is a list of strings", field=f"corpus.{name}")
    for index, item in enumerate(given):
        if not isinstance(item, str):
            raise InvalidSettings(f"{shown(item)} is not a path", field=f"corpus.{name}[{index}]")
        # A name that is not UTF-8 holds lone surrogates, which stand for its bytes.
        place_of(item, f"corpus.{name}[{index}]")
    return tuple(given)


def _corpus_dict(corpus: Files | tuple[str, ...]) -> dict[str, Any]:
    if isinstance(corpus, tuple):
        return {"texts": list(corpus)}
    paths, parallel = ([str(path) for path in each] for each in (corpus.paths, corpus.parallel))
    described = {"paths": paths, **{key: getattr(corpus, key) for key in _OF_FILES if key != "language"}}
    # Only of a corpus that has languages.
    return described | ({"language": corpus.language, "parallel": parallel} if corpus.language or parallel else {})


def training_settings() -> dict[str, Setting]:
    """Return every setting of a recipe but the corpus, by name."""
    chosen = (
        Setting("model", ModelName, "bpe", "what is trained; each model has its own settings", "NAME"),
        Setting(
            "style",
            BpeStyle,
            "byte_level",
            "of BPE: over bytes, or over characters with `▁` for spaces, as SentencePiece has it; words and characters "
            "may be in its style too",
            "NAME",
        ),
    )
    common = declared(TrainSettings, Recipe)
    return {one.name: one for one in chosen} | declared(*SETTINGS.values(), is_common=False) | common
