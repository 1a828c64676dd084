"""Models of ``POST /pack``."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from service.schemas.answers import Answer
from service.schemas.fields import MostItems, Object, Part, SpecialTokens
from service.schemas.requests import Example, Request
from tokenizer_core import MAX_LENGTH, Method, Overflow, TrainedOn


class PackRequest(Request):
    """Examples that are put together into packs."""

    examples: MostItems[Object] = Field(
        description="Each with `messages` (and `tools`, `documents`, `chat_template_kwargs`), with `prompt` and "
        "`completion` (texts or messages), with `text`, or with `input_ids` (and `labels`)."
    )
    length: Annotated[int, Field(ge=1, le=MAX_LENGTH)] = Field(description="The most tokens of a pack.")
    method: Method = Field(
        "best-fit", description="Each example whole where it fits best, all end to end (`wrapped`), or each alone."
    )
    overflow: Overflow = Field("error", description="What becomes of an example that is longer than a pack.")
    align: Annotated[int, Field(ge=1, le=MAX_LENGTH)] = Field(1, description="Examples begin at multiples of it.")
    pad: bool = Field(False, description="Fill every pack up to its length with the pad token.")
    seed: Annotated[int, Field(ge=0, lt=1 << 64)] | None = Field(
        None, description="Shuffle the packs; by default they stand in the order of their first examples."
    )
    train_on: TrainedOn | None = Field(
        None, description="What is trained on; by default what the assistant says, completions, and all of the rest."
    )
    eos: bool = Field(True, description="End texts and completions with the end-of-text token.")
    add_special_tokens: bool = Field(False, description="Put the tokenizer's own before texts and prompts.")
    special_tokens: SpecialTokens = Field("reject", description="What the literal of a special token means.")

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "two in one": Example(
            "a text and a prompt with its completion in one pack",
            {"examples": [{"text": "Hello"}, {"prompt": "1 + 1 =", "completion": " 2"}], "length": 16},
        ),
        "too long": Example(
            "an example that is longer than a pack", {"examples": [{"text": "Hello, world"}], "length": 2}, status=422
        ),
    }

    def heavy(self) -> bool:
        """Tell that it leaves the event loop: it encodes a list of examples, of which each may be a chat."""
        return True


class Pack(Part):
    """A pack, whose lists a trainer takes as they are."""

    input_ids: list[int]
    labels: list[int] = Field(description="The id to learn or -100, without a shift; never the first of an example.")
    position_ids: list[int] = Field(description="From 0 on in each example.")
    seq_lengths: list[int] = Field(description="The tokens of each example, padding included.")
    cu_seqlens: list[int] = Field(description="Where the examples begin, and the end.")
    source_rows: list[int] = Field(description="Which of the examples it is; -1 is padding alone.")


class PackAnswer(Answer):
    """The packs, and what became of the examples."""

    packs: list[Pack]
    tokens: int = Field(description="Tokens of all packs without padding.")
    trained: int = Field(description="Labels that are not -100. With none of them there is nothing to learn.")
    full: float = Field(description="The share of the packs that is not padding or missing.")
    split: int = Field(description="Examples that were cut into parts.")
    truncated: int = Field(description="Examples that lost their end.")
    dropped: int = Field(description="Examples that were left out.")
    empty: int = Field(description="Examples without a token.")
    tokens_lost: int = Field(description="Tokens of truncated and dropped examples that are in no pack.")
