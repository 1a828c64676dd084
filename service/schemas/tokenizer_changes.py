"""Bodies of the routes that change what is served."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class AddTokenizerRequest(BaseModel):
    """A tokenizer to serve."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(description="Its name from now on.")
    source: str = Field(
        description="An absolute path below a directory of the setting `tokenizer_roots`, `hf:ORG/NAME[@REVISION]`, or "
        "a reference to a tokenizer of this server, such as a trained one's hash.",
        max_length=4096,
    )


class AliasRequest(BaseModel):
    """What an alias means."""

    model_config = ConfigDict(extra="forbid", strict=True)

    tokenizer: str = Field(description="A name or hash of a tokenizer that is loaded.")
