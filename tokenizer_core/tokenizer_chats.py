"""The methods of a tokenizer for chats: messages to text, and to ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from tokenizer_core.config import Unit
from tokenizer_core.errors import InvalidOption
from tokenizer_core.results import Offsets
from tokenizer_core.tokenizer_facts import TokenizerFacts

if TYPE_CHECKING:
    from tokenizer_core.chat.encoding import ChatPolicy, EncodedChat
    from tokenizer_core.chat.rendered import Message, RenderedChat
    from tokenizer_core.chat.rendering import ChatRenderer, RenderingOptions


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
        return self.chat_renderer(**options).render(messages)

    def chat_renderer(self, **options: Unpack[RenderingOptions]) -> ChatRenderer:
        """Return what renders many chats with the same options, one after the other, in one thread at a time.

        Args:
            options: those of ``render_chat``.
        """
        from tokenizer_core.chat.rendering import ChatRenderer

        return ChatRenderer(self.settings, **options)

    def encode_chat(
        self,
        messages: Sequence[Message] | RenderedChat,
        *,
        special_tokens: ChatPolicy = "text",
        **options: Unpack[RenderingOptions],
    ) -> EncodedChat:
        """Render messages and encode the text; only what the template itself writes becomes an added token.

        Args:
            messages: those of a chat, or what ``chat_renderer`` made of them.
            special_tokens: what an added token's literal in a caller's text means: ``"text"``, or an error with
                ``"reject"``. With ``"parse"`` it becomes the token: for callers who may write control tokens.
            options: those of ``render_chat``.

        Raises:
            ReservedLiteral, InvalidUnicode, StepLimit, UncoveredText, and as ``render_chat``
        """
        from tokenizer_core.chat import encoding

        rendered = self._rendered(messages, options)
        return encoding.encode(self._pipeline, self._special_ids, rendered, special_tokens)

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

        rendered = self._rendered(messages, options)
        ids, spans, _ = encoding.places(self._pipeline, rendered, unit, special_tokens)
        return Offsets(ids, spans, rendered.text, unit), rendered

    def _rendered(self, messages: Sequence[Message] | RenderedChat, options: RenderingOptions) -> RenderedChat:
        from tokenizer_core.chat.rendered import RenderedChat

        if not isinstance(messages, RenderedChat):
            return self.render_chat(messages, **options)
        if options:
            raise InvalidOption("a chat that is rendered takes no options of its rendering", field=next(iter(options)))
        return messages
