"""
``python -m bench.peers``: see `bench.peers.run`.
"""

from __future__ import annotations

import sys

from bench.peers.run import main

if __name__ == "__main__":
    sys.exit(main())
