"""Reading: a dropped file becomes a sheet of exact values, or is refused by name. Pure, on bytes."""

from bms_flows.drops.reading.reader import read

__all__ = ["read"]
