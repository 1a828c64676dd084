"""The model of a request to turn ids back into text."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from service.schemas.fields import LEFT_TO_RIGHT, Id, MostIds, MostItems
from service.schemas.requests import INLINE_ITEMS, Example, Request


class DecodeRequest(Request):
    """Ids to turn back into text."""

    ids: Annotated[MostIds[Id] | MostItems[MostIds[Id]], LEFT_TO_RIGHT] = Field(
        description="One list of ids, or a list of lists."
    )
    skip_special_tokens: bool = Field(False, description="Leave the special tokens out.")
    pending: Annotated[str, Field(pattern=r"^([0-9a-fA-F]{2})*$")] | None = Field(
        None,
        description="Decodes a stream without state on the server: send an empty string with the first ids, with all "
        "further ones the `pending` of the answer before. It holds, in hexadecimal, the one to three bytes of a "
        "character that is not complete; of a tokenizer whose decoder works on tokens, all ids so far.",
    )
    final: bool = Field(False, description="With `pending`: these are the last ids; half a character becomes U+FFFD.")

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "one list": Example("ids that every tokenizer has", {"ids": [40, 41, 42]}),
        "a stream": Example("the first ids of a stream", {"ids": [40, 41], "pending": ""}),
        "no id": Example("the place of what is not an id", {"ids": [40, "41"]}, status=422),
    }

    def heavy(self) -> bool:
        """Tell whether there are many lists."""
        return len(self.ids) > INLINE_ITEMS and type(self.ids[0]) is list
