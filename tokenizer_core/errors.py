"""All errors of this package, as one tree with stable codes.

TokdError
├── InputError               the caller's text, ids or options
│   ├── HistoryRewritten     history_rewritten: the chat template writes earlier messages otherwise
│   ├── InvalidUnicode       invalid_unicode: a lone surrogate
│   ├── InvalidOption        invalid_option
│   │   └── InvalidSettings  invalid_settings: a field of a training recipe
│   ├── MessageNotRendered   message_not_rendered: the chat template writes nothing of a message
│   ├── ReservedLiteral      reserved_literal: a special token's literal in the text
│   ├── RowTooLong           row_too_long: more tokens than a pack has
│   ├── StepLimit            step_limit: a regular expression took too long on this text
│   ├── TemplateFailed       template_failed: the chat template refuses these messages, or is not a template
│   ├── TemplateLimit        template_limit: the chat template takes too much time or memory
│   ├── TemplateMissing      template_missing: the tokenizer has no chat template
│   ├── TemplateUnsupported  template_unsupported: the chat template uses a construct that is not supported
│   ├── TemplateUntrackable  template_untrackable: the author of the rendered text is unknown
│   ├── UncoveredText        uncovered_text: the pattern leaves text outside every piece
│   └── UnknownTokenId       unknown_token_id
├── CorpusError              what a tokenizer is to be trained on
│   ├── CorpusForbidden      path_forbidden, scheme_forbidden, address_forbidden: outside the bounds of a run
│   ├── CorpusNotFound       corpus_not_found
│   ├── CorpusTooLarge       corpus_too_large
│   ├── EmptyCorpus          empty_corpus
│   └── InvalidCorpus        invalid_corpus, invalid_utf8
├── ArtifactError            files that describe a tokenizer
│   ├── ArtifactNotFound     artifact_not_found
│   ├── HashMismatch         hash_mismatch
│   ├── InvalidArtifact      duplicate_id, duplicate_token, id_conflict, id_out_of_range, invalid_file, invalid_name,
│   │                        invalid_pattern, merge_out_of_vocab, missing_byte, unknown_format
│   └── Unsupported          unsupported: a feature that is refused by name
├── Cancelled                cancelled: a training run was stopped
├── ClusterFailed            cluster_failed: other hosts cannot do the work
└── InternalError            internal: a bug here, reported and survived
"""

from __future__ import annotations

import copyreg
import reprlib
from collections.abc import Iterator
from typing import Any, ClassVar


class TokdError(Exception):
    """Carry a stable code, a message and the place.

    Args:
        message: lower case, no full stop; says the way out.
        code: one of the class's ``codes``; the first of them if not given.
        place: what the error is about: ``{"field": "model.merges[3]"}``, ``{"span": [start, end], "unit": "char"}``,
            ``{"index": 7}``, or nothing.
    """

    codes: ClassVar[tuple[str, ...]] = ()

    def __init__(self, message: str, *, code: str | None = None, **place: Any) -> None:
        # A path or a key can hold a lone surrogate, with which no log line and no answer could be written.
        self.message = _writable(message)
        super().__init__(self.message)
        self.code = self.codes[0] if code is None else code
        self.place: dict[str, Any] = {
            key: _writable(value) if isinstance(value, str) else value for key, value in place.items()
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without ``__init__``, whose arguments are not those of an exception."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


def _writable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


def shown(value: object) -> str:
    """Return at most 80 characters of a value for a message, without writing out all of it."""
    try:
        return _SHORT.repr(value)[:80]
    except Exception:
        # An integer of 5,000 digits has no text, and what a foreign object says of itself may fail.
        return f"a value of {type(value).__name__}"


class InputError(TokdError):
    """The caller's text, ids or options cannot be taken."""


class InvalidUnicode(InputError):
    """The text holds a lone surrogate, which no encoding of Unicode has."""

    codes = ("invalid_unicode",)


class InvalidOption(InputError):
    """An option has a value outside its range."""

    codes = ("invalid_option",)


class InvalidSettings(InvalidOption):
    """A training recipe cannot be followed."""

    codes = ("invalid_settings",)

    @property
    def path(self) -> str:
        """The offending field."""
        return str(self.place.get("field", ""))


class MessageNotRendered(InputError):
    """The chat template writes nothing of a message, of the tools or of the documents."""

    codes = ("message_not_rendered",)


class ReservedLiteral(InputError):
    """The text holds a special token's literal and the caller did not say what it means."""

    codes = ("reserved_literal",)


class RowTooLong(InputError):
    """A row has more tokens than a pack."""

    codes = ("row_too_long",)


class StepLimit(InputError):
    """A regular expression took more steps on this text than it may."""

    codes = ("step_limit",)


class HistoryRewritten(InputError):
    """The chat template writes earlier messages otherwise once later ones follow, so their ids cannot be kept."""

    codes = ("history_rewritten",)


class TemplateFailed(InputError):
    """The chat template refuses these messages, fails on them, or is not a template."""

    codes = ("template_failed",)


class TemplateLimit(InputError):
    """The chat template takes more time or memory on these messages than a chat can need."""

    codes = ("template_limit",)


class TemplateMissing(InputError):
    """The tokenizer has no chat template."""

    codes = ("template_missing",)


class TemplateUntrackable(InputError):
    """The chat template does to these messages what hides who wrote what."""

    codes = ("template_untrackable",)


class TemplateUnsupported(InputError):
    """The chat template uses a construct that is not supported, as is known when it is opened."""

    codes = ("template_unsupported",)


class UncoveredText(InputError):
    """The pattern leaves a part of the text outside every piece; text is never dropped."""

    codes = ("uncovered_text",)


class UnknownTokenId(InputError):
    """No token has this id."""

    codes = ("unknown_token_id",)


class ArtifactError(TokdError):
    """Files that describe a tokenizer cannot be taken."""


class ArtifactNotFound(ArtifactError):
    """There is no artifact or file at this place."""

    codes = ("artifact_not_found",)


class HashMismatch(ArtifactError):
    """A file is not the one that the manifest pins."""

    codes = ("hash_mismatch",)


class InvalidArtifact(ArtifactError):
    """A file is not what its format says."""

    codes = (
        "invalid_file",
        "duplicate_id",
        "duplicate_token",
        "id_conflict",
        "id_out_of_range",
        "invalid_name",
        "invalid_pattern",
        "merge_out_of_vocab",
        "missing_byte",
        "unknown_format",
    )


class Unsupported(ArtifactError):
    """A tokenizer file uses a feature that this package does not have; nothing is ignored."""

    codes = ("unsupported",)


class CorpusError(TokdError):
    """The corpus of a training run cannot be used."""


class CorpusForbidden(CorpusError):
    """A path or a URL leads to where a corpus may not come from."""

    codes = ("path_forbidden", "scheme_forbidden", "address_forbidden")


class CorpusNotFound(CorpusError):
    """There is no such file, or none of a known kind in the directory."""

    codes = ("corpus_not_found",)


class CorpusTooLarge(CorpusError):
    """There is more of a corpus than can be counted."""

    codes = ("corpus_too_large",)


class EmptyCorpus(CorpusError):
    """There is no text at all in the corpus."""

    codes = ("empty_corpus",)


class InvalidCorpus(CorpusError):
    """A file of the corpus is not what its format says."""

    codes = ("invalid_corpus", "invalid_utf8")


class Cancelled(TokdError):
    """A training run was stopped by whoever watched its progress."""

    codes = ("cancelled",)


class ClusterFailed(TokdError):
    """There is no cluster to work on, or it cannot do the work."""

    codes = ("cluster_failed",)


class InternalError(TokdError):
    """A bug of this package: caught at the border of the kernel, reported, never a crash."""

    codes = ("internal",)


def _below(cls: type[TokdError]) -> Iterator[type[TokdError]]:
    for kind in cls.__subclasses__():
        yield kind
        yield from _below(kind)


CLASS_OF_CODE: dict[str, type[TokdError]] = {code: kind for kind in _below(TokdError) for code in kind.codes}
"""The class that carries a code; the kernel raises through this table."""
