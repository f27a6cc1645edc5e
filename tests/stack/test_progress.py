import io

import pytest

from stack.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class ClosedPipe(io.StringIO):
    def write(self, _text: str) -> int:
        raise BrokenPipeError


def test_plain_lines_without_a_terminal() -> None:
    stream = io.StringIO()
    progress = Progress({"api-server": 12.4}, stream)
    progress.show(["api-server", "another"])
    progress.start("api-server")
    progress.refresh()
    progress.finish("api-server", 11.26)
    progress.start("another")
    progress.close()
    assert stream.getvalue() == (
        "api-server: started, takes about 12 s\napi-server: done in 11.3 s\nanother: started\n"
    )


def test_terminal_shows_finished_running_and_waiting_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = Progress({"one": 2, "two": 5, "three": 9}, stream)
    progress.show(["one", "two", "three"])
    progress.start("one")
    progress.finish("one", 1.5)
    progress.start("two")
    progress.note("two", "half of it")
    progress.close()
    last = stream.getvalue()
    assert "1.5 s" in last
    assert "of about 5 s" in last
    assert "half of it" in last
    assert "about 9 s" in last


def test_long_lines_are_not_wrapped() -> None:
    stream = io.StringIO()
    Progress({}, stream).print("x" * 300 + " [not markup]")
    assert stream.getvalue() == "x" * 300 + " [not markup]\n"


def test_closed_pipe_does_not_interrupt_the_stop() -> None:
    progress = Progress({}, ClosedPipe())
    progress.show(["one"])
    progress.start("one")
    progress.finish("one", 1)
    progress.close()
    progress.print("stopped")
