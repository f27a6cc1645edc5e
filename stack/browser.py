"""Opening of a page in the user's browser, where the shell's conventions allow it."""

import shutil
import subprocess
from collections.abc import Mapping


def command(environ: Mapping[str, str], platform: str, *, on_terminal: bool) -> str | None:
    """Return the program that opens a page, None if none should.

    None without a terminal, in CI and on a remote machine. `BROWSER` names another program; if it is
    empty, no page opens. Otherwise it is the desktop's own: `open` on macOS, `xdg-open` elsewhere.
    """
    if not on_terminal or environ.get("CI") or environ.get("SSH_CONNECTION"):
        return None
    if "BROWSER" in environ:
        return environ["BROWSER"].split(":")[0] or None
    if platform == "darwin":
        return "open"
    has_desktop = environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    return "xdg-open" if has_desktop else None


def open_page(program: str, url: str) -> subprocess.Popen[bytes] | None:
    """Start the program with the page and return its process, None if there is no such program."""
    path = shutil.which(program)
    if path is None:
        return None
    quiet = subprocess.DEVNULL
    return subprocess.Popen(  # noqa: S603 - the user's own choice
        [path, url], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
    )
