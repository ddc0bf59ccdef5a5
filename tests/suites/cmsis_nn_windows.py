"""The windows of CMSIS-NN's unit tests: sizes, strides and padding, by macros of their headers."""

from collections.abc import Sequence

from tests.suites.cmsis_nn_data import TestData

_AXES = ("H", "W"), ("Y", "X")


def sides(data: TestData, stem: str, default: int | None = None) -> tuple[int, int]:
    """Return a macro's height and width, which are called so, or Y and X."""
    height, width = (
        data.number(*(f"{stem}_{names[side]}" for names in _AXES), default=default)
        for side in (0, 1)
    )
    return height, width


def image(data: TestData) -> tuple[int, int, int, int]:
    """Return an input's batch, height, width and channels."""
    batch = data.number("INPUT_BATCHES", "BATCH_SIZE", "INPUT_N")
    return batch, *sides(data, "INPUT"), data.number("IN_CH", "INPUT_C")


def padding(data: TestData, sizes: Sequence[int], window: Sequence[int]) -> str:
    """Return TFLite's padding of a window (dilated), which the test's numbers of pads must be."""
    strides, out = sides(data, "STRIDE"), sides(data, "OUTPUT")
    pads = sides(data, "PAD" if {"PAD_X", "PAD_H"} & data.facts.keys() else "PADDING", 0)
    both = list(zip(sizes, window, strides, out, pads, strict=True))
    if all(o == -(-(n - k + 1) // s) and not p for n, k, s, o, p in both):
        return "VALID"
    if all(o == -(-n // s) and p == max((o - 1) * s + k - n, 0) // 2 for n, k, s, o, p in both):
        return "SAME"
    raise ValueError(f"{data.name} has another padding")


def window_options(data: TestData, sizes: Sequence[int], taps: Sequence[int]) -> dict[str, object]:
    """Return TFLite's options of a convolution over an input's height and width."""
    (down, right), (rows, columns) = sides(data, "STRIDE"), sides(data, "DILATION", 1)
    window = (taps[0] - 1) * rows + 1, (taps[1] - 1) * columns + 1
    return {
        "padding": padding(data, sizes, window),
        "stride_h": down,
        "stride_w": right,
        "dilation_h_factor": rows,
        "dilation_w_factor": columns,
    }
