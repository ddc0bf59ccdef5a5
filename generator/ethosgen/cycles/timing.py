"""Times pieces of code with llvm-mca: the cycles until the next code could be issued.

llvm-mca reports the cycles until the last result is ready. So each piece is followed by enough
instructions without operands to outlast that, and the time of these alone is subtracted. The last
instruction of a piece may be issued together with the first of these, so the only exact figures are
differences between a piece and a longer one that begins with it: the cycles of the added code.
"""

import hashlib
import json
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from ethosgen.cycles.models import PLAIN, CoreModel
from ethosgen.host.folders import cache_folder
from ethosgen.host.tools import LLVM_MCA, CommandError, run_command
from ethosgen.values.errors import ToolError

Piece = tuple[str, ...]
"""Instructions that run one after another."""

_LIMIT_S = 600.0
_PADDING: Piece = (PLAIN,) * 64
"""It outlasts every instruction but divisions of doubles."""
_TOGETHER = 400
"""Pieces for one process."""
_FIRST, _LAST = 4, 12
"""A piece that repeats itself is timed between these repetitions."""
_BUSY_S = 60.0


class BlockTimer:
    """Times pieces of code on a core; results are stored in the user's cache folder."""

    def __init__(self, model: CoreModel, store: Path | None = None) -> None:
        self.model = model
        self._program = LLVM_MCA.find()
        self._version = _version(self._program)
        self._store = store or cache_folder() / "cycles.sqlite"
        self._known: dict[Piece, int] = {}

    def issue_cycles(self, pieces: Iterable[Piece]) -> Mapping[Piece, int]:
        """Return the cycles until the code after each piece could be issued."""
        wanted = {piece: (*piece, *_PADDING) for piece in (*pieces, ())}
        self._time(wanted.values())
        base = self._known[_PADDING]
        return {piece: self._known[padded] - base for piece, padded in wanted.items()}

    def repeated_cycles(self, pieces: Iterable[Piece]) -> Mapping[Piece, float]:
        """Return the cycles of each piece that runs again and again."""
        some = list(pieces)
        times = self.issue_cycles(piece * count for piece in some for count in (_FIRST, _LAST))
        span = _LAST - _FIRST
        return {piece: (times[piece * _LAST] - times[piece * _FIRST]) / span for piece in some}

    def _time(self, pieces: Iterable[Piece]) -> None:
        missing = [piece for piece in dict.fromkeys(pieces) if piece not in self._known]
        if not missing:
            return
        keys = {piece: self._key(piece) for piece in missing}
        with closing(_open(self._store)) as store:
            stored = _stored(store, keys.values())
            self._known |= {piece: stored[key] for piece, key in keys.items() if key in stored}
            for some in _parts([piece for piece in missing if keys[piece] not in stored]):
                times = dict(zip(some, self._run(some), strict=True))
                self._known |= times
                with store:
                    rows = [(keys[piece], cycles) for piece, cycles in times.items()]
                    store.executemany("INSERT OR IGNORE INTO cycles VALUES (?, ?)", rows)

    def _key(self, piece: Piece) -> str:
        words = "\n".join((self._version, self.model.cpu, *piece))
        return hashlib.sha256(words.encode()).hexdigest()

    def _run(self, pieces: Sequence[Piece]) -> Iterator[int]:
        with tempfile.NamedTemporaryFile("w", suffix=".s", prefix="ethosgen-") as source:
            source.write("\n".join(_regions(pieces)))
            source.flush()
            command = [
                *(str(self._program), "-json", "-iterations=1"),
                "-skip-unsupported-instructions=any",
                *(f"-mtriple={self.model.triple}", f"-mcpu={self.model.cpu}", source.name),
            ]
            try:
                output = run_command(command, _LIMIT_S)
            except CommandError as error:
                raise ToolError(f"cannot time code: {error}: {error.words.strip()}") from None
        yield from read_cycles(output)


def read_cycles(output: str) -> Iterator[int]:
    """Yield the cycles of each region of llvm-mca's output as JSON; warnings may be before it."""
    text = output[output.index("{") :]
    value: Mapping[str, Any] = json.JSONDecoder().raw_decode(text)[0]
    for region in value["CodeRegions"]:
        yield int(region["SummaryView"]["TotalCycles"])


def _regions(pieces: Iterable[Piece]) -> Iterator[str]:
    for number, piece in enumerate(pieces):
        yield f"@ LLVM-MCA-BEGIN {number}"
        yield from piece
        yield "@ LLVM-MCA-END"
    yield ""


def _parts(pieces: Sequence[Piece]) -> Iterator[Sequence[Piece]]:
    rest = iter(pieces)
    while some := list(islice(rest, _TOGETHER)):
        yield some


def _version(program: Path) -> str:
    try:
        return run_command([str(program), "--version"], _LIMIT_S).split("\n  ")[0]
    except CommandError as error:
        raise ToolError(f"llvm-mca does not report its version: {error}") from None


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    store = sqlite3.connect(path, timeout=_BUSY_S)
    store.execute("CREATE TABLE IF NOT EXISTS cycles (piece TEXT PRIMARY KEY, cycles INTEGER)")
    return store


def _stored(store: sqlite3.Connection, keys: Iterable[str]) -> Mapping[str, int]:
    rows = (
        store.execute("SELECT piece, cycles FROM cycles WHERE piece = ?", (key,)).fetchone()
        for key in keys
    )
    return dict(row for row in rows if row is not None)
