"""Answers of `bms why`: what happened to an invoice, a record, a drop or an alarm, and what happens next."""
