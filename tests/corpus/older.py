"""Compiles the corpus's networks for Ethos-U85 with another Vela, and compares their outputs.

    python -m tests.corpus.older VELA [ROW ...]        # a row: SUM:int32; default: all of U85

VELA is the `vela` of another version, in an environment of its own. Each network that differs from
its oracle, or ends in a fault, is printed; docs/inspection.md has the causes.
"""

import argparse
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.evidence_streams import CompiledNetwork
from ethosgen.frontend.tflite.reader import decode_network, parse_network
from ethosgen.values.errors import EthosgenError
from tests.corpus import cache
from tests.corpus.oracles import ask
from tests.corpus.registry import ROWS, products_of
from tests.corpus.trial import Key, case_of, make_samples

NPU = "ethos-u85-256"
LIMIT_S = 60.0
OURS, FAULT, EQUAL, DIFFERS, SILENT = "not on the NPU", "fault", "equal", "differs", "no oracle"
QUIET = (OURS, EQUAL, SILENT)


def compiled(vela: str, data: bytes, more: Sequence[str] = ()) -> bytes | None:
    """Return the file that Vela makes of a network, None if it makes none."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "net.tflite"
        source.write_bytes(data)
        command = [vela, str(source), "--accelerator-config", NPU, "--output-dir", folder, *more]
        subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False)
        output = Path(folder) / "net_vela.tflite"
        return output.read_bytes() if output.exists() else None


def compare(vela: str, key: Key, more: Sequence[str] = ()) -> tuple[str, str]:
    """Return the verdict on a network that another Vela compiled, and its details."""
    case = case_of(key)
    data = compiled(vela, case.data, more)
    if data is None:
        return OURS, "Vela refuses it"
    try:
        theirs = parse_network(data, str(key))
        if all(op.code != "CUSTOM" for op in theirs.graph.operators):
            return OURS, ""
        return _against_oracle(key, CompiledNetwork(theirs))
    except EthosgenError as error:
        return FAULT, str(error)


def _against_oracle(key: Key, program: CompiledNetwork) -> tuple[str, str]:
    case = case_of(key)
    network = decode_network(case.data, str(key))
    samples = make_samples(network, case, key.seed)
    inputs = [[np.asarray(sample[t.name]) for t in network.inputs] for sample in samples]
    for oracle in ("tflm", "litert"):
        how, golden = ask(oracle, [(case.data, inputs, len(network.outputs))])[0]
        if how == "ok":
            outputs = [program.run(arrays) for arrays in inputs]
            pairs = [
                (a, b)
                for x, y in zip(outputs, golden, strict=True)
                for a, b in zip(x, y, strict=True)
            ]
            wrong = sum(int(np.count_nonzero(np.ravel(a) != np.ravel(b))) for a, b in pairs)
            total = sum(np.size(a) for a, _ in pairs)
            assert total
            return (DIFFERS if wrong else EQUAL), f"{wrong} of {total} values, by {oracle}"
    return SILENT, ""


def main() -> None:
    """Print the networks that differ or end in a fault, and the sums."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.older", description=__doc__)
    parser.add_argument("vela")
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--cases", type=int, default=1, help="networks for each row")
    parser.add_argument("--option", action="append", default=[], help="an option of Vela")
    arguments = parser.parse_args()
    cache.use()
    rows = [tuple(row.rsplit(":", 1)) for row in arguments.rows] or [
        row for row in ROWS if "u85" in products_of(*row)
    ]
    counts: Counter[str] = Counter()
    for name, dtype in rows:
        for seed in range(arguments.cases):
            key = Key(name, dtype, seed)
            how, why = compare(arguments.vela, key, arguments.option)
            counts[how] += 1
            if how not in QUIET:
                print(f"{key}: {how}: {why}", flush=True)
    print(", ".join(f"{count} {how}" for how, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
