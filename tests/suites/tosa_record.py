"""Writes the record of TOSA's conformance suite from the files that its runner wrote.

    python -m tests.suites.tosa_record cpu=FOLDER/cpu.xml ethos-u55-128=FOLDER/ethos-u55-128.xml

A setting may have several files; of a test that several have, the last one counts. Rows of other
settings stay as the record has them.
"""

import datetime
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.suites.page import RECORDS, Group, Record, record_of, write_record
from tests.suites.tosa import REFUSED, VERSION, Result, read_results

NEGATIVE = "_ERRORIF_"
"""Is in the names of tests that must be refused."""

ABOUT = (
    "The integer profile with the extensions int16, int4, doubleround, inexactround and "
    "controlflow: on the host with the C for the CPU, and with the NPU model where Vela takes the "
    "operator. The floating-point profile, in float32 and in float16 by conversion, with the "
    "extensions fft and controlflow: on the CPU. The suite's own runner compares with TOSA's "
    "reference model, integers bit by bit and floats within TOSA's bounds. A negative test passes "
    "if ethosgen refuses it by a sentence. The suite has no tests of variables. Of operators with "
    "many tests a part was drawn; of the convolutions and rfft2d all floating-point tests ran. The "
    "convolutions that were drawn for the NPUs are, but for three, without those of 8,192, of "
    "which Vela makes thousands of operations in minutes. Three drawn tests that had been late on "
    "Ethos-U85 had such windows or an axis of 65,536; five of their kind ran again. 15 of conv3d "
    "differed on Ethos-U55, where Vela leaves out biases behind "
    "padding; they stay on the CPU since, and ran again."
)


CAUSES = {
    "does not fit board": "the network does not fit the board's memory",
    "UNEXPECTED_FAILURE: late": "no answer within the time limit, on a busy machine: an axis of "
    "65,536, or a kernel or stride of 8,192",
}
"""Causes that were found, by words of the messages."""


def rows(on: str, results: Iterable[Result]) -> list[Group]:
    """Return a row for the positive tests of a setting, and one for the negative ones, if any."""
    by_kind: dict[str, list[Result]] = {"positive": [], "negative": []}
    for result in results:
        if result.end != "skipped":
            by_kind["negative" if NEGATIVE in result.name else "positive"].append(result)
    return [_row(f"{on}, {kind}", ended) for kind, ended in by_kind.items() if ended]


def _row(group: str, results: Sequence[Result]) -> Group:
    failed = [result for result in results if result.end == "failed"]
    refused = [_reason(result.why) for result in failed if REFUSED in result.why]
    different = [_reason(result.why) for result in failed if REFUSED not in result.why]
    return Group(
        group=group,
        tried=len(results),
        passed=len(results) - len(failed),
        refused=dict(Counter(refused)),
        different=dict(Counter(different)),
    )


def _reason(why: str) -> str:
    """Return the cause of a message, or the message without names of tensors and numbers."""
    for words, cause in CAUSES.items():
        if words in why:
            return cause
    text = re.sub(r"'[^']*'", "'…'", why.rpartition(REFUSED)[2])
    return re.sub(r"\b\d+(, \d+)*\b", "N", " ".join(text.split()))[:200]


def record(files: Mapping[str, Sequence[Path]], before: Sequence[Group] = ()) -> Record:
    """Return the record of the runner's files by setting, with other rows as they were before."""
    groups: list[Group] = []
    for on, paths in files.items():
        results = {result.name: result for path in paths for result in read_results(path)}
        groups += rows(on, results.values())
    new = {group.group for group in groups}
    return Record(
        suite="TOSA's conformance suite",
        version=f"{VERSION} (tosa-tools 2026.8)",
        about=ABOUT,
        measured=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        command="python -m tests.suites.tosa FOLDER",
        rows=(*(row for row in before if row.group not in new), *groups),
    )


def main(arguments: Sequence[str]) -> int:
    """Write the record."""
    files: dict[str, list[Path]] = defaultdict(list)
    for argument in arguments:
        on, _, name = argument.partition("=")
        files[on].append(Path(name))
    path = RECORDS / "tosa.json"
    write_record(path, record(files, record_of(json.loads(path.read_text())).rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
