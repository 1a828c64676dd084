"""The methods of a tokenizer for chats: messages to text, and to ids."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from tokenizer_core.config import Unit
from tokenizer_core.errors import InputError, InvalidOption, TemplateMissing
from tokenizer_core.results import Offsets
from tokenizer_core.tokenizer_facts import TokenizerFacts

if TYPE_CHECKING:
    from tokenizer_core._kernel import SegmentCache
    from tokenizer_core.chat.encoding import ChatPolicy, EncodedChat
    from tokenizer_core.chat.rendered import Message, RenderedChat
    from tokenizer_core.chat.rendering import ChatRenderer, RenderingOptions
    from tokenizer_core.responses.chat_parser import ChatParser
    from tokenizer_core.responses.derive import Derived
    from tokenizer_core.responses.parsed import ParsedChat
    from tokenizer_core.responses.response_template import ResponseTemplate

_OF_PARSER = ("messages", "prompt", "response_template", "finish_reason")
"""The options of ``chat_parser`` beside those of a rendering."""


class TokenizerChats(TokenizerFacts):
    """The methods of a tokenizer for chats; see ``Tokenizer``."""

    __slots__ = ()

    def render_chat(self, messages: Sequence[Message], **options: Unpack[RenderingOptions]) -> RenderedChat:
        """Render messages by the chat template, as Hugging Face does, and tell who wrote what.

        Args:
            tools, documents: JSON objects, handed to the template.
            add_generation_prompt: end with the assistant's next turn begun.
            continue_final_message: end within the last message: its content, or the field of this name, such as
                ``"reasoning_content"``.
            template_args: further variables of the template, such as ``enable_thinking``.
            template: the name of one of ``templates``; by default ``tool_use`` if there are tools, else ``default``.
            content_format: give the template text as it is sent, or always in one form; ``"auto"``: as it reads it.

        Raises:
            InvalidOption, TemplateFailed, TemplateLimit, TemplateMissing, TemplateUntrackable
        """
        return self._renderer("render_chat", options).render(messages)

    def chat_renderer(self, **options: Unpack[RenderingOptions]) -> ChatRenderer:
        """Return what renders many chats with the same options, one after the other, in one thread at a time.

        Args:
            options: those of ``render_chat``.
        """
        return self._renderer("chat_renderer", options)

    def encode_chat(
        self,
        messages: Sequence[Message] | RenderedChat,
        *,
        special_tokens: ChatPolicy = "text",
        segments: SegmentCache | None = None,
        **options: Unpack[RenderingOptions],
    ) -> EncodedChat:
        """Render messages and encode the text; only what the template itself writes becomes an added token.

        Args:
            messages: those of a chat, or what ``chat_renderer`` made of them.
            special_tokens: what an added token's literal in a caller's text means: ``"text"``, or an error with
                ``"reject"``. With ``"parse"`` it becomes the token: for callers who may write control tokens.
            segments: keeps ids from call to call, but with ``"parse"``: then a turn of a chat costs its new message.
            options: those of ``render_chat``.

        Raises:
            ReservedLiteral, InvalidUnicode, StepLimit, UncoveredText, and as ``render_chat``
        """
        from tokenizer_core.chat import encoding

        rendered = self._rendered("encode_chat", messages, options, "special_tokens", "segments")
        return encoding.encode(self._pipeline, self._special_ids, rendered, special_tokens, segments)

    def chat_offsets(
        self,
        messages: Sequence[Message] | RenderedChat,
        unit: Unit = "char",
        *,
        special_tokens: ChatPolicy = "text",
        **options: Unpack[RenderingOptions],
    ) -> tuple[Offsets, RenderedChat]:
        """Render messages and encode the text with the span of every id in it; the ids are those of ``encode_chat``."""
        from tokenizer_core.chat import encoding

        rendered = self._rendered("chat_offsets", messages, options, "special_tokens", "unit")
        ids, spans, _ = encoding.places(self._pipeline, rendered, unit, special_tokens)
        return Offsets(ids, spans, rendered.text, unit), rendered

    @cached_property
    def response_template(self) -> ResponseTemplate | None:
        """How the model's answers are written: its ``response_template``, or one that the chat template shows.

        It is ``None`` if there is no chat template, or none can be derived; ``derive_response_template`` says why.

        Raises:
            InvalidOption, InvalidArtifact: the model's own is none, or not supported.
        """
        from tokenizer_core.responses.response_template import ResponseTemplate

        shipped = json.loads(dict(self.settings.extra).get("response_template", "null"))
        if shipped is not None:
            return ResponseTemplate.of(shipped)
        spec, notes = self.derive_response_template()
        return None if spec is None else ResponseTemplate(spec, "derived", notes)

    def derive_response_template(self) -> Derived:
        """Read off the chat template how answers are written; it takes some 0.1 to 0.3 s, once for each template.

        Returns:
            The response template, or ``None``, and what could not be derived.
        """
        from tokenizer_core.chat.rendering import template_of
        from tokenizer_core.chat.templates import special_tokens
        from tokenizer_core.responses.derive import Derived, derive

        try:
            return derive(template_of(self.settings, None, has_tools=True), special_tokens(self.settings))
        except InputError as error:
            return Derived(None, (f"content: {error.message}",))

    def parse_chat(self, output: Sequence[int] | str, **options: Any) -> ParsedChat:
        """Read the message that a model wrote.

        Args:
            output: ids, with those of special tokens, or text.
            options: those of ``chat_parser``.

        Raises:
            UnknownTokenId, InvalidUnicode, and as ``chat_parser``
        """
        from tokenizer_core.chat.rendering import check_options

        check_options("parse_chat", options, _OF_PARSER)
        return self.chat_parser(**options).parse(output)

    def chat_parser(
        self,
        *,
        messages: Sequence[Message] | None = None,
        prompt: str | None = None,
        response_template: ResponseTemplate | Mapping[str, Any] | None = None,
        finish_reason: str | None = None,
        **options: Unpack[RenderingOptions],
    ) -> ChatParser:
        """Return what reads the message that a model writes, as it comes: whatever it writes, and at every split.

        Args:
            messages: those that the model answers; the parsed message is rendered after them to tell if it is exact.
            prompt: the text that the output continues; by default what ``messages`` are rendered to.
            response_template: by default the tokenizer's.
            finish_reason: why the engine stopped; ``"length"`` says that the last field is unfinished.
            options: those of ``render_chat``; the schemas of the tools give arguments their types.

        Raises:
            TemplateMissing: there is no response template.
            InvalidOption, InvalidArtifact: in the response template.
        """
        from tokenizer_core.chat.rendering import check_options
        from tokenizer_core.responses.chat_parser import ChatParser
        from tokenizer_core.responses.response_template import ResponseTemplate

        check_options("chat_parser", options, _OF_PARSER)
        template = response_template if response_template is not None else self.response_template
        if template is None:
            raise TemplateMissing(
                "the tokenizer has no response_template, and none is derived; give one as response_template",
                field="response_template",
            )
        render = None
        if messages is not None:
            continued = options.pop("continue_final_message", False)
            options["add_generation_prompt"] = False
            if prompt is None:
                begun: RenderingOptions = {**options, "continue_final_message": continued}
                begun["add_generation_prompt"] = not continued
                prompt = self.render_chat(messages, **begun).text
            history = list(messages)[:-1] if continued else list(messages)

            def render(message: Mapping[str, Any]) -> RenderedChat:
                return self.render_chat([*history, message], **options)

        return ChatParser(
            ResponseTemplate.of(template),
            prompt or "",
            self._pipeline.stream_decoder,
            tools=options.get("tools"),
            render=render,
            finish_reason=finish_reason,
        )

    def _renderer(self, method: str, options: RenderingOptions, *own: str) -> ChatRenderer:
        from tokenizer_core.chat.rendering import ChatRenderer, check_options

        check_options(method, options, own)
        return ChatRenderer(self.settings, **options)

    def _rendered(
        self, method: str, messages: Sequence[Message] | RenderedChat, options: RenderingOptions, *own: str
    ) -> RenderedChat:
        from tokenizer_core.chat.rendered import RenderedChat

        if not isinstance(messages, RenderedChat):
            return self._renderer(method, options, *own).render(messages)
        if options:
            raise InvalidOption("a chat that is rendered takes no options of its rendering", field=next(iter(options)))
        return messages
