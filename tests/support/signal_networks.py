"""Networks of TFLite Micro's signal library for tests: each operator, and a whole front end."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.network import Network
from tests.support.networks import NetworkBuilder, Spec

TYPES = {"float32": 0, "int32": 2, "int16": 7}
"""The option T of a transform."""

Build = Callable[[NetworkBuilder], Sequence[int]]


def make(
    net: NetworkBuilder, code: str, inputs: Sequence[int], outputs: Sequence[Spec], **options: Any
) -> tuple[int, ...]:
    """Add a custom operator with options in the format of TensorFlow's converter."""
    packed = bytes(flexbuffers.Dumps(options)) if options else b""
    return net.operator("CUSTOM", inputs, outputs, custom_code=code, custom_options=packed)


def plain(net: NetworkBuilder, shape: Sequence[int], dtype: str, name: str | None = None) -> int:
    """Add an input without quantization."""
    return net.input(shape, dtype, None, 0, name=name)


def window(net: NetworkBuilder, x: int, size: int, shift: int) -> int:
    weights = net.constant(net.random_integers((size,), "int16"))
    shape = net.tensors[x].shape
    return make(net, "SignalWindow", [x, weights], [Spec(shape, "int16")], shift=shift)[0]


def auto_scale(net: NetworkBuilder, x: int) -> tuple[int, ...]:
    outputs = [Spec(net.tensors[x].shape, "int16"), Spec((), "int32")]
    return make(net, "SignalFftAutoScale", [x], outputs)


def rfft(net: NetworkBuilder, x: int, length: int) -> int:
    (*rows, _), dtype = net.tensors[x].shape, net.tensors[x].dtype
    spec = Spec((*rows, length + 2), dtype)
    return make(net, "SignalRfft", [x], [spec], T=TYPES[dtype], fft_length=length)[0]


def irfft(net: NetworkBuilder, x: int) -> int:
    (*rows, bins), dtype = net.tensors[x].shape, net.tensors[x].dtype
    spec = Spec((*rows, bins - 2), dtype)
    return make(net, "SignalIrfft", [x], [spec], T=TYPES[dtype], fft_length=bins - 2)[0]


def energy(net: NetworkBuilder, x: int, start: int, end: int) -> int:
    spec = Spec((net.tensors[x].shape[0] // 2,), "uint32")
    return make(net, "SignalEnergy", [x], [spec], start_index=start, end_index=end)[0]


def filter_bank(net: NetworkBuilder, x: int, channels: int, least: int = 0) -> int:
    """Add adjacent bands, each with its own weights between `least` and 4096."""
    bins = net.tensors[x].shape[0]
    widths = net.random.integers(0, max(1, bins // (channels + 1)) + 1, channels + 1)
    starts = np.cumsum([0, *widths[:-1]])
    weights = net.random.integers(least, 4097, int(widths.sum()) + 3)
    inputs = [net.constant(v, "int16") for v in (weights, 4096 - weights, starts, starts, widths)]
    spec = Spec((channels,), "uint64")
    return make(net, "SignalFilterBank", [x, *inputs], [spec], num_channels=channels)[0]


def square_root(net: NetworkBuilder, x: int, bits: int) -> int:
    spec = Spec(net.tensors[x].shape, "uint32")
    return make(net, "SignalFilterBankSquareRoot", [x, bits], [spec])[0]


def spectral_subtraction(
    net: NetworkBuilder, x: int, clamping: bool, **options: int
) -> tuple[int, ...]:
    shape = net.tensors[x].shape
    settings = {
        "alternate_one_minus_smoothing": 15401, "alternate_smoothing": 983, "clamping": clamping,
        "min_signal_remaining": 819, "num_channels": shape[0], "one_minus_smoothing": 15975,
        "smoothing": 409, "smoothing_bits": 10, "spectral_subtraction_bits": 14,
    } | options  # fmt: skip
    outputs = [Spec(shape, "uint32"), Spec(shape, "uint32")]
    return make(net, "SignalFilterBankSpectralSubtraction", [x], outputs, **settings)


def pcan(net: NetworkBuilder, x: int, noise: int, shift: int = 6, gains: Any = None) -> int:
    falling = 32767 / (1 + np.arange(125) / 9)
    table = net.constant(falling if gains is None else gains, "int16")
    spec = Spec(net.tensors[x].shape, "uint32")
    return make(net, "SignalPCAN", [x, noise, table], [spec], snr_shift=shift)[0]


def logarithm(net: NetworkBuilder, x: int, scale: int = 64, bits: int = 3) -> int:
    spec = Spec(net.tensors[x].shape, "int16")
    options = {"input_correction_bits": bits, "output_scale": scale}
    return make(net, "SignalFilterBankLog", [x], [spec], **options)[0]


def front_end(samples: int = 480, length: int = 512, channels: int = 40) -> Network:
    """Return a network like micro_speech's front end: 30 ms of sound to features of int8."""
    net, (first, end) = NetworkBuilder("front_end", 5), (5, length // 2 - 16)
    x = window(net, plain(net, (1, samples), "int16", "audio"), samples, 12)
    shape = net.constant([samples], "int32")
    (x,) = net.operator("RESHAPE", [x, shape], [Spec((samples,), "int16")])
    x, bits = auto_scale(net, x)
    x = energy(net, rfft(net, x, length), first, end)
    bins = length // 2 + 1
    (x,) = net.operator("CAST", [x], [Spec((bins,), "int32")])
    limits = [net.constant([n], "int32") for n in (first, end, 1)]
    (x,) = net.operator("STRIDED_SLICE", [x, *limits], [Spec((end - first,), "int32")])
    ends = [net.constant(np.zeros(n, np.int32)) for n in (first, bins - end)]
    (x,) = net.operator("CONCATENATION", [ends[0], x, ends[1]], [Spec((bins,), "int32")])
    (x,) = net.operator("CAST", [x], [Spec((bins,), "uint32")])
    x = square_root(net, filter_bank(net, x, channels), bits)
    x, noise = spectral_subtraction(net, x, False)
    x = logarithm(net, pcan(net, x, noise))
    (x,) = net.operator("CAST", [x], [Spec((channels,), "int32")])
    for code, value in (("MUL", 256), ("ADD", 333), ("DIV", 666), ("ADD", -128), ("MINIMUM", 127)):
        y = net.constant(np.array(value), "int32")
        (x,) = net.operator(code, [x, y], [Spec((channels,), "int32")])
    (x,) = net.operator("CAST", [x], [Spec((channels,), "int8")])
    return parse_network(net.build(x), "front_end")


def _transforms(dtype: str, *lengths: int) -> Build:
    def build(net: NetworkBuilder) -> Sequence[int]:
        outputs = []
        for length in lengths:
            outputs.append(rfft(net, plain(net, (length,), dtype), length))
            outputs.append(irfft(net, plain(net, (length + 2,), dtype)))
        outputs.append(rfft(net, plain(net, (2, 3, 5), dtype), 8))
        outputs.append(rfft(net, plain(net, (2, 101), dtype), 128))
        outputs.append(irfft(net, plain(net, (2, 1, 14), dtype)))
        return outputs

    return build


LENGTHS = (4, 6, 10, 36, 100, 128, 240)
"""Lengths of transforms: each butterfly in each position."""
BY_FOURS = (32, 64, 96, 128)
"""Lengths of int16 transforms with micro-kernels: for all stages, for some, for one."""


def _filters(net: NetworkBuilder) -> Sequence[int]:
    energies = plain(net, (60,), "uint32")
    banks = [filter_bank(net, energies, 7), filter_bank(net, energies, 20, least=-3000)]
    squares, bits = plain(net, (64,), "uint64"), plain(net, (), "int32", "bits")
    roots = [
        square_root(net, squares, bits),
        square_root(net, banks[0], net.constant(np.array(3, np.int32))),
    ]
    return [*banks, *roots]


def _channels(net: NetworkBuilder) -> Sequence[int]:
    x, y = plain(net, (31,), "uint32", "small"), plain(net, (31,), "uint32")
    outputs = [
        *spectral_subtraction(net, x, False),
        *spectral_subtraction(net, x, True, smoothing=9000),
        *spectral_subtraction(net, y, True, smoothing_bits=0, spectral_subtraction_bits=5),
        *(logarithm(net, v, *options) for v in (x, y) for options in ((64, 3), (90000, 0))),
    ]
    wild = net.random_integers((130,), "int16")
    outputs += [pcan(net, x, y), pcan(net, y, x, 9), pcan(net, y, y, 0, wild), pcan(net, x, x, 63)]
    return outputs


def _edges(net: NetworkBuilder) -> Sequence[int]:
    x = plain(net, (2, 3, 20), "int16")
    outputs = [window(net, x, 20, 12), window(net, x, 5, 0), window(net, x, 60, 31)]
    outputs += [*auto_scale(net, plain(net, (50,), "int16", "quiet"))]
    outputs += [*auto_scale(net, plain(net, (50,), "int16", "loud"))]
    spectrum = plain(net, (42,), "int16")
    return [*outputs, energy(net, spectrum, 0, 21)]


SIGNALS: dict[str, Build] = {
    "transforms of int16": _transforms("int16", *LENGTHS, *BY_FOURS),
    "transforms of int32": _transforms("int32", *LENGTHS),
    "transforms of float32": _transforms("float32", *LENGTHS),
    "windows, scales, energies": _edges,
    "filter banks": _filters,
    "channels": _channels,
}


def network_of(*builds: Build) -> Network:
    """Return a network with several of SIGNALS."""
    net = NetworkBuilder("signal", seed=2)
    outputs = [index for build in builds for index in build(net)]
    return parse_network(net.build(*outputs), "signal")


def all_of_them(by_fours: Sequence[int] = BY_FOURS) -> Network:
    """Return a network with every operator and type."""
    few = [_transforms(dtype, 16, 30) for dtype in TYPES]
    return network_of(*few, _transforms("int16", *by_fours), _edges, _filters, _channels)


def samples_of(network: Network, count: int) -> list[dict[str, np.ndarray[Any, Any]]]:
    """Draw inputs of every magnitude, including the limits of each type."""
    random, samples = np.random.default_rng(8), []
    for turn in range(count):
        sample = {}
        for tensor in network.inputs:
            kind = np.dtype(tensor.dtype)
            if kind.kind == "f":
                value = random.normal(0, 10.0 ** random.integers(-3, 4), tensor.shape)
            elif tensor.name == "bits":
                value = np.array(random.integers(0, 16))
            else:
                value = _integers(random, kind, tensor.shape, tensor.name, turn)
            sample[tensor.name] = np.asarray(value).astype(kind)
        samples.append(sample)
    return samples


def _integers(
    random: np.random.Generator, kind: np.dtype[Any], shape: Sequence[int], name: str, turn: int
) -> np.ndarray[Any, Any]:
    info = np.iinfo(kind)
    value = random.integers(info.min, info.max, shape, kind, endpoint=True)
    if turn % 3 == 1:
        value = np.asarray(value >> random.integers(0, kind.itemsize * 8, shape).astype(kind))
    elif turn % 3 == 2:
        value = random.choice(np.array([info.min, info.max, 0, 1], kind), shape)
    if name == "quiet":
        return np.asarray(value // (1 << min(4 * turn, 14)))
    if name == "small":
        return np.asarray(value >> kind.type(kind.itemsize * 8 // 2))
    return np.asarray(value)
