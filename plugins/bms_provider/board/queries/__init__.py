"""Database queries of the board, one module per page or section."""
