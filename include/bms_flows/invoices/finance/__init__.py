"""The invoice report: figures for finance, from what the warehouse held at a time."""
