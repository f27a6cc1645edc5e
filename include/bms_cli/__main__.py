"""`python -m bms_cli`: the command `bms` where its script is not on the path."""

import sys

from bms_cli.app import main

if __name__ == "__main__":
    sys.exit(main())
