"""Windows of days, and the window that a run requests; pure, in the company's time zone."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

DAY = timedelta(days=1)


class InvalidWindow(ValueError):
    """The requested days are no valid window; the text names the correction."""

    retriable = False


@dataclass(frozen=True, order=True)
class Window:
    """Days from `start` to `end`, both inclusive."""

    start: date
    end: date

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise InvalidWindow(f"end_date {self.end} is before start_date {self.start}; swap them")

    def __str__(self) -> str:
        return f"{self.start}/{self.end}"

    @classmethod
    def parse(cls, text: str) -> "Window":
        """Return the window that `str` wrote."""
        start, _, end = text.partition("/")
        return cls(date.fromisoformat(start), date.fromisoformat(end))

    @property
    def days(self) -> int:
        """The number of days."""
        return (self.end - self.start).days + 1

    def __iter__(self) -> Iterator[date]:
        """Yield the days, oldest first."""
        return (self.start + n * DAY for n in range(self.days))

    def __contains__(self, day: date) -> bool:
        return self.start <= day <= self.end

    def cut(self, days: int) -> list["Window"]:
        """Cut into windows of at most `days`."""
        starts = (self.start + n * DAY for n in range(0, self.days, days))
        return [Window(start, min(start + (days - 1) * DAY, self.end)) for start in starts]

    def halves(self) -> list["Window"]:
        """Cut into two, for a service that refuses the range as too long."""
        return self.cut((self.days + 1) // 2)


def requested_window(
    *,
    start_date: date | None,
    end_date: date | None,
    interval: tuple[datetime, datetime] | None,
    run_after: datetime,
    zone: ZoneInfo,
) -> Window:
    """Return the window that a run requests.

    Given dates take precedence, then the whole days of the data interval, then the last complete
    day before `run_after`. Moments are aware; days are in `zone`.
    """
    if start_date or end_date:
        if start_date is None:
            raise InvalidWindow(
                "end_date is given without start_date; give both, or start_date alone"
            )
        return Window(start_date, end_date or max(start_date, local_date(run_after, zone) - DAY))
    if interval is None or interval[0] >= interval[1]:
        day = local_date(run_after, zone) - DAY
        return Window(day, day)
    last = local_date(interval[1], zone) - DAY
    return Window(min(local_date(interval[0], zone), last), last)


def local_date(moment: datetime, zone: ZoneInfo) -> date:
    """Return the date of a moment in the company's zone."""
    return moment.astimezone(zone).date()
