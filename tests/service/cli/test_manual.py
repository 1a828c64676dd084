"""The manual page: it holds what ``--help`` holds, and man can show it."""

import re
import shutil
import subprocess

import pytest

from service.cli import main
from service.cli.command_line import leaves, make_parser
from service.cli.manual import _text

pytestmark = pytest.mark.nightly


@pytest.fixture
def page(capsysbinary) -> bytes:
    assert main(["manual"]) == 0
    return capsysbinary.readouterr().out


@pytest.fixture
def shown(page) -> str:
    """The page as a terminal shows it, in single spaces and without styles."""
    if shutil.which("groff") is None:
        pytest.skip("there is no groff")
    command = ["groff", "-man", "-Tutf8", "-Kutf8", "-P-cbou", "-ww", "-rLL=100n"]
    done = subprocess.run(command, input=page, capture_output=True, timeout=60, check=False)
    assert done.stderr == b""
    return " ".join(done.stdout.decode().split())


def test_every_option_of_every_command_is_on_the_page_with_its_meaning(shown):
    for parser in leaves(make_parser()):
        assert parser.prog in shown
        assert " ".join(str(parser.description).split()) in shown
        for action in parser._actions[1:]:
            assert all(flag in shown for flag in action.option_strings)
            meaning = re.split(r"%", " ".join(str(action.help).split()))[0]
            assert meaning in shown


def test_the_statuses_are_those_of_the_help(shown, capsysbinary):
    main_help = make_parser(()).format_help()
    assert " ".join(main_help[main_help.index("Exit status") :].split()) in shown


def test_no_text_becomes_a_request_and_a_minus_stays_one():
    assert _text(".SH trap") == "\\&.SH trap"
    assert _text("'tis --no-auth \\n") == "\\&'tis \\-\\-no\\-auth \\en"
