"""Encode the chats of a corpus, with the ids that are trained on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tokenizer_core.corpus.examples import object_of
from tokenizer_core.corpus.reading import lines_of
from tokenizer_core.errors import InputError, InvalidCorpus
from tokenizer_core.examples import CHAT_FIELDS, Encoded, ExampleEncoder
from tokenizer_core.token_files.layouts.layout import Lengths
from tokenizer_core.token_files.recipe import Chats, Recipe
from tokenizer_core.tokenizer import Tokenizer


class ChatEncoder:
    """Encodes chats where ``DocumentEncoder`` encodes texts.

    Its answers have one part more: for every id one byte, which says whether it is trained on.
    """

    def __init__(self, tokenizer: Tokenizer, recipe: Recipe, chats: Chats) -> None:
        self._recipe, self._chats = recipe, chats
        self._encoder = ExampleEncoder(
            tokenizer, train_on=chats.train_on, eos=False, special_tokens=recipe.special_tokens
        )

    def encode_lines(
        self, data: bytes, field: str, *, first_line: int = 1, first_byte: int = 0
    ) -> tuple[bytes, Lengths, int, list[tuple[int, str]], bytes]:
        """Encode the chats of whole lines; see ``DocumentEncoder``."""
        del field
        return self._all(lines_of(data, first_line, first_byte))

    def encode_texts(self, texts: list[str]) -> tuple[bytes, Lengths, int, list[tuple[int, str]], bytes]:
        """Encode the chats of rows, each as an object of JSON."""
        return self._all((row, text.encode(), 0) for row, text in enumerate(texts))

    def _all(self, lines: Iterable[tuple[int, bytes, int]]) -> tuple[bytes, Lengths, int, list[tuple[int, str]], bytes]:
        shape = self._recipe.shape
        ids: list[bytes] = []
        trained: list[bytes] = []
        lengths: list[int] = []
        skipped: list[tuple[int, str]] = []
        for number, line, byte in lines:
            try:
                encoded = self._encode(line, byte)
            except InvalidCorpus as error:
                if self._recipe.files.on_error == "stop":
                    error.place["row"] = number
                    raise
                skipped.append((number, error.message))
                continue
            ids.append(encoded.ids.astype(shape.stored).tobytes())
            trained.append(encoded.trained.tobytes())
            lengths.append(len(encoded.ids))
        return b"".join(ids), np.array(lengths, np.int64), len(skipped), skipped, b"".join(trained)

    def _encode(self, line: bytes, byte: int) -> Encoded:
        example = object_of(line, byte)
        try:
            encoded = self._encoder.encode(self._named(example))
        except InputError as error:
            field = str(error.place.get("field", ""))
            if field.startswith("messages"):
                field = self._chats.field + field.removeprefix("messages")
            where = f"{field}: " if field else ""
            raise InvalidCorpus(f"{where}{error.message}", code=error.code, field=field) from error
        eos = self._recipe.shape.eos
        if eos is None:
            return encoded
        place = 0 if self._recipe.place == "before" else len(encoded.ids)
        return Encoded(np.insert(encoded.ids, place, eos), np.insert(encoded.trained, place, False))

    def _named(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return what of an object makes a chat."""
        messages = example.get(self._chats.field)
        if messages is None:
            message = f'there is no field "{self._chats.field}"; name that of the chats with messages="ITS_NAME"'
            raise InvalidCorpus(message)
        return {"messages": messages} | {name: example[name] for name in CHAT_FIELDS if name in example}
