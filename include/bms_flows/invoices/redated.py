"""Where to look for invoices that are missing from their day; pure.

An invoice that no longer comes with its day was deleted or dated anew. The service can't be asked
for one invoice, only for days: those that a date is likely to be moved to are read at once.
"""

from collections.abc import Collection
from datetime import date

from bms_flows.invoices.lookback import join_windows
from bms_flows.runtime.windows import DAY, Window

REACH = 31 * DAY
"""A date is moved by so much at most, or to a day from the look back to as far in the future."""


def search_windows(
    missing: Collection[Window],
    read: Collection[date],
    *,
    today: date,
    lookback_days: int,
    most: int,
) -> list[Window]:
    """Return the days to read for invoices missing from `missing`, without those `read` already.

    Those of the look back and of the next month, and a month before and after each window that lacks
    an invoice: of these at most `most` days, the latest.
    """
    if not missing:
        return []
    recent = Window(today - lookback_days * DAY, today + REACH)
    around = {
        day
        for window in missing
        for day in Window(window.start - REACH, window.end + REACH)
        if day not in recent
    }
    days = {*recent, *sorted(around.difference(read))[-most:]} - {*read}
    return join_windows((Window(day, day) for day in days), gap=0)
