"""Response templates: how a model's answer is written, in the form of transformers 5.24."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, Self

from tokenizer_core import _kernel
from tokenizer_core.errors import InvalidOption

Origin = Literal["shipped", "derived"]


class ResponseTemplate:
    """A checked ``response_template``; immutable, safe to share between threads.

    Attributes:
        spec: the JSON object.
        origin: ``"shipped"`` with the model, or by the caller; ``"derived"`` from the chat template.
        notes: what could not be derived.

    Raises:
        InvalidOption: a key or a value that is not known, at its place.
        InvalidArtifact: an expression that does not compile, or is not supported.
    """

    def __init__(self, spec: Mapping[str, Any], origin: Origin = "shipped", notes: tuple[str, ...] = ()) -> None:
        self.spec, self.origin, self.notes = dict(spec), origin, notes
        self.engine = _read(json.dumps(self.spec, ensure_ascii=False))

    @classmethod
    def of(cls, template: Self | Mapping[str, Any]) -> Self:
        """Return a template, checked first if it is JSON.

        Raises:
            InvalidOption, InvalidArtifact
        """
        if isinstance(template, cls):
            return template
        if not isinstance(template, Mapping):
            raise InvalidOption("response_template is an object", field="response_template")
        return cls(template)


@lru_cache(maxsize=64)
def _read(spec: str) -> _kernel.ResponseTemplate:
    return _kernel.ResponseTemplate(spec)
