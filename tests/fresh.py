"""The seed of random networks: new for each commit, and the same whenever that commit is tested.

A seed drawn at each run would fail a commit that passed before, and could not be repeated by
running CI again.
"""

import hashlib
import os
import secrets
import subprocess
from pathlib import Path


def fresh_seed(limit: int) -> int:
    """Return CORPUS_SEED if it is set, else a number below `limit` that the commit determines.

    Outside a git checkout it is drawn at random.
    """
    given = os.environ.get("CORPUS_SEED")
    if given:
        return int(given)
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=Path(__file__).parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        return secrets.randbelow(limit)
    return int.from_bytes(hashlib.sha256(done.stdout.strip().encode()).digest()[:8], "big") % limit
