"""Two networks that take turns in one arena, the second perhaps only if the first wakes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.applications.anomaly import decimal
from ethosgen.applications.application import (
    TEMPLATES,
    Networks,
    Run,
    Settings,
    require_networks,
    require_one_port,
)
from ethosgen.samples.drawing import draw_samples
from ethosgen.samples.files import load_samples
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays

_TYPES = ("int8", "uint8")
_DRAWN = 8


@dataclass(frozen=True)
class Turns:
    """Runs two networks in turn."""

    name: str = "turns"
    templates: str = TEMPLATES
    title: str = "run two networks in turn, the second in each round or when the first wakes it"
    accepts: str = "two .npz files or folders: samples for each network, as --input takes them"
    files: tuple[str, ...] = ("application.c", "inputs.h", "inputs_host.c", "settings.h")

    def check(self, networks: Networks) -> None:
        """Raise InputError unless there are two networks of one input and one output each."""
        require_networks(self.name, networks, 2, "two networks, in the order of their turns")
        for network in networks:
            require_one_port(self.name, network, _TYPES)

    def facts(self, networks: Networks) -> dict[str, Any]:
        """Return nothing: the templates need no further values."""
        return {}

    def item_bytes(self, networks: Networks) -> int:
        """Return the size of both inputs."""
        return sum(network.inputs[0].bytes for network in networks)

    def item_s(self, settings: Settings) -> float | None:
        """Return the time from one round to the next."""
        return settings["PERIOD_MS"] / 1000

    def load(self, paths: Sequence[Path], networks: Networks) -> list[bytes]:
        """Read a file for each network; the first samples of both are a round, and so on."""
        if len(paths) != len(networks):
            raise InputError(
                f"the application takes a file for each network ({' and '.join(_names(networks))}),"
                f" but got {counted(len(paths), 'file')}"
            )
        samples = [
            load_samples(path, network.inputs)
            for path, network in zip(paths, networks, strict=True)
        ]
        counts = [len(sample) for sample in samples]
        if len(set(counts)) > 1:
            raise InputError(
                f"'{paths[0]}' has {counted(counts[0], 'sample')}, but '{paths[1]}' has "
                f"{counts[1]:,}; a round needs one of each"
            )
        return _rounds(samples, networks)

    def draw(self, networks: Networks, seed: int) -> list[bytes]:
        """Return random samples of both."""
        return _rounds([draw_samples(network, _DRAWN, seed) for network in networks], networks)

    def expect(
        self, items: Sequence[bytes], networks: Networks, run: Run, settings: Settings
    ) -> list[str]:
        """Return a line for each round: the time, and the best class of each network."""
        first, second = networks
        size = first.inputs[0].bytes
        ours = [
            _best(outputs, first)
            for outputs in run(0, [_sample(item[:size], first) for item in items])
        ]
        wakes = [settings["WAKING_CLASS"] in (-1, best) for best, _ in ours]
        awake = [
            _sample(item[size:], second) for item, wake in zip(items, wakes, strict=True) if wake
        ]
        theirs = iter([_best(outputs, second) for outputs in run(1, awake)])
        lines = []
        for number, (mine, wake) in enumerate(zip(ours, wakes, strict=True)):
            time = decimal(number * settings["PERIOD_MS"])
            other = _result_text(second, next(theirs)) if wake else f"{second.name}: asleep"
            lines.append(f"{time:>10} s  {_result_text(first, mine)}  {other}")
        return lines


def _names(networks: Networks) -> list[str]:
    return [network.name for network in networks]


def _rounds(samples: Sequence[Sequence[Arrays]], networks: Networks) -> list[bytes]:
    return [
        b"".join(
            np.ascontiguousarray(sample[network.inputs[0].name]).tobytes()
            for sample, network in zip(both, networks, strict=True)
        )
        for both in zip(*samples, strict=True)
    ]


def _sample(item: bytes, network: Network) -> Arrays:
    tensor = network.inputs[0]
    return {tensor.name: np.frombuffer(item, tensor.dtype).reshape(tensor.shape)}


def _best(outputs: Arrays, network: Network) -> tuple[int, int]:
    """Return the best class (among equals, the first) and its score."""
    scores = outputs[network.outputs[0].name].ravel()
    best = int(scores.argmax())
    return best, int(scores[best])


def _result_text(network: Network, result: tuple[int, int]) -> str:
    return f"{network.name}: class {result[0]}, score {result[1]}"


TURNS = Turns()
