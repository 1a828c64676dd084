"""Added tokens: read from a list, checked against the vocabulary, and refused where a format would lose them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokenizer_core.arguments import holds_surrogate, whole_number
from tokenizer_core.config import ADDED_TOKEN_FLAGS, AddedToken, PipelineConfig, TokenizerParts
from tokenizer_core.errors import InvalidArtifact, InvalidOption, Unsupported
from tokenizer_core.formats.fields import Fields, identifier
from tokenizer_core.stages import Model

if TYPE_CHECKING:
    from tokenizer_core._kernel import Vocabulary


_BYTES = frozenset(f"<0x{byte:02X}>" for byte in range(256))


def read_added_token(value: object, path: str, *, id: int | None = None) -> AddedToken:
    """Read one of Hugging Face's added tokens, whose id may stand outside it; every flag must be there."""
    fields = Fields(value, path)
    number = identifier(fields.any("id"), fields.at("id")) if id is None else id
    content = fields.take("content", str)
    flags = {flag: fields.take(flag, bool) for flag in ADDED_TOKEN_FLAGS}
    fields.finish()
    return AddedToken(id=number, content=content, **flags)


def special(literals: Mapping[str, int] | None) -> tuple[AddedToken, ...]:
    """Make special tokens of literals and ids, if there are any."""
    if literals is None:
        return ()
    given: Any = literals
    if not isinstance(given, Mapping) or not all(isinstance(literal, str) for literal in given):
        raise InvalidOption("special_tokens is a mapping of literals to their ids", field="special_tokens")
    for index, literal in enumerate(literals):
        if holds_surrogate(literal):
            raise InvalidArtifact(
                "the literal holds a lone surrogate, which no text does", field=f"added_tokens[{index}].content"
            )
    return tuple(
        AddedToken(id=_number(id, f"added_tokens[{index}].id"), content=literal, special=True)
        for index, (literal, id) in enumerate(literals.items())
    )


def _number(value: object, path: str) -> int:
    """Return an id that a caller gives, also as one of NumPy's integers."""
    number = whole_number(value)
    return identifier(value if number is None else number, path)


def reserve(
    vocabulary: Vocabulary, tokens: Sequence[AddedToken], *, ignore_merges: bool = False, byte_fallback: bool = False
) -> Vocabulary:
    """Check the tokens, in the order of their file, and leave out the entries that are only their literals.

    Where pieces are taken whole (``ignore_merges``) text becomes an entry of a token that is not special also where its
    literal does not match, as behind a normalizer, so that it is more than a literal. So are the entries of bytes
    (``byte_fallback``), which unknown characters become.
    """
    kept = {token.id for token in tokens if ignore_merges and not token.special}
    if byte_fallback:
        kept |= {token.id for token in tokens if token.content in _BYTES}
    return vocabulary.reserve([(token.id, token.content) for token in tokens], kept)


def reserved(parts: TokenizerParts) -> TokenizerParts:
    """Return parts that somebody put together as readers of files return them: see ``reserve``."""
    config = parts.config
    vocabulary = reserve(
        parts.vocabulary,
        config.added_tokens,
        ignore_merges=config.ignore_merges,
        byte_fallback=has_byte_fallback(config.model),
    )
    return dataclasses.replace(parts, vocabulary=vocabulary)


def has_byte_fallback(model: Model) -> bool:
    """Tell whether unknown characters become the entries of their bytes."""
    return model.type in ("char_bpe", "unigram", "symbols") and bool(model.byte_fallback)


def given_ids(
    entries: int, tokens: Iterable[AddedToken], is_entry: Callable[[AddedToken], bool]
) -> Iterator[tuple[int, AddedToken, set[int]]]:
    """Yield which ids Hugging Face gives the tokens that are not entries, whatever their file says.

    Version 0.23 counts on from the number of entries, those before it also from the highest id of an added token.

    Args:
        entries: how many entries the vocabulary has.
        tokens: in the order of the file.

    Returns:
        The place of each token that is not an entry, the token, and the ids that the versions give it.
    """
    highest, outside = -1, 0
    for index, token in enumerate(tokens):
        if not is_entry(token):
            yield index, token, {entries + outside, max(entries, highest + 1)}
            outside += 1
        highest = max(highest, token.id)


def check_numbers(entries: Vocabulary, count: int, added: Sequence[AddedToken]) -> None:
    """Refuse ids of added tokens that Hugging Face, which counts so many entries, would not take from the file."""
    for index, token, given in given_ids(count, added, lambda token: entries.token_bytes(token.id) is not None):
        if token.id not in given:
            raise InvalidArtifact(
                f"the file gives {token.content[:80]!r} the id {token.id}, and Hugging Face the id {min(given)}: it "
                "numbers what is not in the vocabulary in the order of the file; put it there, or give it that id",
                code="id_conflict",
                field=f"added_tokens[{index}].id",
            )


def require_bare(config: PipelineConfig, format: str) -> None:
    """Refuse what a format of a vocabulary alone would lose: tokens round a text, and how added tokens are found.

    Raises:
        Unsupported: with the field.
    """
    if config.prefix_ids or config.suffix_ids:
        raise Unsupported(
            f"{format} puts no special tokens round a text; export to huggingface", field="post_processor"
        )
    for token in config.added_tokens:
        if not token.special or token.lstrip or token.rstrip or token.single_word or token.normalized:
            raise Unsupported(
                f"{format} has only special tokens without flags, and {token.content!r} is another; "
                "export to huggingface",
                field=f"added_tokens[{token.content!r}]",
            )
