"""Shared runtime of the flows: context, settings, step log, files, columns, reasons and list reading."""
