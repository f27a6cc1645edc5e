import io

import pytest

from stack.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class ClosedPipe(io.StringIO):
    def write(self, _text: str) -> int:
        raise BrokenPipeError


def phase(progress: Progress) -> None:
    progress.begin("start")
    progress.update("api-server, scheduler")
    progress.row("Invoices", "136 read.", "Each once.", done=True)
    progress.update("scheduler")
    progress.end()


def test_without_a_terminal_there_is_no_progress_and_no_control_character() -> None:
    stream = io.StringIO()
    phase(Progress({}, stream))
    assert stream.getvalue() == "✓ Invoices   136 read.\n             Each once.\n"


def test_a_terminal_shows_elapsed_and_expected_seconds_in_one_overwritten_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    phase(Progress({"start": 12.4}, stream))
    assert stream.getvalue() == (
        "\r\033[K    0 s of about 12 s  api-server, scheduler"
        "\r\033[K✓ Invoices   136 read.\n             Each once.\n"
        "\r\033[K    0 s of about 12 s  scheduler"
        "\r\033[K"
    )


def test_progress_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    Progress({}, stream).update("x" * 100)
    assert len(stream.getvalue().removeprefix("\r\033[K")) < 40


@pytest.mark.parametrize(("variable", "value"), [("TERM", "dumb"), ("NO_COLOR", "1")])
def test_styles_need_a_capable_terminal(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Progress({}, Terminal()).bold("a") != "a"
    monkeypatch.setenv(variable, value)
    assert Progress({}, Terminal()).bold("a") == "a"


def test_estimates_are_measurements_of_this_machine_rounded_up_to_five() -> None:
    progress = Progress({"start": 11.2, "scenarios": 24.1, "stop": 1}, io.StringIO())
    assert progress.expected("start") == 15
    assert progress.expected("start", "scenarios", "stop") == 40


def test_closed_pipe_does_not_interrupt_the_stop() -> None:
    progress = Progress({}, ClosedPipe())
    phase(progress)
    progress.print("stopped")
