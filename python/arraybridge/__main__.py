"""`python -m arraybridge`: what was found on this machine, and what conversions cost here."""

from __future__ import annotations

import os
import sys

from arraybridge._cli.arguments import main

if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads has seen enough, as `head` has. What is left must not be written when the interpreter exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)
