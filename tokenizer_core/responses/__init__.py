"""What a model wrote, back to a message: templates of responses, parsers, and what they found."""

from tokenizer_core.responses.chat_parser import ChatParser, Event
from tokenizer_core.responses.parsed import Difference, Malformed, ParsedChat, Part
from tokenizer_core.responses.response_template import ResponseTemplate

__all__ = ["ChatParser", "Difference", "Event", "Malformed", "ParsedChat", "Part", "ResponseTemplate"]
