"""The seed of random networks: new for each commit, and the same in every test of that commit.

With a new seed for each run, a commit that has passed could fail later, and a new CI run could not
repeat the failure.
"""

import hashlib
import os
import secrets
import subprocess
from pathlib import Path


def fresh_seed(limit: int) -> int:
    """Return CORPUS_SEED if it is set, otherwise a number below `limit` from the commit.

    Outside a git checkout the number is random.
    """
    fixed = os.environ.get("CORPUS_SEED")
    if fixed:
        return int(fixed)
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=Path(__file__).parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        return secrets.randbelow(limit)
    return int.from_bytes(hashlib.sha256(done.stdout.strip().encode()).digest()[:8], "big") % limit
