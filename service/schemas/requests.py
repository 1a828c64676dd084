"""Models of request bodies.

Requests are strict: ``"7"``, ``1.0`` and ``true`` are not ids, and an unknown field is an error. Of two equal keys in
one object the last counts, as in every JSON reader of Python.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from service.schemas.block_hashes import BLOCK_HASHES
from service.schemas.fields import (
    LEFT_TO_RIGHT,
    MAX_POSITION,
    MAX_SEED,
    Id,
    MostIds,
    MostItems,
    Object,
    SpecialTokens,
    drop_default,
)
from service.schemas.inline import INLINE_ITEMS, INLINE_PAIRS, INLINE_SHAPED, INLINE_WIDTH
from service.schemas.parts import PARTS, PLAIN, PartName
from service.schemas.since import SINCE, Since
from tokenizer_core import MAX_NBEST, JsonList, Padding, RewrittenHistory, Side, Truncation

CHAT_LISTS = ("messages", "tools", "documents")


class Example(NamedTuple):
    """A request body of the documentation, and the status it is answered with; the tests post every one."""

    summary: str
    body: dict[str, Any]
    status: int = 200


_NOT_SENT: Any = None
"""The value of a field that may be missing and is never null."""


class RequestBody(BaseModel):
    """A body that a caller sends, to a route of ours or to one that speaks as another server does."""

    model_config = ConfigDict(strict=True, frozen=True)

    EXAMPLES: ClassVar[dict[str, Example]] = {}

    LISTS: ClassVar[tuple[str, ...]] = ()
    """Fields with lists of objects that stay JSON (``JsonList``), since the kernel alone reads them."""

    CHATS: ClassVar[str] = ""
    """The field with a chat or chats to render."""

    def heavy(self) -> bool:
        """Tell whether a small body asks for work that does not belong on the event loop."""
        return False

    def weight(self) -> int:
        """Return how many large requests it counts as, where it is heavy."""
        return 1

    def cut_by(self) -> tuple[str | None, ...]:
        """Return the references or models of the tokenizers that cut texts of this request."""
        return ()

    def renders(self) -> bool:
        """Tell whether there are chats: their template is a program, which may take long."""
        return self.CHATS != "" and getattr(self, self.CHATS) is not None

    def renders_little(self) -> bool:
        """Tell whether the chats of a small body are few, and little is to be made of them."""
        return self.CHATS == "" or is_one(getattr(self, self.CHATS))


_SUBJECT = ("text", "text_pair", "words", "messages", "ids")


def _tell_first_what_it_is_about(schema: dict[str, Any]) -> None:
    fields = schema["properties"]
    schema["properties"] = {name: fields[name] for name in sorted(fields, key=lambda name: name not in _SUBJECT)}


class Request(RequestBody):
    """A body of a route of ours: it names a tokenizer and holds nothing unknown."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_tell_first_what_it_is_about)

    tokenizer: str | None = Field(
        None,
        description="Which tokenizer: a name, a hash (`sha256:` and 64 digits), `name@hash`, or the name of a model "
        "in this server's settings. There is a default.",
    )


class TextRequest(Request):
    """A body with text to encode, or with chats in its place."""

    CHATS = "messages"

    text: Annotated[str | MostItems[str], LEFT_TO_RIGHT] = Field(
        _NOT_SENT,
        json_schema_extra=drop_default,
        description="One text, or a list of texts: then every field of the answer is a list with one entry a text.",
    )
    text_pair: Annotated[str | MostItems[str] | None, LEFT_TO_RIGHT] = Field(
        None,
        description="The second text of a pair, as rerankers and cross-encoders take it: one for one `text`, a list "
        "for a list. Both stand in one row, in the tokenizer's frame for pairs. `/encode` also takes a list beside one "
        "`text`, such as a query, which stands in each row.",
    )
    messages: Annotated[MostItems[Object] | MostItems[MostItems[Object]] | None, LEFT_TO_RIGHT] = Field(
        None,
        description="In place of `text`: one chat, or a list of chats. In chats `special_tokens` is `text` by default, "
        "`parse` is taken only if this server's settings allow it, and `add_special_tokens` is false: the template "
        "writes its own.",
    )
    special_tokens: SpecialTokens = Field(
        "reject",
        description="What the literal of a special token inside the text means: `reject` refuses the request, `text` "
        "encodes it as ordinary text, `parse` makes it the token it names.",
    )
    add_special_tokens: bool = Field(
        True, description="Put what the tokenizer puts around a text. The library's `encode` does not by default."
    )

    def heavy(self) -> bool:
        """Tell whether there are many texts, or much is to be made of them."""
        if self.messages is not None or self.text is None:
            return False
        texts = [self.text] if isinstance(self.text, str) else self.text
        most, size = INLINE_ITEMS, sum(map(len, texts)) if self.asks_more() or self.text_pair is not None else 0
        if self.text_pair is not None:
            most, size = INLINE_PAIRS, size + sum(map(len, self.text_pair))
        return len(texts) > most or size > INLINE_SHAPED

    def subject(self) -> tuple[str, Any]:
        """Return the field with the text or texts, and its value."""
        return "text", self.text

    def shares_text(self) -> bool:
        """Tell whether one text stands beside each of many."""
        return False

    def asks_more(self) -> bool:
        """Tell whether more is asked for than what the kernel writes."""
        return False

    def cut_by(self) -> tuple[str | None, ...]:
        """Return the reference."""
        return (self.tokenizer,)


def is_one(chats: Any) -> bool:
    """Tell whether there is one chat; an empty list is a chat without messages, which is refused."""
    return isinstance(chats, JsonList) or not chats or isinstance(chats[0], dict)


class ChatOptions(RequestBody):
    """Options for rendering a chat."""

    LISTS = CHAT_LISTS

    tools: list[Object] | None = Field(None, description="Tools for the template, as JSON objects.")
    documents: list[Object] | None = Field(None, description="Documents for the template, as JSON objects.")
    add_generation_prompt: bool = Field(
        False, description="End a chat with the beginning of the assistant's next turn."
    )
    continue_final_message: bool | Annotated[str, Field(min_length=1)] = Field(
        False, description="End within the last message's content, or its field of this name."
    )
    template_args: Object | None = Field(
        None, description="Further variables of the template, such as `enable_thinking`. A template cannot be sent."
    )
    template: str | None = Field(
        None,
        description="The name of one of the tokenizer's templates; by default `tool_use` if there are tools and such a "
        "template, else `default`.",
    )
    unused: Literal["refuse", "report"] = Field(
        "refuse",
        description="What to do about a message, tools or documents of which the template writes nothing: refuse the "
        "chat, or list their fields in the answer as `unused`.",
    )


class RenderRequest(ChatOptions, Request):
    """A chat to render."""

    CHATS = "messages"

    messages: Annotated[MostItems[Object] | MostItems[MostItems[Object]], LEFT_TO_RIGHT] = Field(
        description="One chat, or a list of chats: then every field of the answer is a list with one entry a chat."
    )

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "a chat": Example(
            "the text, and what of it the caller wrote", {"messages": [{"role": "user", "content": "Hello"}]}
        ),
        "no message": Example("a chat has at least one", {"messages": []}, status=422),
    }


class TextOrChatRequest(ChatOptions, TextRequest):
    """A body with text or chats to encode."""


class EncodeRequest(TextOrChatRequest):
    """Text to encode, and what the answer is to hold."""

    words: Annotated[MostIds[str] | MostItems[MostIds[str]] | None, LEFT_TO_RIGHT] = Field(
        None,
        description="In place of `text`: a text that is split into words, or a list of such texts. Each word is "
        "encoded as a text of its own, as transformers does with `is_split_into_words`.",
    )
    word_labels: Annotated[MostIds[int] | MostItems[MostIds[int]] | None, LEFT_TO_RIGHT] = Field(
        None, description="A label for each of `words`: the part `labels` has it on the first id of the word."
    )
    truncation: Truncation | None = Field(
        None,
        description="Which text of a pair is cut: token by token the longer one, which is the default and `true`, or "
        "one text alone. With it `max_length` is by default the model's, if the tokenizer names one.",
    )
    max_length: Annotated[int, Field(ge=0, le=MAX_POSITION)] | None = Field(
        None, description="The most ids a text may have, with its special tokens; what is over is cut from the text."
    )
    truncation_side: Side | None = Field(
        None, description="The end that `max_length` cuts; by default the tokenizer's own."
    )
    stride: Annotated[int, Field(ge=0, le=MAX_POSITION)] | None = Field(
        None,
        description="Cut nothing off, but make several rows of a text over `max_length`, each of which shares so many "
        "ids with the one before; the part `overflow_of` names the text. Of a pair `truncation` names the text.",
    )
    padding: Padding = Field("none", description="Pad every text to the longest of the request, or to `max_length`.")
    padding_side: Side | None = Field(None, description="The end that is padded; by default the tokenizer's own.")
    pad_token: str | None = Field(
        None, description="The added token that pads, by its literal; by default the tokenizer's own."
    )
    pad_to_multiple_of: Annotated[int, Field(ge=1, le=MAX_POSITION)] | None = Field(
        None, description="Round the padded length up to a multiple of this."
    )
    parts: tuple[PartName, ...] = Field(
        PLAIN,
        alias="return",
        max_length=len(PARTS),
        description="What the answer holds: "
        + "; ".join(f"`{name}`, {part.meaning}" for name, part in PARTS.items())
        + ". Unless `return` is sent, answers to pairs have `type_ids` and `sequence_ids` too, and answers to words "
        "`word_ids`. `/offsets` has spans in other units.",
    )
    dropout: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None,
        description="Of texts and a BPE model: the probability that a merge is left out each time it could be made.",
    )
    alpha: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="Of texts and a Unigram model: draw a segmentation by its probability to this power; 0 makes all "
        "equal.",
    )
    nbest: Annotated[int, Field(ge=-1, le=MAX_NBEST)] | None = Field(
        None,
        description="With `alpha`: draw only among so many best segmentations; -1 is all. With the part "
        "`segmentations`: how many to list.",
    )
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = Field(
        None,
        description="What is drawn needs a seed: the same gives the same ids, whatever the server. Each text of a list "
        "draws for itself.",
    )
    block_hashes: Object | None = BLOCK_HASHES
    since: Since | None = SINCE
    prefix_ids: MostIds[Id] | None = Field(
        None, description="Ids of an engine that one chat begins with, exactly as they are."
    )
    new_from: int | None = Field(None, description="The first message that `prefix_ids` do not stand for.")
    rewritten: RewrittenHistory = Field(
        "refuse", description="A template that rewrites earlier messages: refuse the chat, or keep `prefix_ids`."
    )
    train_on: Literal["assistant", "last"] | list[str] = Field(
        "assistant", description="The messages that `labels` train on: the assistant's, its last, or those of roles."
    )

    train_reasoning: Literal["all", "written", "none"] = Field(
        "all",
        description="Reasoning that `labels` train on, with its marks: all, what a message holds (no marks that the "
        "template wrote around nothing), or none.",
    )

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "one text": Example("ids and their number", {"text": "Hello, world"}),
        "a padded batch": Example(
            "two rows of equal width, ready for a model",
            {
                "text": ["a short text", "and another one that is a little longer"],
                "max_length": 8,
                "padding": "longest",
                "return": ["ids", "attention_mask", "labels"],
            },
        ),
        "a pair": Example(
            "a question and a passage, for a reranker",
            {"text": "what is a token?", "text_pair": "A token is a piece of text.", "max_length": 12},
        ),
        "a query and passages": Example(
            "one text beside each of many, of which what is too long is cut",
            {"text": "what is a token?", "text_pair": ["A piece of text.", "Two"], "truncation": "only_second"},
        ),
        "words": Example(
            "a text that is split already, with labels for token classification",
            {"words": ["Ada", "wrote", "notes"], "word_labels": [1, 0, 0], "return": ["ids", "word_ids", "labels"]},
        ),
        "tokens and spans": Example(
            "where every token stands in the text", {"text": "naïve café", "return": ["tokens", "spans"]}
        ),
        "a chat": Example(
            "what the assistant says is trained on",
            {
                "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}],
                "return": ["ids", "labels", "assistant_mask"],
            },
        ),
        "a drawn segmentation": Example(
            "subword regularization, for training", {"text": "Hello, world", "dropout": 0.1, "seed": 7}
        ),
        "a misspelt option": Example(
            "unknown fields are refused by name", {"text": "Hello", "special_token": "text"}, status=422
        ),
    }

    def renders_little(self) -> bool:
        """Tell whether there is one chat, of which nothing is asked that takes further renderings, or much memory."""
        is_small = self.padding == "none" and self.prefix_ids is None
        return super().renders_little() and is_small and not any(PARTS[name].renders_again for name in self.parts)

    def is_shaped(self) -> bool:
        """Tell whether rows are cut or padded."""
        return self.max_length is not None or self.padding != "none" or self.pad_to_multiple_of is not None

    def is_bare(self) -> bool:
        """Tell whether nothing is done to rows."""
        given = (self.pad_token, self.block_hashes, self.since)
        return given == (None, None, None) and not self.is_shaped()

    def begins_with_ids(self) -> bool:
        """Tell whether a chat begins with ids of an engine, or any option of these is given."""
        return (self.prefix_ids, self.new_from, self.rewritten) != (None, None, "refuse")

    def shares_text(self) -> bool:
        """Tell whether one text stands beside each of many."""
        return isinstance(self.text, str) and isinstance(self.text_pair, list)

    def subject(self) -> tuple[str, Any]:
        """Return the field with the text or texts, which may be words, and its value."""
        return ("text", self.text) if self.words is None else ("words", self.words)

    def asks_more(self) -> bool:
        """Tell whether any part is asked for but ids and their number."""
        given = (self.block_hashes, self.since, self.dropout, self.alpha)
        return any(option is not None for option in given) or not {*PLAIN}.issuperset(self.parts)

    def heavy(self) -> bool:
        """Tell whether there are many texts, or much is to be made of them, such as padding."""
        if self.nbest is not None or self.stride is not None or self.words is not None or self.shares_text():
            return True
        if self.padding != "none" and self.messages is None:
            width = max(self.max_length or 0, self.pad_to_multiple_of or 0)
            if width * (len(self.text) if type(self.text) is list else 1) > INLINE_WIDTH:
                return True
        return super().heavy()


class CountRequest(TextOrChatRequest):
    """Text whose ids are counted."""

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "one text": Example("how many ids a text has", {"text": "How many tokens is this?"}),
        "many texts": Example("one number a text", {"text": ["one", "one two", ""]}),
        "text is missing": Example("a required field", {"tokenizer": None}, status=422),
    }
