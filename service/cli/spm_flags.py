"""Settings of a training run from a line as ``spm_train`` takes it."""

from __future__ import annotations

import csv
import io
import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from service.cli.streams import CommandError, decode_utf8, excerpt, read_file
from tokenizer_core import did_you_mean

_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_MODELS = {
    "unigram": {"model": "unigram"},
    "bpe": {"model": "bpe", "style": "sentencepiece"},
    "word": {"model": "word", "style": "sentencepiece"},
    "char": {"model": "character", "style": "sentencepiece"},
}
_RULES: dict[str, list[str]] = {
    "identity": [],
    "nfkc": ["nfkc"],
    "nmt_nfkc": ["nmt", "nfkc"],
    "nfkc_cf": ["nfkc", "casefold"],
    "nmt_nfkc_cf": ["nmt", "nfkc", "casefold"],
}
_ALL = tuple(_MODELS)
_OF_PIECES = ("unigram", "bpe")
_MOST = 1 << 22
"""The largest vocabulary that there is: all words."""


def _of(choices: Mapping[str, Any]) -> Callable[[str], Any]:
    """Return what reads one of some words."""

    def read(text: str) -> Any:
        if text.lower() not in choices:
            raise ValueError(f"this is one of {', '.join(choices)}")
        return choices[text.lower()]

    return read


_FLAG = _of(_TRUTH)
_SETTINGS: dict[str, tuple[str, Callable[[str], Any], tuple[str, ...]]] = {
    "vocab_size": ("vocab_size", int, _ALL),
    "hard_vocab_limit": ("hard_vocab_limit", _FLAG, _ALL),
    "normalization_rule_name": ("normalizer", _of(_RULES), _ALL),
    "byte_fallback": ("byte_fallback", _FLAG, _ALL),
    "add_dummy_prefix": ("add_dummy_prefix", _FLAG, _ALL),
    "remove_extra_whitespaces": ("remove_extra_whitespaces", _FLAG, _ALL),
    "treat_whitespace_as_suffix": ("treat_whitespace_as_suffix", _FLAG, _ALL),
    "character_coverage": ("character_coverage", float, (*_OF_PIECES, "char")),
    "required_chars": ("required_characters", str, (*_OF_PIECES, "char")),
    "max_sentencepiece_length": ("max_token_length", int, _OF_PIECES),
    "split_by_whitespace": ("split_by_whitespace", _FLAG, _OF_PIECES),
    "split_by_unicode_script": ("split_by_unicode_script", _FLAG, _OF_PIECES),
    "split_by_number": ("split_by_number", _FLAG, _OF_PIECES),
    "split_digits": ("split_digits", _FLAG, _OF_PIECES),
    "allow_whitespace_only_pieces": ("allow_whitespace_only_pieces", _FLAG, _OF_PIECES),
    "seed_sentencepiece_size": ("seed_size", int, ("unigram",)),
    "shrinking_factor": ("shrinking_factor", float, ("unigram",)),
    "num_sub_iterations": ("n_sub_iterations", int, ("unigram",)),
}
"""The setting of a flag, and the types of models that have it."""

_WITHOUT_MEANING = {
    "model_prefix": "--output names the artifact",
    "max_sentence_length": "no line is left out for its length",
    "input_sentence_size": "all text is read; name fewer files to read less",
    "shuffle_input_sentence": "the order of the text changes nothing",
    "num_threads": "--threads sets them, and they change nothing",
    "train_extremely_large_corpus": "counts have 64 bits for every corpus",
    "self_test_sample_size": "tokd check audits the artifact",
    "vocabulary_output_piece_score": "scores stand in tokenizer.json",
    "accept_language": "it changes no piece",
    "random_seed": "nothing is drawn",
    "minloglevel": "--json prints the report alone",
    "unk_surface": "it changes no id; unknown text is decoded to the unknown token",
    "differential_privacy_noise_level": "counts are exact",
    "differential_privacy_clipping_threshold": "counts are exact",
}
"""The reason why a flag changes nothing here."""

_ALWAYS = {
    "input_format": ("text", "--format and the name of a file say another one"),
    "enable_differential_privacy": ("false", "counts are exact"),
    "normalization_rule_tsv": ("", "rules are those of normalization_rule_name, or the setting normalizer"),
    "denormalization_rule_tsv": ("", "no text is rewritten when it is decoded"),
    "pretokenization_delimiter": ("", "words are cut at spaces; set a space between them"),
    "seed_sentencepieces_file": ("", "the first pieces are those of the corpus"),
}
"""The only value that a flag may have, and the reason."""

_PIECES = {"unk": (0, "<unk>"), "bos": (1, "<s>"), "eos": (2, "</s>"), "pad": (-1, "<pad>")}
"""The id and the literal of each role, as ``spm_train`` has them."""

_SYMBOLS = ("control_symbols", "user_defined_symbols")
_SPECIAL = (*_SYMBOLS, *(f"{role}_{part}" for role in _PIECES for part in ("id", "piece")))
_FILES = {f"{name}_file": name for name in (*_SYMBOLS, "required_chars")}
"""The flag whose value stands in a file."""


def settings_of(line: str) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of a line of flags, and a note for each flag that has no meaning here.

    Raises:
        CommandError: ``invalid_settings`` for a flag that is unknown, or has a value that is not followed.
    """
    given = _with_files(_read(line))
    settings: dict[str, Any] = {"vocab_size": 8000, "normalizer": _RULES["nmt_nfkc"]}
    kind = given.pop("model_type", "unigram").lower()
    settings |= _value("model_type", kind, _of(_MODELS))
    specials, notes = dict[str, str](), []
    for name, value in given.items():
        if name in _SETTINGS:
            setting, read, models = _SETTINGS[name]
            if kind in models:
                settings[setting] = _value(name, value, read)
            else:
                notes.append(f"--{name} has no meaning here: it is of {' and '.join(models)}")
        elif name == "use_all_vocab" and kind in ("word", "char"):
            settings |= {"vocab_size": _MOST} if _value(name, value, _FLAG) else {}
        elif name == "use_all_vocab":
            notes.append(f"--{name} has no meaning here: it is of word and char")
        elif name == "input":
            settings["corpus"] = {"paths": _listed(value), "format": "text"}
        elif name in _SPECIAL:
            specials[name] = value
        elif name in _WITHOUT_MEANING:
            notes.append(f"--{name} has no meaning here: {_WITHOUT_MEANING[name]}")
        elif name in _ALWAYS:
            only, why = _ALWAYS[name]
            if (_TRUTH.get(value.lower(), value)) != _TRUTH.get(only, only):
                raise _wrong(name, f"only {only or 'nothing'} is followed: {why}")
        else:
            raise _wrong(name, f"this flag is not followed{did_you_mean(name, (*_SETTINGS, *_WITHOUT_MEANING))}")
    if settings.get("remove_extra_whitespaces", True) and settings.pop("allow_whitespace_only_pieces", False):
        notes.append(
            "--allow_whitespace_only_pieces has no meaning here: spaces are joined, and none of several is left"
        )
    if "nmt" not in settings["normalizer"] and settings.get("split_by_whitespace", True):
        notes.append("a line break is a character here; only the rules with nmt make it a space")
    settings |= _special_tokens(specials)
    for role in ("bos", "eos", "pad"):
        if specials.get(f"{role}_piece", _PIECES[role][1]) in settings.get("user_defined_symbols", ()):
            notes.append(f"--{role}_piece has no meaning here: text becomes it, for it is among user_defined_symbols")
    return settings, notes


def _with_files(given: dict[str, str]) -> dict[str, str]:
    """Put what files hold, one symbol a line, in the place of their names."""
    for flag, name in _FILES.items():
        if file := given.pop(flag, ""):
            lines = decode_utf8(read_file(file), file).splitlines()
            given[name] = (
                "".join(lines) if name == "required_chars" else _joined([*_listed(given.get(name, "")), *lines])
            )
    return given


def _read(line: str) -> dict[str, str]:
    """Return the values by flag; a flag without a value is true."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise CommandError("invalid_settings", f"--spm-flags: {str(error).lower()}", status=2) from None
    given: dict[str, str] = {}
    while words:
        name, is_set, value = words.pop(0).partition("=")
        if not name.startswith("--"):
            raise _wrong(name, "a flag begins with --")
        if not is_set:
            value = words.pop(0) if words and not words[0].startswith("--") else "true"
        given[name.removeprefix("--")] = value
    return given


def _special_tokens(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the special tokens and the symbols in the order of their ids, and the roles of them.

    Roles have the ids that are asked for; control symbols and then those of the user have the lowest others.
    """
    ids = {role: _value(f"{role}_id", given.get(f"{role}_id", str(id)), int) for role, (id, _) in _PIECES.items()}
    roles = {role: given.get(f"{role}_piece", literal) for role, (_, literal) in _PIECES.items() if ids[role] >= 0}
    by_id = {ids[role]: literal for role, literal in roles.items()}
    if "unk" not in roles or len({*by_id.values()}) < len(roles):
        raise _wrong("unk_id", "unk has an id, and each role an id and a piece of its own")
    control, own = (_listed(given.get(name, "")) for name in _SYMBOLS)
    if twice := [symbol for symbol, count in Counter([*control, *own, roles["unk"]]).items() if count > 1]:
        raise _wrong("user_defined_symbols", f"{twice[0]!r} stands twice among the symbols and the unknown piece")
    free = (id for id in range(len(by_id) + len(control) + len(own)) if id not in by_id)
    others = [symbol for symbol in (*control, *own) if symbol not in roles.values()]
    by_id |= dict(zip(free, others, strict=False))
    ordered = [literal for _, literal in sorted(by_id.items())]
    if sorted(by_id) != list(range(len(by_id))):
        raise _wrong("unk_id", "the special pieces and symbols have the first ids, and no learned piece is among them")
    while ordered[-1] in own:
        ordered.pop()
    # Text becomes a symbol of the user, so that it can mark nothing.
    roles = {role: literal for role, literal in roles.items() if literal not in own}
    return roles | {"special_tokens": ordered} | ({"user_defined_symbols": own} if own else {})


def _listed(text: str) -> list[str]:
    try:
        return [word for row in csv.reader([text]) for word in row if word]
    except csv.Error:
        raise _wrong(
            text, f"a list has no line break, and no word of more than {csv.field_size_limit()} bytes"
        ) from None


def _joined(words: list[str]) -> str:
    row = io.StringIO()
    csv.writer(row, lineterminator="").writerow(words)
    return row.getvalue()


def _value(name: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(text)
    except ValueError as error:
        raise _wrong(name, str(error)) from None


def _wrong(name: str, message: str) -> CommandError:
    return CommandError("invalid_settings", f"--spm-flags: {excerpt(name)}: {message}", status=2)
