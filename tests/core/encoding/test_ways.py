"""Arguments that ``encode`` does not take: the error names the method or the option that does."""

import numpy as np
import pytest

from tests.support.tokenizers import write_layout
from tokenizer_core import InvalidOption, Tokenizer, base_artifact, continue_chat, prefix_stable


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return Tokenizer.from_hf(write_layout(tmp_path_factory.mktemp("ways") / "hf"))


def test_a_list_of_texts_names_the_method_that_takes_it(tokenizer):
    for texts in (["a", "b"], ("a",)):
        for method in (tokenizer.encode, tokenizer.count, tokenizer.offsets):
            with pytest.raises(InvalidOption, match="encode_batch"):
                method(texts)
    with pytest.raises(InvalidOption) as caught:
        tokenizer.encode(3)
    assert caught.value.message == "text is a string, not int"


@pytest.mark.parametrize(
    ("option", "way"),
    [
        ({"max_length": 3}, "encode_pair.*encode_batch"),
        ({"truncation": True}, "encode_pair.*encode_batch"),
        ({"padding": True}, "shape_rows"),
        ({"return_tensors": "pt"}, "torch.from_numpy"),
        ({"text_pair": "b"}, "encode_pair"),
        ({"allowed_special": "all"}, "special_tokens"),
    ],
)
def test_an_option_of_another_library_names_the_way(tokenizer, option, way):
    for method, given in ((tokenizer.encode, "a"), (tokenizer.encode_batch, ["a"]), (tokenizer.count, "a")):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{next(iter(option))}'.*{way}"):
            method(given, **option)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'nothing'$"):
        tokenizer.encode("a", nothing=1)
    cut = tokenizer.encode_pair("the harbour master", None, max_length=3)
    assert np.array_equal(cut.ids, tokenizer.encode("the harbour master", add_special_tokens=True)[:3])


def test_an_option_that_a_method_of_chats_does_not_take_is_refused_by_the_method_that_was_called():
    tok = Tokenizer.open(base_artifact())
    chat = [{"role": "user", "content": "a"}]
    methods = {
        tok.render_chat: (chat,),
        tok.chat_renderer: (),
        tok.encode_chat: (chat,),
        tok.chat_offsets: (chat,),
        tok.parse_chat: ([17],),
        tok.chat_parser: (),
    }
    for method, given in methods.items():
        for name, way in (
            ("tooools", "did you mean 'tools'?"),
            ("train_on", "labels() of the encoded chat takes it"),
            ("zzz", ""),
        ):
            with pytest.raises(TypeError) as caught:
                method(*given, **{name: 3})
            said = f"{method.__name__}() got an unexpected keyword argument '{name}'"
            assert str(caught.value) == (f"{said}; {way}" if way else said)
    for method in (tok.parse_chat, tok.chat_parser):
        with pytest.raises(TypeError, match="did you mean 'messages'"):
            method(*methods[method], mesages=chat)
    with pytest.raises(TypeError, match=r"^encode_chat.*did you mean 'special_tokens'"):
        tok.encode_chat(chat, special_token="parse")
    for continued in (continue_chat, prefix_stable):
        given = {"prefix_ids": [17], "new_from": 1} if continued is continue_chat else {}
        with pytest.raises(TypeError, match=rf"^{continued.__name__}.*did you mean 'tools'"):
            continued(tok, [*chat, *chat], **given, tooools=3)
