"""Plain requests to ``/v1/chat/completions/render``: the kernel makes the ids, and the rest of a body is small."""

from __future__ import annotations

from service.errors import ServiceError
from service.http.fast_path import Plain
from service.http.json_body import parser
from service.http.plain_chats import Chats
from service.http.response_json import Answer, WrittenIds
from service.registry.registry import Unopened
from service.request_log import Headers
from service.routes.compat import generation
from service.routes.compat.generation import GenerationFields, Prompt
from service.state import State


class PlainRender(Plain):
    """Answers requests of one id; what it leaves to the model is as with ``PlainRequests``.

    Args:
        model: of the body.
        sent_id: the id that the headers name.
    """

    def __init__(self, state: State, model: type[GenerationFields], sent_id: str = "") -> None:
        self._state, self._model, self._sent_id = state, model, sent_id
        self._chats = Chats(state.settings)
        self._parse = parser(model)

    def for_request(self, headers: Headers) -> Plain:
        """Return what answers a request with the id that its headers name."""
        sent = generation.sent_id(headers)
        return PlainRender(self._state, self._model, sent) if sent else self

    def answer(self, body: bytes, *, may_take_long: bool) -> Answer | None:
        """Answer a body; see ``Plain``."""
        try:
            return self._answer(body, may_take_long)
        except (ServiceError, Unopened):
            # The model finds the same, and says it.
            return None

    def _answer(self, body: bytes, may_take_long: bool) -> Answer | None:
        state, chats = self._state, self._chats
        loaded, reference = state.registry.default, None
        if not chats.takes(loaded, body, may_take_long):
            return None
        options = chats.options(may_take_long)
        given = loaded.chats.render(body, reference, **options)
        if isinstance(given, str):
            reference = given
            loaded = state.registry.of_model(reference)
            if not chats.takes(loaded, body, may_take_long):
                return None
            given = loaded.chats.render(body, reference, **options)
        if given is None or isinstance(given, str):
            return None
        ids, count, rest = given
        fields = self._parse(b'{%b"messages":[]}' % rest)
        if (
            fields.truncate_prompt_tokens is not None
            or fields.return_token_offsets
            or fields.block_hashes is not None
            or state.engines.literals(fields.model, loaded.name) == "engine"
        ):
            return None
        generation.refuse_unhonoured(fields)
        found = [Prompt(WrittenIds(ids, count))]
        request_id = generation.id_of(self._sent_id, fields)
        return generation.answer(state, loaded, fields, found, f"chatcmpl-{request_id}")
