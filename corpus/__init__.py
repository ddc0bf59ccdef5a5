"""A corpus of small quantized networks that holds the NPU model against two oracles.

    .venv/bin/python -m corpus table                 # measure everything; writes docs/exactness.md
    .venv/bin/python -m corpus run CONV_2D int8      # one row of the table
    .venv/bin/python -m corpus one CONV_2D int8 17   # one case: its network, and each comparison
    .venv/bin/python -m corpus damage                # wrong outputs: nothing excuses them

A case is an operator, a dtype and a seed: the same network on every machine. Generators make their
choices through `choices.Choices`, which a seed or hypothesis answers, so that hypothesis can shrink
what a seed has found (`reduce`).
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

sys.path.insert(0, str(ROOT / "tests"))  # the tests' builder of networks serves both
