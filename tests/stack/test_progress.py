import io

import pytest

from stack.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Gone(io.StringIO):
    def write(self, _text: str) -> int:
        raise BrokenPipeError


def test_plain_lines_where_no_terminal_is() -> None:
    stream = io.StringIO()
    progress = Progress({"api-server": 12.4}, stream)
    progress.announce(["api-server"])
    progress.begin("api-server")
    progress.tick()
    progress.done("api-server", 11.26)
    progress.settle()
    assert stream.getvalue() == "api-server … (about 12 s)\napi-server: 11.3 s\n"


def test_terminal_shows_what_is_done_under_way_and_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = Progress({"one": 2, "two": 5, "three": 9}, stream)
    progress.announce(["one", "two", "three"])
    progress.begin("one")
    progress.done("one", 1.5)
    progress.begin("two")
    progress.note("two", "half of it")
    progress.settle()
    last = stream.getvalue()
    assert "1.5 s" in last
    assert "of about 5 s" in last
    assert "half of it" in last
    assert "about 9 s" in last


def test_line_longer_than_a_terminal_is_left_whole() -> None:
    stream = io.StringIO()
    Progress({}, stream).say("x" * 300 + " [not markup]")
    assert stream.getvalue() == "x" * 300 + " [not markup]\n"


def test_lost_terminal_does_not_stop_the_stop() -> None:
    progress = Progress({}, Gone())
    progress.announce(["one"])
    progress.begin("one")
    progress.done("one", 1)
    progress.settle()
    progress.say("stopped")
