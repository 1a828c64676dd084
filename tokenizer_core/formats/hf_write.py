"""Write Hugging Face's layout, from which ``tokenizers`` and ``transformers`` give the same ids."""

from __future__ import annotations

import json
from typing import Any

from tokenizer_core.config import AddedToken, PipelineConfig, Settings, TokenizerParts
from tokenizer_core.errors import Unsupported
from tokenizer_core.formats.added import given_ids
from tokenizer_core.formats.hf_configs import GENERATION
from tokenizer_core.formats.hf_decoders import write_decoder
from tokenizer_core.formats.hf_models import write_model
from tokenizer_core.formats.hf_roles import LISTS, OTHER_ROLES, ROLES
from tokenizer_core.formats.hf_stages import (
    NORMALIZERS,
    PRETOKENIZERS,
    write_byte_level,
    write_frames,
    write_stage,
)
from tokenizer_core.formats.sentencepiece import MODEL
from tokenizer_core.frame import frame_of, pair_frame_of
from tokenizer_core.stages import Normalizer, Pattern, Pretokenizer

_GPT2 = Pretokenizer("split", pattern=Pattern("name", "gpt2"))


def render(parts: TokenizerParts) -> dict[str, bytes]:
    """Write every file of the layout; the same tokenizer always gives the same bytes.

    A SentencePiece model stays the file that it is, which ``tokenizer.json`` could say only nearly.

    Raises:
        Unsupported: a pipeline that the layout cannot say.
    """
    model = parts.sentencepiece
    first = {"tokenizer.json": _compact(_tokenizer(parts))} if model is None else {MODEL: model}
    return {**first, **_beside(parts)}


def _beside(parts: TokenizerParts) -> dict[str, bytes]:
    settings = parts.settings
    rendered = {
        "tokenizer_config.json": _pretty(_tokenizer_config(parts)),
        "special_tokens_map.json": _pretty(_tokens_map(settings)),
    }
    if settings.generation:
        rendered[GENERATION] = _pretty({key: json.loads(text) for key, text in settings.generation})
    if settings.chat_template is not None and not settings.named_templates:
        rendered["chat_template.jinja"] = settings.chat_template.encode()
    return rendered


def _tokenizer(parts: TokenizerParts) -> dict[str, Any]:
    config = parts.config
    entries = parts.vocabulary.token_texts()
    texts = {id: entry for entry, id in entries}
    vocab = dict(entries)
    if len(vocab) != len(entries):
        raise Unsupported("two tokens have the same bytes, and tokenizer.json has no way to say that", field="vocab")
    outside = list(given_ids(len(vocab), config.added_tokens, lambda token: token.content in vocab))
    # The unknown token is looked up among the entries.
    unk = getattr(config.model, "unk", None)
    if any(given != {token.id} or token.id == unk for _, token, given in outside):
        vocab |= {token.content: token.id for _, token, _ in outside}
        vocab = dict(sorted(vocab.items(), key=lambda item: item[1]))
    texts |= {token.id: token.content for token in config.added_tokens}
    pairs = [(texts[left], texts[right]) for left, right, _ in parts.vocabulary.merge_ids()]
    merges: list[Any] = [f"{left} {right}" for left, right in pairs]
    # A string that begins with #version is a header to readers, which skip it.
    if any(merge.count(" ") != 1 or merge.startswith("#version") for merge in merges):
        merges = [list(pair) for pair in pairs]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": token.id, **_added(token)} for token in config.added_tokens],
        "normalizer": _sequence([_normalizer(stage) for stage in config.normalizer], "normalizers"),
        "pre_tokenizer": _pre_tokenizer(config),
        "post_processor": _post_processor(config, parts.settings, texts),
        "decoder": _decoder(config),
        "model": write_model(
            config.model,
            vocab,
            merges,
            texts,
            scores=parts.vocabulary.scores(),
            ignore_merges=config.ignore_merges,
            unk=parts.settings.unk,
        ),
    }


def _decoder(config: PipelineConfig) -> dict[str, Any] | None:
    if config.model.is_byte_bpe:
        return write_byte_level(add_prefix_space=True, use_regex=True)
    if not config.decoder:
        return {"type": "Sequence", "decoders": []}
    return _sequence(write_decoder(config.decoder), "decoders")


def _added(token: AddedToken) -> dict[str, Any]:
    return {"content": token.content, **token.flags}


def _sequence(stages: list[dict[str, Any]], list_key: str) -> dict[str, Any] | None:
    if len(stages) > 1:
        return {"type": "Sequence", list_key: stages}
    return stages[0] if stages else None


def _normalizer(stage: Normalizer) -> dict[str, Any]:
    if (written := write_stage(stage, NORMALIZERS)) is None:
        message = "tokenizer.json cannot say how SentencePiece normalizes; the artifact holds tokenizer.model itself"
        raise Unsupported(message, field="normalizer")
    return written


def _pre_tokenizer(config: PipelineConfig) -> dict[str, Any] | None:
    stages = list(config.pretokenizer)
    use_regex = bool(stages) and stages[-1] == _GPT2
    if use_regex:
        stages.pop()
    is_text = not config.model.is_byte_bpe
    if config.prefix_space and (is_text or stages):
        raise Unsupported(
            "tokenizer.json cannot put a space before the text with this pretokenizer, only with gpt2's or none",
            field="prefix_space",
        )
    if is_text:
        return _sequence([*map(_cut, config.pretokenizer)], "pretokenizers")
    byte_level = write_byte_level(add_prefix_space=config.prefix_space, use_regex=use_regex)
    return _sequence([*map(_cut, stages), byte_level], "pretokenizers")


def _cut(stage: Pretokenizer) -> dict[str, Any]:
    if stage.type == "byte_level":
        return write_byte_level(add_prefix_space=stage.prefix_space, use_regex=False)
    written = write_stage(stage, PRETOKENIZERS)
    assert written is not None
    return written


def _post_processor(config: PipelineConfig, settings: Settings, texts: dict[int, str]) -> dict[str, Any] | None:
    single, pair = frame_of(config, settings), pair_frame_of(config, settings)
    if single == (("A", 0),) and settings.pair_template is None:
        return None
    return write_frames(single, pair, texts)


def _tokenizer_config(parts: TokenizerParts) -> dict[str, Any]:
    config, settings = parts.config, parts.settings
    written: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    written |= {key: json.loads(text) for key, text in settings.extra}
    written |= _roles(settings)
    if config.model.is_byte_bpe:
        # Of other models transformers would make the tokenizer anew because of it.
        written["add_prefix_space"] = config.prefix_space
    written |= {
        "added_tokens_decoder": {str(token.id): _added(token) for token in config.added_tokens},
        "padding_side": settings.padding_side,
        "truncation_side": settings.truncation_side,
    }
    if settings.model_max_length is not None:
        written["model_max_length"] = settings.model_max_length
    if settings.named_templates:
        default = [] if settings.chat_template is None else [("default", settings.chat_template)]
        named = [*default, *settings.named_templates]
        written["chat_template"] = [{"name": name, "template": template} for name, template in named]
    return written


def _tokens_map(settings: Settings) -> dict[str, Any]:
    others = {key: json.loads(text) for key, text in settings.extra if key in (*OTHER_ROLES, *LISTS)}
    return _roles(settings) | others


def _roles(settings: Settings) -> dict[str, str]:
    literals = {role: getattr(settings, role) for role in ROLES}
    return {f"{role}_token": literal for role, literal in literals.items() if literal is not None}


def _compact(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _pretty(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False).encode() + b"\n"
