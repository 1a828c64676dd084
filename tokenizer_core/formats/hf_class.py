"""The class of transformers that reads a tokenizer's files: where a file says less than the class adds, it decides."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tokenizer_core.errors import Unsupported
from tokenizer_core.formats import files
from tokenizer_core.formats.fields import Fields
from tokenizer_core.formats.hf_roles import CONFIG, load

MODEL_CONFIG = "config.json"
"""The model's own configuration, which names the class where the tokenizer's does not."""

BERT = (
    *("Bert", "ConvBert", "DistilBert", "DPRContextEncoder", "DPRQuestionEncoder", "Electra", "LayoutLM", "Lxmert"),
    *("MobileBert", "RetriBert", "SqueezeBert"),
)
"""Classes, without ``Tokenizer``, that are ``BertTokenizer`` by another name."""


def with_class(
    beside: Mapping[str, bytes], model_config: bytes | None, by_model: Mapping[str, str]
) -> dict[str, bytes]:
    """Write the class into the tokenizer's configuration, if only the model's names it.

    Args:
        by_model: classes, without ``Tokenizer``, by ``model_type``.

    Raises:
        Unsupported: the tokenizer of this model is not known.
    """
    found = dict(beside)
    config = files.parse_json(beside.get(CONFIG, b"{}"), CONFIG)
    if model_config is None or not isinstance(config, dict) or config.get("tokenizer_class") is not None:
        return found
    model = load({MODEL_CONFIG: model_config}, MODEL_CONFIG)
    named, kind = model.peek("tokenizer_class"), model.peek("model_type")
    if not isinstance(named, str):
        if not isinstance(kind, str):
            return found
        if kind not in by_model:
            raise Unsupported(
                f"{MODEL_CONFIG} is of the model {kind[:80]!r}, and it is not known whether its tokenizer does more "
                f"than these files say; use its tokenizer.json, or name the tokenizer_class in {CONFIG}",
                field=f"{MODEL_CONFIG}.model_type",
            )
        named = f"{by_model[kind]}Tokenizer"
    found[CONFIG] = json.dumps({**config, "tokenizer_class": named}, ensure_ascii=False).encode()
    return found


def is_bert(config: Fields) -> bool:
    """Tell whether the class that a configuration names is BERT's."""
    return name_of_class(config) in BERT


def name_of_class(config: Fields) -> str:
    """Return the class that a configuration names, without the ending that all have."""
    return str(config.peek("tokenizer_class")).removesuffix("Fast").removesuffix("Tokenizer")
