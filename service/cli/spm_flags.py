"""Settings of a training run from a line as ``spm_train`` takes it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from service.cli.streams import CommandError, excerpt
from tokenizer_core import did_you_mean

_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_MODELS = {"unigram": {"model": "unigram"}, "bpe": {"model": "bpe", "style": "sentencepiece"}}
_RULES: dict[str, list[str]] = {"identity": [], "nfkc": ["nfkc"], "nmt_nfkc": ["nmt", "nfkc"]}


def _of(choices: Mapping[str, Any]) -> Callable[[str], Any]:
    """Return what reads one of some words."""

    def read(text: str) -> Any:
        if text.lower() not in choices:
            raise ValueError(f"this is one of {', '.join(choices)}")
        return choices[text.lower()]

    return read


_FLAG = _of(_TRUTH)
_SETTINGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "vocab_size": ("vocab_size", int),
    "character_coverage": ("character_coverage", float),
    "max_sentencepiece_length": ("max_token_length", int),
    "required_chars": ("required_characters", str),
    "normalization_rule_name": ("normalizer", _of(_RULES)),
    "split_by_unicode_script": ("split_by_unicode_script", _FLAG),
    "split_by_number": ("split_by_number", _FLAG),
    "split_digits": ("split_digits", _FLAG),
    "allow_whitespace_only_pieces": ("allow_whitespace_only_pieces", _FLAG),
    "byte_fallback": ("byte_fallback", _FLAG),
    "add_dummy_prefix": ("add_dummy_prefix", _FLAG),
    "remove_extra_whitespaces": ("remove_extra_whitespaces", _FLAG),
}
"""The setting of a flag."""

_OF_UNIGRAM: dict[str, tuple[str, Callable[[str], Any]]] = {
    "seed_sentencepiece_size": ("seed_size", int),
    "shrinking_factor": ("shrinking_factor", float),
    "num_sub_iterations": ("n_sub_iterations", int),
}

_WITHOUT_MEANING = {
    "model_prefix": "--output names the artifact",
    "input_format": "the name of a file says its format, or --format does",
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
}
"""The reason why a flag changes nothing here."""

_ALWAYS = {
    "split_by_whitespace": ("true", "no piece goes over a space"),
    "treat_whitespace_as_suffix": ("false", "a space begins a word"),
    "hard_vocab_limit": ("false", "a vocabulary is smaller where nothing is left to learn, and the report says so"),
    "use_all_vocab": ("false", "the vocabulary is what is learned"),
    "enable_differential_privacy": ("false", "counts are exact"),
}
"""The only value that a flag may have, and the reason."""

_PIECES = {"unk": (0, "<unk>"), "bos": (1, "<s>"), "eos": (2, "</s>"), "pad": (-1, "<pad>")}
"""The id and the literal of each role, as ``spm_train`` has them."""

_SPECIAL = ("control_symbols", *(f"{role}_{part}" for role in _PIECES for part in ("id", "piece")))


def settings_of(line: str) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of a line of flags, and a note for each flag that has no meaning here.

    Raises:
        CommandError: ``invalid_settings`` for a flag that is unknown, or has a value that is not followed.
    """
    given = _read(line)
    settings: dict[str, Any] = {"vocab_size": 8000, "normalizer": _RULES["nmt_nfkc"]}
    settings |= _value("model_type", given.pop("model_type", "unigram"), _of(_MODELS))
    known = _SETTINGS | _OF_UNIGRAM
    specials, notes = dict[str, str](), []
    for name, value in given.items():
        if name in _OF_UNIGRAM and settings["model"] != "unigram":
            notes.append(f"--{name} has no meaning here: it is of unigram")
        elif name in known:
            setting, read = known[name]
            settings[setting] = _value(name, value, read)
        elif name == "input":
            settings["corpus"] = {"paths": _listed(value), "format": "text"}
        elif name in _SPECIAL:
            specials[name] = value
        elif name in _WITHOUT_MEANING:
            notes.append(f"--{name} has no meaning here: {_WITHOUT_MEANING[name]}")
        elif name in _ALWAYS:
            only, why = _ALWAYS[name]
            if _value(name, value, _FLAG) != _TRUTH[only]:
                raise _wrong(name, f"only {only} is followed: {why}")
        else:
            raise _wrong(name, f"this flag is not followed{did_you_mean(name, (*known, *_WITHOUT_MEANING))}")
    if not settings["normalizer"]:
        notes.append("a line break is a character here; only the rule nmt_nfkc makes it a space")
    return settings | _special_tokens(specials), notes


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
    """Return the special tokens in the order of their ids, which begin with 0, and the roles of them."""
    ids = {role: _value(f"{role}_id", given.get(f"{role}_id", str(id)), int) for role, (id, _) in _PIECES.items()}
    literals = {role: given.get(f"{role}_piece", literal) for role, (_, literal) in _PIECES.items()}
    by_id = sorted((id, role) for role, id in ids.items() if id >= 0)
    if [id for id, _ in by_id] != list(range(len(by_id))) or ids["unk"] < 0:
        raise _wrong("unk_id", "the special pieces have the first ids, without holes, and unk is one of them")
    ordered = [literals[role] for _, role in by_id]
    roles = {role: literals[role] for _, role in by_id}
    return roles | {"special_tokens": ordered + _listed(given.get("control_symbols", ""))}


def _listed(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _value(name: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(text)
    except ValueError as error:
        raise _wrong(name, str(error)) from None


def _wrong(name: str, message: str) -> CommandError:
    return CommandError("invalid_settings", f"--spm-flags: {excerpt(name)}: {message}", status=2)
