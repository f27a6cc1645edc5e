"""Reports of a drop: rejected rows, rows to review, receipts."""
