"""Start of the command `bms`, also as `python -m bms_cli`."""

import sys

from bms_flows import extra


def main() -> int:
    """Run the command and return its exit code."""
    try:
        extra.require()
    except extra.MissingExtra as error:
        sys.stderr.write(f"bms: {error}\n")
        return 2
    try:
        from bms_cli import app

        return app.main()
    except KeyboardInterrupt:  # while modules are imported; later, Typer ends with the same code
        return 130


if __name__ == "__main__":
    sys.exit(main())
