"""Record of a load: what its step run stores, and the manifest for XCom."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bms_flows.invoices.transform import Transform
from bms_flows.invoices.units import Unit
from bms_flows.runtime import manifest


@dataclass(frozen=True)
class LoadRecord:
    """Facts of a load, enough to load it again from its stored responses.

    `raw` is relative to the data root.
    """

    unit: Unit
    step_run_id: int
    raw: str
    language: str
    accepted: Mapping[str, str | None] = field(default_factory=dict)
    """Measures that an operator accepts with the load, with the first day."""

    def manifest(self, transform: Transform) -> dict[str, Any]:
        """Return the load's manifest for XCom: numbers, days and paths, no rows."""
        totals = transform.totals.by_currency
        return {
            "version": manifest.VERSION,
            "step_run_id": self.step_run_id,
            "state": "complete",
            "whole": True,
            "id_entity": self.unit.id_entity,
            "days": str(self.unit.span),
            "raw": self.raw,
            **vars(transform.counts),
            "totals": {currency: each.as_dict() for currency, each in totals.items()},
        }

    def details(self, unit: Unit, transform: Transform) -> dict[str, Any]:
        """Return the step run's details for the days of `unit`."""
        return {
            **unit.as_dict(),
            "raw": self.raw,
            "language": self.language,
            "zone": transform.reading.zone,
            "range_date": transform.reading.range_date,
            "read_at": transform.read_at.isoformat(),
            "volatile": sorted(transform.reading.volatile),
            "fields": transform.rows.counts.as_dict(),
        }
