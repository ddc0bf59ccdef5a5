"""Outputs by sample in a file of JSON lines, so that a long run can continue after a stop.

The first line identifies the run; each further line has one sample's outputs.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from ethosgen.host.locking import try_lock
from ethosgen.values.errors import InputError, cannot_write
from ethosgen.values.network import Tensor
from ethosgen.values.outcome import Arrays

KIND = "ethosgen accuracy"


class Results:
    """A results file, open for one run; only one process may have it.

    `identity` must be equal in the file, or it is another run's: InputError, and nothing is
    written. A last line that was cut off is dropped.
    """

    def __init__(
        self, path: Path, identity: Mapping[str, Any], outputs: Sequence[Tensor], samples: int
    ) -> None:
        self._path = path
        self._head = {"kind": KIND, **identity}
        self._tensors = {tensor.name: tensor for tensor in outputs}
        self._samples = samples
        self._file: IO[bytes] | None = None
        self.kept: dict[str, dict[int, Arrays]] = {}
        """The outputs in the file, by target and sample."""

    def __enter__(self) -> "Results":
        try:
            self._file = self._path.open("a+b")
        except OSError as error:
            raise cannot_write(self._path, error) from None
        try:
            self._take()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._file is not None
        self._file.close()

    def add(self, on: str, sample: int, outputs: Arrays) -> None:
        """Write one sample's outputs, perhaps none; they are in the file when this returns."""
        values = {name: array.reshape(-1).tolist() for name, array in outputs.items()}
        self._write({"on": on, "sample": sample, "outputs": values or None})

    def _write(self, line: Mapping[str, Any]) -> None:
        assert self._file is not None
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise cannot_write(self._path, error) from None

    def _take(self) -> None:
        """Lock the file, check its identity, and read its samples."""
        assert self._file is not None
        if not try_lock(self._file):
            raise InputError(
                f"'{self._path}' is in use by another run; wait for it, or name another --results"
            )
        self._file.seek(0)
        data = self._file.read()
        if not data:
            self._write(self._head)
            return
        whole = data[: data.rfind(b"\n") + 1]
        head, *lines = whole.splitlines() or [b""]
        self._check(head)
        if len(whole) < len(data):  # a line that was cut off when its run was stopped
            self._file.truncate(len(whole))
        for number, line in enumerate(lines, 2):
            self._keep(number, line)

    def _check(self, line: bytes) -> None:
        try:
            head = json.loads(line)
        except ValueError:
            head = None
        if not isinstance(head, dict) or head.get("kind") != KIND:
            raise InputError(
                f"'{self._path}' is not a results file of this command; name another --results"
            )
        other = next((key for key in self._head if head.get(key) != self._head[key]), None)
        if other is not None:
            raise InputError(
                f"'{self._path}' has the results of another run, whose {other} differs; name "
                "another --results, or delete it"
            )

    def _keep(self, number: int, line: bytes) -> None:
        try:
            entry = json.loads(line)
            on, sample, values = entry["on"], entry["sample"], entry["outputs"]
            arrays = {
                name: np.array(values[name], tensor.dtype).reshape(tensor.shape)
                for name, tensor in ({} if values is None else self._tensors).items()
            }
            if not 0 <= sample < self._samples or not isinstance(on, str):
                raise ValueError("no such sample")
        except (ValueError, KeyError, TypeError, OverflowError):
            raise InputError(
                f"'{self._path}', line {number}: not a sample's outputs; delete the file"
            ) from None
        self.kept.setdefault(on, {})[sample] = arrays
