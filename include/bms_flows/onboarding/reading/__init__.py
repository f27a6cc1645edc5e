"""Readers of dropped CSV files and workbooks."""
