"""The compiled engine, called by the facade and the formats.

Every error is one of ``tokenizer_core.errors``, or ``MemoryError`` where the system refuses memory for a result. All
heavy calls release the GIL. ``special_tokens`` is one of ``"reject"``, ``"text"``, ``"parse"`` and ``"ordinary"`` (no
added token matches at all). ``unit`` is ``"byte"``, ``"char"`` or ``"utf16"``.
"""

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, final

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint32]
SpecialTokens = Literal["reject", "text", "parse", "ordinary"]

UNICODE_VERSION: str
"""The version of every character class, such as ``"16.0.0"``."""

VERSION: str
"""The version of this package."""

CACHE_BYTES: int
"""The default bound of the piece cache of one thread."""

EXPRESSION_STEPS: int
"""What regular expressions may take for any text, beside what its length brings."""

MAX_NBEST: int
"""The most segmentations of a text that are listed, or drawn from by ``nbest``."""

MAX_CACHE_BYTES: int
"""The largest bound of the piece cache of one thread."""

MEDIA: tuple[str, ...]
"""The types of content parts that are no text, and the keys that hold what they are made from."""
MEDIA_BESIDE: tuple[str, ...]
"""The keys under which some clients send media beside the content of a message."""
BYTE_ORDER: tuple[bytes, ...]
"""The 256 bytes in the order of their ids in a trained vocabulary, which is that of GPT-2's byte alphabet."""

@final
class Vocabulary:
    """Bytes by id, with holes, and the merges in rank order."""

    @staticmethod
    def from_tiktoken(data: bytes) -> Vocabulary:
        """Read a rank file (``base64 rank`` lines) and recover the merge behind every token."""

    @staticmethod
    def from_tokenizer_json(data: bytes) -> tuple[Vocabulary, str]:
        """Read ``model.vocab`` and ``model.merges``; the rest of the document comes back as JSON text."""

    @staticmethod
    def from_sentencepiece(data: bytes) -> tuple[Vocabulary, str]:
        """Read a SentencePiece model: its pieces with their scores, and all else of it that changes an id, as JSON."""

    @staticmethod
    def from_vocab_merges(vocab: bytes, merges: bytes) -> Vocabulary:
        """Read GPT-2's ``vocab.json`` and ``merges.txt``."""

    @staticmethod
    def from_tokens(tokens: Sequence[tuple[int, bytes]], merges: Sequence[tuple[int, int, int]]) -> Vocabulary:
        """Build from ``(id, bytes)`` and merges ``(left id, right id, product id)`` in rank order."""

    @staticmethod
    def from_texts(
        tokens: Sequence[tuple[int, str]], merges: Sequence[tuple[int, int, int]], scores: Sequence[float]
    ) -> Vocabulary:
        """Build from ``(id, entry)`` whose bytes are the entries as they are, and the scores of all ids or none."""

    @property
    def is_text(self) -> bool:
        """Whether entries are text as it is, as in all families but byte-level BPE."""

    def scores(self) -> list[float]:
        """Return the score of each id below the limit, 0 for a hole; or nothing where entries have none."""

    def reserve(self, added: Sequence[tuple[int, str]], kept: AbstractSet[int] = ...) -> Vocabulary:
        """Check ``(id, literal)`` of all added tokens, and leave out the entries that are nothing but these literals.

        Args:
            kept: ids whose entries stay, if they are text.

        Raises:
            InvalidArtifact: ``duplicate_id``, ``duplicate_token``, ``id_conflict`` or ``id_out_of_range`` at
                ``added_tokens[i]``.
        """

    def __len__(self) -> int:
        """Return how many ids have bytes: holes do not count."""

    @property
    def id_limit(self) -> int:
        """One more than the highest id; holes count."""

    @property
    def digest(self) -> bytes:
        """SHA-256 over every id, its bytes and every merge; 32 bytes."""

    @property
    def missing_bytes(self) -> bytes:
        """The bytes that have no token of their own, in order; a text that holds one is refused."""

    def token_bytes(self, id: int) -> bytes | None:
        """Return the token's bytes, or ``None`` for a hole."""

    def token_texts(self) -> list[tuple[str, int]]:
        """Return ``(entry, id)`` as ``tokenizer.json`` has them (byte alphabet; opaque entries as they are), by id."""

    def is_opaque(self, id: int) -> bool:
        """Tell whether the entry is a literal outside the byte alphabet, which no merge produces."""

    def merges(self) -> list[tuple[bytes, bytes]]:
        """Return the two parts of every merge, lowest rank first."""

    def merge_ids(self) -> list[tuple[int, int, int]]:
        """Return ``(left id, right id, product id)`` of every merge, lowest rank first."""

@final
class ChatTemplate:
    """A compiled chat template: Jinja2 as transformers sets it up, with the author of every character, within bounds.

    Raises:
        TemplateFailed: it is not a template.
        TemplateUnsupported: it uses a construct that this engine does not have, told by line and column.
    """

    def __new__(cls, source: str) -> ChatTemplate: ...
    @property
    def loops_over_parts(self) -> bool:
        """Whether it loops over the content of a message, looked for where vLLM looks."""

    @property
    def written(self) -> list[str]:
        """The literals that may become text of a chat, not what the template compares, tests or only looks for."""

    @property
    def needs(self) -> list[str]:
        """The variables that it reads, and neither sets nor asks for, such as by ``is defined`` or in an ``or``."""

    @property
    def tells_time(self) -> bool:
        """Whether it may write what time it is."""

    def reads_strings(self, role: str) -> bool:
        """Whether a role's messages are written if their content is a string, as by all templates but a few."""

    def takes_parts(self, role: str) -> bool:
        """Whether a role's text parts are handed on as they are; else they are joined to one string."""

    def reads_string_parts(self, role: str) -> bool:
        """Whether strings are taken as parts of the content of a role's messages."""

    def render(
        self,
        messages: bytes,
        *,
        now: tuple[int, int, int, int, int, int, int, int, int] | None = None,
        specials: list[tuple[str, str]] = ...,
        tools: bytes | None = None,
        documents: bytes | None = None,
        arguments: bytes | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: str | None = None,
        content_format: Literal["sent", "auto", "string", "parts"] = "sent",
        form: Literal["sent", "tokenize", "render", "responses"] = "sent",
        before: tuple[int, int] = (0, 0),
        most: int | None = None,
        only_plain: bool = False,
    ) -> Rendering | None:
        """Render a chat, without the GIL.

        Args:
            messages, tools, documents, arguments: JSON; see ``chat_json``.
            now: year, month, day, hour, minute, second, microsecond, day of the week from Monday on (0), day of the
                year: what ``strftime_now`` says, which a template needs that tells the time.
            specials: the literals of special tokens by their names, such as ``bos_token``.
            continue_final_message: the field of the last message that is to go on.
            content_format: the form of content for the template; ``"auto"``: as it reads it, and ``developer`` as
                ``system`` where it writes nothing of that role.
            form: the form of messages and tools: as they are sent, or as a route of vLLM's gives them to templates.
            before: how many chats of the same request were rendered before, and the steps that they left.
            most: the steps that it may take; by default what its budget has.
            only_plain: return ``None`` for a chat that has to be checked first; else the caller has checked it.

        Raises:
            InvalidOption: a value is not JSON of a chat.
            TemplateFailed, TemplateLimit, TemplateUntrackable
        """

class Rendering:
    """A chat as text; each attribute is made anew, and its spans are in characters and in order."""

    @property
    def text(self) -> str: ...
    @property
    def size(self) -> int:
        """The bytes that the text takes, here and in Python."""

    @property
    def span_count(self) -> int:
        """How many ``spans`` there are."""

    @property
    def spans(self) -> list[tuple[int | None, str, int, int]]:
        """``(message, field, start, end)`` of what the caller wrote."""

    @property
    def generated(self) -> list[tuple[int, int]]:
        """``(start, end)`` of ``{% generation %}`` blocks."""

    @property
    def turns(self) -> list[tuple[int, int, int]]:
        """``(message, start, end)`` of what loops wrote while they were at a message."""

    @property
    def roles(self) -> list[str]:
        """The role of each message; empty where it is no text."""

    def trained(
        self,
        special: npt.NDArray[np.uint32],
        messages: list[int] | None,
        reasoning: Literal["all", "written", "none"],
        again: Callable[[int | None, bool], Rendering | None],
    ) -> list[tuple[int, int]]:
        """Return what is trained on of messages; without any, of ``{% generation %}`` blocks.

        Of a message of the assistant it is what stands in these blocks or, where the template has none, what the model
        has to write: from the end of the generation prompt to the end of the turn. A turn of another role reaches from
        its first character to its last, and on through the first special token if only the template's text stands
        before that.

        Args:
            special: the spans of the special tokens.
            reasoning: the reasoning at the beginning of these that counts; ``"written"`` is what a caller wrote.
            again: renders the first messages, or a plain one, with a generation prompt or without; ``None`` if that
                fails. It is called for templates whose prompt may depend on the messages.
        """

    def message_index(self, spans: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
        """Return the message of each token's first character that a caller wrote in a message, or -1.

        Args:
            spans: the tokens, a contiguous array.
        """

    @property
    def writes_all(self) -> bool:
        """Whether every message, tools and documents surely left a trace; false if ``only_plain`` was not asked for."""

    @property
    def after(self) -> tuple[int, int]:
        """``before`` of the next chat of the request."""

def overlapping(spans: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Tell which spans share at least one place with a target; what is empty shares none. Arrays are contiguous."""

def numbers_json(numbers: object) -> bytes | None:
    """Write a contiguous array as JSON: ids, spans, or labels; ``None`` if it is none of these."""

def chat_json(value: object, field: str) -> bytes:
    """Write a caller's messages, tools, documents or template arguments as JSON.

    Raises:
        InvalidOption: a value is not JSON, or nested too deeply; the path of its place begins with ``field``.
        InvalidUnicode: a text holds a lone surrogate.
    """

def count_json(text: bytes) -> tuple[int, int, int, int, int, int]:
    """Count, without the GIL, what stands outside the strings of what may be JSON.

    Returns:
        Commas, lists, objects and colons; strings, keys too; and how deep lists and objects stand in one another.
    """

def cut_out_lists(
    body: bytes, names: list[str]
) -> tuple[bytes, dict[str, tuple[bytes, list[int]] | list[tuple[bytes, list[int]]]]] | None:
    """Cut what lists of objects, or of such lists, hold out of the object of a body, without the GIL.

    Args:
        names: the fields that may hold them.

    Returns:
        The body in which the objects of these lists are empty, and the lists by their fields: as JSON, with the place
        where each object ends. What is cut out is JSON that every reader takes; what is left may be none. ``None`` for
        a body of another form.
    """

def ends_of_objects(json: bytes) -> list[int] | None:
    """Return where each object ends in a list of objects that is JSON; ``None`` if it is none, or nested too deeply."""

@final
class Pipeline:
    """A whole tokenizer: immutable, safe to share between threads.

    Args:
        vocabulary: the tokens and merges.
        config: the pipeline as JSON (``tokenizer_core.config.PipelineConfig.to_json``).
        cache_bytes: bound of the piece cache of one thread, at most ``MAX_CACHE_BYTES``; 0 switches it off but for a
            few entries.
        expression_steps: what regular expressions may take for any text, beside what its length brings.
    """

    def __new__(
        cls, vocabulary: Vocabulary, config: str, cache_bytes: int = ..., expression_steps: int = ...
    ) -> Pipeline: ...
    @property
    def id_limit(self) -> int:
        """One more than the highest id of the vocabulary and the added tokens."""

    @property
    def cache_statistics(self) -> tuple[int, int, int, int]:
        """What the piece caches of all threads take in bytes; pieces looked up, unknown, and forgotten for others.

        A call is counted when it ends.
        """

    def encode_batch(
        self,
        texts: Sequence[str],
        special_tokens: str = "reject",
        add_special_tokens: bool = False,
        threads: int = 0,
        dropout: float | None = None,
        alpha: float | None = None,
        nbest: int | None = None,
        seed: int | None = None,
    ) -> tuple[Ids, npt.NDArray[np.int64]]:
        """Encode many texts over ``threads`` threads (0: one a core); ids (total,) and row offsets (rows + 1,)."""

    def nbest(
        self, text: str, n: int, special_tokens: str = "reject", add_special_tokens: bool = False
    ) -> list[tuple[Ids, float]]:
        """Return the ``n`` best segmentations of a text, at most ``MAX_NBEST``, and the score of each."""

    def offsets(
        self, text: str, unit: str = "char", special_tokens: str = "reject", add_special_tokens: bool = False
    ) -> tuple[Ids, npt.NDArray[np.uint32]]:
        """Encode a text with the span of every id in ``unit``; ids (n,) and spans (n, 2)."""

    def word_ids(self, text: str, special_tokens: str = "reject") -> tuple[Ids, npt.NDArray[np.uint32]]:
        """Encode a text with the number of the piece, or added token, of every id; ids (n,) and numbers (n,).

        Raises:
            InvalidOption: the model does not cut a text into pieces.
        """

    def encode_chat(
        self,
        text: str,
        caller: Sequence[tuple[int, int]],
        unit: Literal["byte", "char", "utf16"] = "char",
        add_special_tokens: bool = False,
    ) -> tuple[Ids, npt.NDArray[np.uint32], list[tuple[int, int, str]]]:
        """Encode a rendered chat in which no added token, special or not, has a character of the caller in its literal.

        Args:
            caller: what the caller wrote: half-open spans in characters, in order and disjoint.

        Returns:
            ids (n,), their spans in ``unit`` (n, 2), and ``(start, end, literal)``, in characters, of every literal
            that was refused.

        Raises:
            InvalidOption: ``caller`` is not in order, overlaps or leaves the text.
        """

    def encode_rendering(
        self,
        rendering: Rendering,
        unit: Literal["byte", "char", "utf16"] = "char",
        segments: SegmentCache | None = None,
    ) -> tuple[Ids, npt.NDArray[np.uint32], list[tuple[int, int, str]]]:
        """Encode what a template made as ``encode_chat`` does; ``segments`` keeps ids for the next turn of the chat."""

    def pieces(self, text: str) -> list[str]:
        """Return the pretokenizer's cut of the normalized text; added tokens are not looked for."""

    def stream_decoder(self, skip_special_tokens: bool = False) -> StreamDecoder:
        """Begin a decoder that is given its ids bit by bit."""

class Codec:
    """Encode and decode over a pipeline that other objects may have too: the base of ``Tokenizer``."""

    def __init__(self, pipeline: Pipeline) -> None: ...
    def encode(
        self,
        text: str,
        *,
        special_tokens: SpecialTokens = "reject",
        add_special_tokens: bool = False,
        threads: int = 1,
        dropout: float | None = None,
        alpha: float | None = None,
        nbest: int | None = None,
        seed: int | None = None,
    ) -> Ids:
        """Encode a text.

        Args:
            special_tokens: what the literal of a special token in the text means.
            add_special_tokens: put what the post-processor puts around a text, such as a beginning-of-text token.
                Routes and ``encode_pair`` do it by default: "Special tokens around a text" in ``docs/exactness.md``.
            threads: how many may share a text of over half a megabyte, 0 being one a core; ids do not depend on it.
            dropout: of a BPE model: the probability that a merge is left out each time it could be made.
            alpha: of a Unigram model: draw a segmentation by its probability to this power; 0 makes all equal.
            nbest: draw only among so many best segmentations, at most ``MAX_NBEST``; -1 is all, the default.
            seed: from 0 to 2 ** 64 - 1; the same gives the same ids everywhere. What is drawn needs one.

        Returns:
            uint32, shape (n,).

        Raises:
            ReservedLiteral, InvalidUnicode, InvalidOption, StepLimit, UncoveredText
        """

    def count(self, text: str, *, special_tokens: SpecialTokens = "reject", add_special_tokens: bool = False) -> int:
        """Count the ids of a text without building them; arguments and errors are those of ``encode``."""

    def decode(self, ids: Ids | Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """Decode ids; invalid UTF-8 becomes U+FFFD by maximal subparts.

        Args:
            ids: an array of uint32, shape (n,), or at most 2 ** 28 other integers in any iterable that has an order.
            skip_special_tokens: leave out special tokens.

        Raises:
            UnknownTokenId, InvalidOption: with the index of the first id that is none
        """

    def decode_bytes(self, ids: Ids | Iterable[int], *, skip_special_tokens: bool = False) -> bytes:
        """Join the bytes of all ids: nothing is lost; arguments and errors are those of ``decode``."""

@final
class Responder:
    """Answer the plain JSON requests of the service's hot routes, from the bytes of a body to those of an answer.

    Args:
        tokenizer: a ``Tokenizer``.
        head: how every answer begins: the brace and the first fields, each with a comma after it.
    """

    def __new__(cls, tokenizer: Codec, head: bytes) -> Responder: ...
    def answer_texts(
        self,
        route: Literal["encode", "count", "offsets"],
        body: bytes,
        reference: str | None,
        *,
        max_items: int,
        threads: int,
    ) -> tuple[bytes | npt.NDArray[np.uint8], int] | str | None:
        """Answer a request with texts.

        Args:
            route: what is asked for: ids with their number, the number alone, or ids with spans.
            reference: the name by which the caller found this tokenizer; ``None`` if the body need not name any.
            max_items: the most texts.
            threads: how many work on a list of texts.

        Returns:
            The answer (an array if it is long) and the number of its ids; or the reference of another tokenizer, which
            the body names; or ``None`` if the body is unusual or holds an error.
        """

    def answer_ids(
        self, body: bytes, reference: str | None, *, max_ids: int, max_rows: int, max_values: int
    ) -> tuple[bytes | npt.NDArray[np.uint8], int] | str | None:
        """Answer a request with ids; returns as ``answer_texts`` does.

        Args:
            max_ids: the most ids of all lists together.
            max_rows: the most lists.
            max_values: the most ids when every list is counted as ten more.
        """

@final
class SegmentCache:
    """The ids of texts between added tokens, shared by the tokenizers of a process.

    Args:
        bytes: the most that all entries take.
        shortest: bytes of the shortest text that is kept; by default what pays.
    """

    def __new__(cls, bytes: int, *, shortest: int = ...) -> SegmentCache: ...
    @property
    def statistics(self) -> tuple[int, int, int]:
        """The bytes of all entries, and how many segments were found and were not."""

@final
class ChatResponder:
    """Answer the plain JSON requests of hot routes that hold one chat, from the bytes of a body to those of an answer.

    Args:
        tokenizer: a ``Tokenizer``.
        without_tools, with_tools: the template of chats without and with tools, and how every answer about such a chat
            begins, up to a comma; ``None`` if there is none.
        specials: the literals of special tokens by their names, such as ``bos_token``.
        reserved: names that no variable of a template may have.
        segments: where the ids of segments are kept; by default nowhere.
    """

    def __new__(
        cls,
        tokenizer: Codec,
        without_tools: tuple[ChatTemplate, bytes] | None,
        with_tools: tuple[ChatTemplate, bytes] | None,
        *,
        specials: list[tuple[str, str]],
        reserved: list[str],
        segments: SegmentCache | None = None,
    ) -> ChatResponder: ...
    def answer(
        self,
        route: Literal["encode", "count", "tokenize"],
        body: bytes,
        reference: str | None,
        now: tuple[int, int, int, int, int, int, int, int, int] | None,
        options: Mapping[str, object],
    ) -> tuple[bytes | npt.NDArray[np.uint8], int] | str | Literal[False] | None:
        """Answer a request with one chat.

        Args:
            route: what is asked for: ids with their number, the number alone, or what vLLM answers to ``/tokenize``.
            reference: the name by which the caller found this tokenizer; ``None`` if the body need not name any.
            now: that of ``ChatTemplate.render``.
            options: those of ``chat.responding.ChatAnswerOptions``.

        Returns:
            As ``answer_texts``, or ``False`` if the template needs more than ``most`` steps.
        """

    def ids(
        self,
        route: Literal["render", "bytes"],
        body: bytes,
        reference: str | None,
        now: tuple[int, int, int, int, int, int, int, int, int] | None,
        options: Mapping[str, object],
    ) -> tuple[bytes | npt.NDArray[np.uint8], int, bytes] | str | Literal[False] | None:
        """Encode the chat of a request to vLLM's render route, or to ``/encode`` for bytes; arguments as of ``answer``.

        Returns:
            The ids as JSON or as bytes, their number, and the members of the request that are not about the chat, as
            JSON with a comma behind each, or how an answer in JSON begins; otherwise as ``answer``.
        """

@final
class StreamDecoder:
    """Decode ids as they come; the joined pushes and the finish equal the whole decode at every split."""

    def push(self, ids: Ids | Iterable[int]) -> str:
        """Return all text that is certain by now."""

    def finish(self) -> str:
        """Return what is left: U+FFFD for half a character, or nothing."""

    @property
    def pending(self) -> bytes:
        """The bytes held back: at most three."""

@final
class ResponseTemplate:
    """A checked ``response_template`` in the form of transformers 5.24.

    Args:
        json: an object.

    Raises:
        InvalidOption: a key or a value that is not known, at its place.
        InvalidArtifact: an expression that does not compile, or is not supported.
    """

    def __new__(cls, json: str) -> ResponseTemplate: ...

@final
class ResponseParser:
    """Read the message that a model writes, at every split of its text, in linear time.

    Args:
        prompt: the text before; what stands behind the template's last start anchor belongs to the message.
        tools: a list of JSON.

    Raises:
        InvalidOption: ``tools`` is not a list.
    """

    def __new__(cls, template: ResponseTemplate, prompt: str, tools: str | None = None) -> ResponseParser: ...
    def events(self) -> bytes:
        """Return the events that nobody asked for yet, as a list of JSON: at first those of the prompt."""

    def feed(self, text: str) -> bytes:
        """Take more text and return its events."""

    def finish(self) -> bytes:
        """End the text and return an object of JSON.

        It has ``message``; ``arguments`` (text of each call); ``parts`` (field or null, start and end in characters of
        the output); ``malformed`` (reason, start, end); ``open``, the field that is open at the end; ``unfinished``,
        the same if its delimiter is missing.
        """

@final
class DocumentEncoder:
    """Encode documents one after the other into the bytes of their ids.

    Args:
        tokenizer: encodes each document by itself.
        special_tokens: what the literal of a special token in a document means.
        before: an id that stands before each document; a document without ids has none.
        after: the same, behind it.
        id_bytes: of an id: 2, 4 or 8, little-endian.
        skip_invalid: leave a document out that cannot be read or encoded, rather than fail.
    """

    def __new__(
        cls,
        tokenizer: Codec,
        special_tokens: str = "reject",
        *,
        before: int | None = None,
        after: int | None = None,
        id_bytes: int = 4,
        skip_invalid: bool = False,
    ) -> DocumentEncoder: ...
    def encode_lines(
        self, data: bytes, field: str, *, first_line: int = 1, first_byte: int = 0
    ) -> tuple[bytes, npt.NDArray[np.int64], int, list[tuple[int, str]]]:
        """Encode whole lines with a JSON object each, whose string ``field`` is a document.

        Args:
            first_line: number of the first line in its file.
            first_byte: where it begins there.

        Returns:
            The bytes of all ids; how many each document has; the number of lines left out, and the first of these with
            number and reason.

        Raises:
            TokdError: with the number of the line as ``row``.
        """

    def encode_texts(self, texts: Sequence[str]) -> tuple[bytes, npt.NDArray[np.int64], int, list[tuple[int, str]]]:
        """Encode texts; results and errors are those of ``encode_lines``, with indices for numbers."""

class Counter:
    """Count the pieces of documents over threads of its own; what is counted does not depend on how they came.

    Args:
        config: the pipeline as JSON; its added tokens are not looked at.
        special_tokens: literals that end a document and are not counted.
        replace_invalid: U+FFFD stands for bytes that are not UTF-8, rather than an error.
        threads: 0 means one a core.
        has_languages: count the pieces of each language apart: a piece has the name of its language before it, and
            U+0000 between.
    """

    def __new__(
        cls,
        config: str,
        special_tokens: Sequence[str] = (),
        replace_invalid: bool = False,
        threads: int = 0,
        has_languages: bool = False,
    ) -> Counter: ...
    def begin_source(self, source: int, bytes: int = 0, lines: int = 0) -> None:
        """Say which of the caller's sources comes next, and how many bytes and lines of it are not given.

        The errors of its content carry it as ``row``, and places in the whole of it.
        """

    def begin_language(self, name: str, is_measured: bool = False) -> None:
        """Say of which language the next documents are, and whether they are measured rather than learned from.

        Raises:
            InvalidCorpus: no language has such a name.
        """

    def feed(self, data: bytes) -> None:
        """Take the next bytes of a document.

        Raises:
            InvalidCorpus: ``invalid_utf8``, with the byte of the document as ``index``.
        """

    def end_document(self) -> None:
        """End the document that was fed."""

    def feed_documents(self, documents: Sequence[str]) -> None:
        """Take whole documents."""

    def feed_lines(self, data: bytes, field: str, skip_invalid: bool = False, language: str = "") -> None:
        """Take the next bytes of a file with a JSON object a line, whose string ``field`` is a document.

        Args:
            skip_invalid: leave a line out that cannot be read, rather than fail.
            language: of each line, the field with the language of its document.
        """

    def end_lines(self) -> None:
        """End the file of lines."""

    def add_counts(self, lines: bytes, first_line: int) -> None:
        """Add whole lines of a counts file; ``first_line`` is the number of the first."""

    @property
    def bytes_counted(self) -> int:
        """Bytes of text that have been counted."""

    @property
    def bytes_held(self) -> int:
        """Memory of what has been counted."""

    def take(self) -> PieceCounts:
        """Return what was counted so far, and go on with nothing counted.

        Raises:
            InvalidCorpus: as ``finish``.
        """

    @property
    def has_failed(self) -> bool:
        """Whether it is no use to read on; ``finish`` raises what is wrong."""

    @property
    def cut_places(self) -> Literal["words", "lines"] | None:
        """Where a document may be cut, and its parts counted apart.

        ``words``: between an ASCII letter and a space or line feed; ``lines``: between a line feed and such a letter.
        """

    def cancel(self) -> None:
        """Let the work fail soon, also that of another thread's call; ``finish`` then raises ``Cancelled``."""

    def finish(self, max_piece_length: int | None = None) -> PieceCounts:
        """Wait for the threads, leave out the pieces that are longer in bytes, and put the rest in order.

        Raises:
            InvalidCorpus: the first failure in the order of the input.
        """

@final
class PieceCounts:
    """The distinct pieces of a corpus, the most frequent first and equals in the order of their bytes; immutable."""

    def __len__(self) -> int: ...
    @property
    def documents(self) -> int:
        """Documents counted."""

    @property
    def bytes(self) -> int:
        """Bytes of text counted."""

    @property
    def piece_bytes(self) -> int:
        """Bytes of the pieces, each as often as it occurs, without those that were too long."""

    @property
    def skipped(self) -> int:
        """Lines left out because they could not be read."""

    @property
    def first_skipped(self) -> list[tuple[int, int, str]]:
        """The source, the number and the reason of the first ten of them, in their order."""

    @property
    def total(self) -> int:
        """Pieces counted, each as often as it occurs."""

    @property
    def left_out(self) -> int:
        """Distinct pieces that were too long."""

    @property
    def longest(self) -> builtins.bytes:
        """The longest piece, or nothing when there is none."""

    def items(self, start: int, stop: int) -> list[tuple[builtins.bytes, int]]:
        """Return the pieces in a range, with their counts."""

    def lines(self, start: int, stop: int) -> builtins.bytes:
        """Write the pieces in a range as lines of a counts file."""

    def cut(self, config: str) -> PieceCounts:
        """Count the pieces that the pretokenizer of a pipeline, which only cuts, makes of these."""

    def sections(self) -> list[builtins.bytes]:
        """Write all pieces into ``COUNT_SECTIONS`` sections by their hashes, each in the order of their bytes."""

def merge_sections(number: int, sections: Sequence[bytes]) -> bytes:
    """Add up sections of one number into one.

    Raises:
        InvalidCorpus: a section is damaged; with its index as ``row``.
    """

COUNT_SECTIONS: int

@final
class Reduced:
    """The sum of many sections, without what is too long or too rare.

    Args:
        max_piece_length: pieces with more bytes are left out; they are ``left_out`` of the counts.
        min_count: pieces that occur less often in all sections together are left out.
    """

    def __new__(
        cls, max_piece_length: int | None = None, min_count: int = 1, has_languages: bool = False
    ) -> Reduced: ...
    def add(self, number: int, sections: Sequence[bytes]) -> None:
        """Add all sections of one number.

        Raises:
            InvalidCorpus: a section is damaged; with its index as ``row``.
        """

    @property
    def dropped(self) -> list[tuple[str, tuple[int, int, int], tuple[int, int, int]]]:
        """Each script with the pieces that were too rare, their occurrences and bytes, and with those of all."""

    def finish(self) -> PieceCounts:
        """Put what was added in order; the documents and bytes that it came from are unknown."""

def block_hashes(
    ids: npt.NDArray[np.uint32], scheme: str, block_size: int, options: str
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint8], npt.NDArray[np.uint64]]:
    """Hash blocks of ids; ``tokenizer_core/kv_blocks.py`` says how. Options are JSON."""

def prefix_hash(ids: npt.NDArray[np.uint32]) -> str:
    """Hash a whole row of ids; ``tokenizer_core/kv_blocks.py`` says how."""

def best_fit(sizes: npt.NDArray[np.uint32], room: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
    """Put rows of 1 to ``room`` tokens into packs; returns the rows of all packs, and where each pack begins.

    Raises:
        InvalidOption: with the ``index`` of a row that fits no pack.
    """

def portable_pattern(pattern: str) -> str:
    """Write a regular expression of tiktoken's so that Oniguruma, and a ``tokenizer.json``, mean the same by it.

    What both read alike stays as it is.

    Raises:
        InvalidArtifact: ``invalid_pattern``: it does not compile, or cannot be written so.
    """

def canonical_stage(part: str, stage: str) -> str:
    """Return the JSON of a stage with every field that it has, also those that are left out.

    Args:
        part: ``normalizer``, ``pretokenizer``, ``model`` or ``decoder``.
        stage: an object with ``type``.

    Raises:
        InvalidOption: at the field.
    """

def charsmap(config: str) -> bytes:
    """Write SentencePiece's table of the rewrites of a pipeline's normalizer, or nothing where it has none.

    Characters, and all ways to write what composes, become what the normalizer makes of them alone. It should have only
    stages that rewrite characters whatever stands around them: the normalization forms and those on single characters.
    """

def core_count() -> int:
    """Return how many cores this process may use.

    They are those that it may run on, and no more than the limits of the control groups around it leave.
    """

def learn_unigram(
    counts: PieceCounts,
    sizes: Sequence[int],
    *,
    seed_size: int = 1_000_000,
    shrinking_factor: float = 0.75,
    n_sub_iterations: int = 2,
    max_token_length: int = 16,
    limit_alphabet: int | None = None,
    character_coverage: float | None = None,
    required_characters: str = "",
    borders: Sequence[str] = (),
    threads: int = 0,
    memory: int | None = None,
    kept: bytes = b"",
    keep: Callable[[bytes], object] | None = None,
    progress: Callable[[Literal["characters", "rounds"], int, int], object] | None = None,
) -> tuple[list[list[tuple[bytes, float]]], int]:
    """Learn pieces by expectation maximization and pruning; threads change nothing.

    Args:
        sizes: of the vocabularies, in any order; each has the pieces of a run for it alone.
        seed_size: substrings to begin with, besides characters.
        shrinking_factor: the share of pieces that a round of pruning leaves, 0.1 to 0.95.
        n_sub_iterations: estimates in a round.
        max_token_length: in characters, 1 to 255.
        limit_alphabet: only the most frequent characters; others end a word.
        character_coverage: only the most frequent characters that are together so great a share of all.
        required_characters: pieces whether they occur or not.
        borders: no piece crosses them: ``scripts``, ``numbers``, ``digits``, and ``lone_spaces``, which are no words;
            no piece ends with a space (``spaces_begin``) or begins with one (``spaces_end``), but for those of spaces
            alone (``space_runs``).
        memory: bytes that may be held, the counts among them; a corpus that needs more is refused.
        kept: what the same run has given to ``keep`` last, to go on from there; anything else counts as nothing.
        keep: called after each round of pruning; what it raises ends the run.
        progress: called ten times a second with how many characters are searched for seeds, and all that there are;
            then with the rounds of pruning, done and foreseen; what it raises ends the run.

    Returns:
        For each size the pieces with the logarithms of their probabilities, the most probable first; how many of them
        are characters.
    """

def learn_merges(
    counts: PieceCounts,
    tokens: int,
    *,
    level: Literal["bytes", "characters", "word_pieces"] = "bytes",
    min_frequency: int = 1,
    max_token_length: int | None = None,
    tie_break: str = "lexicographic_low",
    forbidden: Sequence[str] = (),
    end_of_word: str = "",
    limit_alphabet: int | None = None,
    vocabulary: Vocabulary | None = None,
    ignore_merges: bool = False,
    prefix: str = "",
    score: Literal["count", "likelihood"] = "count",
    character_coverage: float | None = None,
    required_characters: str = "",
    borders: Sequence[str] = (),
    known: Sequence[tuple[int, ...]] = (),
    progress: Callable[[int, int, list[tuple[int, ...]], int | None], object] | None = None,
) -> tuple[list[bytes], int, list[tuple[int, ...]]]:
    """Merge the most frequent pair until there are ``tokens`` of them, the alphabet included, or no pair is left.

    Args:
        level: what the alphabet is: the 256 bytes, the characters of the pieces, or these and a second symbol for each
            that stands inside a piece.
        max_token_length: in bytes, or in characters.
        forbidden: literals of special tokens, which no merge makes; a character that is one is not in the alphabet.
        end_of_word: added to the last character of every piece; with characters only.
        limit_alphabet: only the most frequent characters; no merge crosses another one, which of word pieces is taken
            out of its piece.
        prefix: of the second symbols of word pieces.
        character_coverage: only the most frequent characters that are together so great a share of all.
        required_characters: symbols whether they occur or not; with characters only, as the coverage.
        score: merge the most frequent pair, or that with the highest ``count(ab) / (count(a) * count(b))``, of equals
            the more frequent one and then that of the lowest ids.
        vocabulary: begin with its tokens and merges; ``ignore_merges`` as in its pipeline.
        known: the first merges of the same run, which are made and not found again, up to the first that makes a token
            anew.
        progress: called ten times a second, each time that there are an eighth more merges, and at the end, with the
            new tokens made and wanted, the merges since the last call, and the tokens that all pieces have by now; what
            it raises ends the run.

    Returns:
        The tokens, how many of them are the alphabet, and ``(left, right, product, count)`` of every merge, by their
        indices.
    """

def learn_merges_for_languages(
    counts: PieceCounts,
    tokens: int,
    *,
    global_merges: int = 0,
    window: int = 0,
    min_frequency: int = 1,
    max_token_length: int | None = None,
    tie_break: str = "lexicographic_low",
    forbidden: Sequence[str] = (),
    vocabulary: Vocabulary | None = None,
    ignore_merges: bool = False,
    known: Sequence[tuple[int, ...]] = (),
    progress: Callable[[int, int, list[tuple[int, ...]], int | None], object] | None = None,
) -> tuple[list[bytes], list[tuple[int, ...]], list[tuple[str, int, bool, int]]]:
    """Merge bytes, each time the most frequent pair of the language that is compressed worst.

    Merges and ``progress`` are as of ``learn_merges``; a merge has also the number of its language, from 1 on, or 0.

    Args:
        counts: of a counter that has languages.
        global_merges: so many merges are first chosen in all languages together.
        window: a language waits that was chosen for more than twice its equal share of so many merges before.

    Returns:
        The tokens, the merges, and by name each language: bytes of its corpus, whether it is measured on other texts,
        and the tokens of what it is measured on.

    Raises:
        InvalidCorpus: a piece has no language, or a language lacks a corpus or, as the only one, texts to measure on.
    """
