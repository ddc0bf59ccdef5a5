"""The golden outputs of a random network, from TFLite Micro or operator by operator.

TFLite Micro first runs the whole network. If it lacks an operator or a type, the network is split:
each operator becomes a separate network, which TFLite Micro runs if it can, otherwise LiteRT.
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Part = tuple[str, list[tuple[str, bytes]], tuple[Any, Any, Any]]
"""An operator, its file for each oracle, the tensors that it reads and writes, and their types."""


def is_odd(net: Any, made: Any) -> bool:
    """Return whether TFLite Micro computes an operator with uninitialized numbers.

    In SPACE_TO_BATCH_ND the padding's value is uninitialized, in int16 GREATER the multipliers;
    their outputs depend on the memory's old content. LiteRT is the oracle there.
    """
    dtype = net.tensors[made.inputs[0]].dtype if made.inputs else ""
    return made.code == "SPACE_TO_BATCH_ND" or (made.code == "GREATER" and dtype == "int16")


@dataclass
class Golden:
    """The oracles' outputs by name for each sample, and the oracles that computed them.

    `why` is the reason if there are none.
    """

    outputs: list[dict[str, Array]] | None
    oracles: tuple[str, ...] = ()
    why: str = ""


def make_parts(net: Any) -> list[Part]:
    """Return for each operator a file for each oracle, and the tensors that it reads and writes."""
    return [_part(net, made) for made in net.operators]


def _part(net: Any, made: Any) -> Part:
    from network_file import File, Layout

    every = (*made.inputs, *made.outputs, *made.intermediates)
    used = [i for i in dict.fromkeys(every) if i >= 0]
    place = {index: number for number, index in enumerate(used)} | {-1: -1}
    specs = [net.tensors[i] for i in used]
    given = [
        i
        for i in dict.fromkeys(made.inputs)
        if i >= 0 and net.tensors[i].data is None and not net.tensors[i].is_variable
    ]
    moved = dataclasses.replace(
        made,
        inputs=tuple(place[i] for i in made.inputs),
        outputs=tuple(place[i] for i in made.outputs),
        intermediates=tuple(place[i] for i in made.intermediates),
    )
    ends = [place[i] for i in given], [place[i] for i in made.outputs]
    files = [("tflm", File().write(Layout("part", specs, [moved], *ends, {})))]
    files.append(("litert", files[0][1]))
    if is_odd(net, made):
        del files[0]
    kinds = tuple((net.tensors[i].shape, net.tensors[i].dtype) for i in made.outputs)
    return made.code, files, (tuple(given), tuple(made.outputs), kinds)


def run_parts(
    parts: list[Part],
    samples: list[dict[int, Array]],
    arena_bytes: int,
) -> tuple[list[dict[int, Array]], list[str]]:
    """Run operators one by one in a child; return every tensor by number, and the oracles."""
    values, oracles = [dict(sample) for sample in samples], []
    for code, files, (given, made, ends) in parts:
        why = []
        for oracle, data in files:
            inputs = [[sample[i] for i in given] for sample in values]
            try:
                outputs = _run_part(oracle, data, inputs, len(made), arena_bytes)
            except Exception as error:  # any exception means that the interpreter cannot run it
                why.append(f"{oracle}: {type(error).__name__}: {str(error)[:200]}")
                continue
            for sample, answer in zip(values, outputs, strict=True):
                for index, array, (shape, dtype) in zip(made, answer, ends, strict=True):
                    sample[index] = np.asarray(array).reshape(shape).astype(dtype, copy=False)
            oracles.append(oracle)
            break
        else:
            raise RuntimeError(f"no oracle runs {code}: {'; '.join(why)}")
    return values, oracles


def _run_part(
    oracle: str, data: bytes, inputs: list[list[Array]], count: int, arena_bytes: int
) -> list[list[Array]]:
    from ethosgen.oracle.reference import run_litert, run_tflite_micro

    if oracle == "litert":
        return run_litert(data, inputs)
    return run_tflite_micro(data, inputs, count, arena_bytes)


def golden(
    call: Any, wild: Any, model: Any, samples: list[dict[str, Array]], limit_s: float
) -> Golden:
    """Ask the oracles through `call`, a method of an Asker."""
    from ethosgen.host.child import ChildError
    from ethosgen.oracle import reference
    from ethosgen.values.errors import InputError

    first = "TFLite Micro answers by chance"
    if not any(is_odd(wild.net, made) for made in wild.net.operators):
        try:
            outputs = reference.golden_outputs(model, samples)
            return Golden([dict(output) for output in outputs], ("tflm",))
        except InputError as error:
            first = str(error)
    if wild.net.others or any(o.code == "VAR_HANDLE" for o in wild.net.operators):
        return Golden(None, why=first)
    try:
        values, oracles = take_apart(call, wild, samples, limit_s)
    except ChildError as error:
        return Golden(None, why=f"{first} | {error}")
    names = {i: wild.net.tensors[i].name for i in wild.outputs}
    return Golden(
        [{name: value[i] for i, name in names.items()} for value in values],
        (*sorted(set(oracles)),),
    )


def take_apart(
    call: Any, wild: Any, samples: list[dict[str, Array]], limit_s: float
) -> tuple[list[dict[int, Array]], list[str]]:
    """Return the value of every tensor, operator by operator, and the oracle of each operator."""
    by_index = [{i: s[wild.net.tensors[i].name] for i in wild.net.inputs} for s in samples]
    parts = make_parts(wild.net)
    answer = call(Path(__file__), "run_parts", parts, by_index, 8 << 20, limit_s=limit_s)
    values: tuple[list[dict[int, Array]], list[str]] = answer.value
    return values
