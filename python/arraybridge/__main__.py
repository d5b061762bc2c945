"""`python -m arraybridge`: what was found on this machine, and what conversions cost here."""

from __future__ import annotations

import sys

from arraybridge._cli.arguments import main

if __name__ == "__main__":
    sys.exit(main())
