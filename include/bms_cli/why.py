"""The command `bms why`: the timeline of an invoice, a record, a drop or an alarm."""

import getpass
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer

from bms_cli.options import DataRoot, Json, Url, typed
from bms_cli.output import NOTHING_FOUND, WELL, show_error, show_result
from bms_cli.warehouse import connected

app = typer.Typer(
    no_args_is_help=True,
    help="Explain one thing: what happened when and by which run, who decided, and what happens next.",
)
ShowPersonal = Annotated[
    bool,
    typer.Option("--show-personal", help="Show personal values. PostgreSQL's log records the use."),
]


@app.command()
def invoice(
    number: Annotated[str, typer.Argument(callback=typed, help="Id or reference number.")],
    url: Url,
    data_root: DataRoot,
    show_personal: ShowPersonal = False,
    as_json: Json = False,
) -> None:
    """Explain an invoice, also one that is not there: days read, next read, holes of its series."""
    shown = f"invoice {number}" if show_personal else ""
    _answer("invoices", url, as_json, number, root=data_root, personal=shown)


def _of(resource: str) -> Callable[..., None]:
    def command(
        key: Annotated[
            str,
            typer.Argument(
                metavar="ID", callback=typed, help="Id, payroll number or mail address."
            ),
        ],
        url: Url,
        data_root: DataRoot,
        show_personal: ShowPersonal = False,
        as_json: Json = False,
    ) -> None:
        shown = resource if show_personal else ""
        _answer("records", url, as_json, resource, key, root=data_root, personal=shown)

    command.__doc__ = (
        "Explain a record of the service: versions, drops, decisions, possible duplicates."
    )
    return command


for each in ("employee", "contact", "consultant"):
    app.command(each)(_of(each))


@app.command()
def drop(
    number: Annotated[int, typer.Argument(metavar="ID", help="Number of the drop.")],
    url: Url,
    line: Annotated[list[str] | None, typer.Argument(metavar="[line N]", help="A line.")] = None,
    as_json: Json = False,
) -> None:
    """Explain a dropped file, or a line of it: `bms why drop 12 line 7`."""
    match line or []:
        case []:
            wanted = None
        case ["line", digits] if digits.isdecimal():
            wanted = int(digits)
        case _:
            raise typer.BadParameter("write `bms why drop 12`, or `bms why drop 12 line 7`")
    _answer("drops", url, as_json, number, wanted)


@app.command()
def alarm(
    number: Annotated[int, typer.Argument(metavar="ID", help="Number of the alarm.")],
    url: Url,
    as_json: Json = False,
) -> None:
    """Explain an alarm: what opened it, what was sent, and what it waits for to close."""
    _answer("alarms", url, as_json, number)


def _answer(
    topic: str, url: str, as_json: bool, *given: object, root: str = "", personal: str = ""
) -> None:
    """Print the answers of a module of `inquiry`; exit with 3 if the thing is not there.

    `personal` names what is shown of persons.
    """
    from bms_flows.inquiry.answer import Inquiry
    from bms_flows.onboarding.settings import OnboardingSettings
    from bms_flows.runtime import storage
    from bms_flows.runtime.notice import Links
    from bms_warehouse.database import clock

    settings, folder = OnboardingSettings.from_environment(), storage.data_root(root)
    with connected(url) as engine, engine.connect() as connection:
        if personal:
            _record_use(connection, personal)
        asked = Inquiry(connection, settings, clock(connection), folder, bool(personal))
        found = import_module(f"bms_flows.inquiry.{topic}").why(asked, *given)
    lines = (text for each in found for text in each.lines(Links.of(settings)))
    show_result(as_json, {"answers": [each.as_dict() for each in found]}, lines)
    raise typer.Exit(WELL if all(each.found for each in found) else NOTHING_FOUND)


def _record_use(connection: Any, what: str) -> None:
    """Record in PostgreSQL's log, which this user can't edit, that personal values are shown."""
    from sqlalchemy import text

    who = "unknown"
    with suppress(KeyError, OSError):
        who = getpass.getuser()
    connection.execute(text("select set_config('bms.shown', :text, true)"), {"text": f"{who} shows personal values: bms why {what}"})  # fmt: skip
    connection.execute(text("do $$ begin raise log '%', current_setting('bms.shown'); end $$"))
    show_error("PostgreSQL's log records that personal values were shown.")
