"""Arguments that ``encode`` does not take: the error names the method or the option that does."""

import numpy as np
import pytest

from tests.support.tokenizers import write_layout
from tokenizer_core import InvalidOption, Tokenizer


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
