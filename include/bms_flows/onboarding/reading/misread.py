"""A cell that can't be what its column holds."""


class Misread(Exception):
    """The cell is refused; says which fault it is and never what the cell held."""

    def __init__(self, code: str, **details: str | int) -> None:
        super().__init__(code)
        self.code = code
        self.details = details
