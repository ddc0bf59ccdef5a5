"""Windows that slide over height and width, in convolutions and pools."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import gcd
from typing import Any

from ethosgen.aot.graph.fusion import EXPLICIT
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tir.quantization import activation_range
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor


@dataclass(frozen=True)
class Axis:
    """A window along height or width; `padding` is the padding before the input.

    In a transposed convolution the window slides over the output: `source` is then the output's
    length and `target` the input's.
    """

    taps: int
    stride: int
    dilation: int
    padding: int
    source: int
    target: int

    def span(self, outputs: int) -> int:
        """Return the length of what is under the windows of some adjacent outputs."""
        return (outputs - 1) * self.stride + (self.taps - 1) * self.dilation + 1

    @property
    def padding_after(self) -> int:
        """The padding after the input."""
        return max(self.span(self.target) - self.padding - self.source, 0)

    @property
    def is_inside(self) -> bool:
        """Whether the window never leaves the input."""
        return self.padding == 0 and self.span(self.target) <= self.source

    @property
    def phases(self) -> int:
        """The number of phases, each reading the pixels of a dilated window at equal distances."""
        return self.dilation // gcd(self.dilation, self.stride)

    @property
    def phase_stride(self) -> int:
        """The stride of a phase's windows, in the pixels that the phase reads."""
        return self.stride // gcd(self.dilation, self.stride)

    def position(self, index: Any, tap: Any) -> Any:
        """Return the input coordinate of a tap for the output coordinate `index`."""
        return index * self.stride + tap * self.dilation - self.padding

    def inside(self, index: Any) -> tuple[Any, Any]:
        """Return the first tap inside the input and the first tap after it."""
        if self.is_inside:
            return 0, self.taps
        start = index * self.stride - self.padding
        first = self._taps_to(0 - start)
        end = self._taps_to(self.source - start)
        return tirx.max(first, 0), tirx.min(end, self.taps)

    @contextmanager
    def taps_inside(self, nest: Nest, name: str, index: Any) -> Iterator[tuple[Any, Any]]:
        """Open a loop over the taps inside the input; yield a tap and its input coordinate."""
        first, end = self.inside(index)
        with nest.loop(name, end - first, first) as tap:
            yield tap, self.position(index, tap)

    @contextmanager
    def inputs_above(self, nest: Nest, name: str, index: Any) -> Iterator[tuple[Any, Any]]:
        """Open a loop over the inputs whose window covers the output `index`; yield an input and
        its tap.

        This applies to transposed convolutions.
        """
        reach = index + self.padding
        first = tirx.max(tirx.truncdiv(reach + (self.stride - self.taps), self.stride), 0)
        end = tirx.min(tirx.truncdiv(reach, self.stride) + 1, self.target)
        with nest.loop(name, end - first, first) as place:
            yield place, reach - place * self.stride

    def _taps_to(self, distance: Any) -> Any:
        """Return distance / dilation, rounded up if positive, else at most 0."""
        if self.dilation == 1:
            return distance
        return tirx.truncdiv(distance + (self.dilation - 1), self.dilation)


def make_window(
    operator: Operator, taps: tuple[int, int], source: Tensor, target: Tensor
) -> tuple[Axis, Axis]:
    """Return an operator's window along height and width, for NHWC tensors.

    With SAME padding the smaller half is before the input (ComputePaddingHeightWidth). EXPLICIT is
    an extension, see `ethosgen.aot.graph.fusion`. Raises UnsupportedError for a window that does
    not match the shapes.
    """
    options = operator.options
    strides = int(options["stride_h"]), int(options["stride_w"])
    dilations = int(options.get("dilation_h_factor", 1)), int(options.get("dilation_w_factor", 1))
    axes = []
    for i in (0, 1):
        before, after = source.shape[i + 1], target.shape[i + 1]
        reach = (taps[i] - 1) * dilations[i] + 1
        is_same = options["padding"] == "SAME"
        first, last = options["explicit_padding"][i] if options["padding"] == EXPLICIT else (0, 0)
        room = before if is_same else first + before + last - reach + 1
        sane = min(taps[i], strides[i], dilations[i]) > 0
        if not sane or after != pieces(room, strides[i]):
            raise UnsupportedError(
                f"a window of {taps[i]} with stride {strides[i]} and dilation {dilations[i]} does "
                f"not reduce {before} to {after}"
            )
        span = (after - 1) * strides[i] + (taps[i] - 1) * dilations[i] + 1
        padding = max(span - before, 0) // 2 if is_same else first
        axes.append(Axis(taps[i], strides[i], dilations[i], padding, before, after))
    return axes[0], axes[1]


def make_transposed_window(
    operator: Operator, taps: tuple[int, int], source: Tensor, target: Tensor
) -> tuple[Axis, Axis]:
    """Return the window of a transposed convolution, which slides over the output.

    Unlike a convolution's, it can leave some outputs uncovered and extend beyond the output. The
    padding is TFLite's for a convolution from the output to the input.
    """
    options = operator.options
    strides = int(options["stride_h"]), int(options["stride_w"])
    if min(*taps, *strides) < 1:
        raise UnsupportedError(f"it has a window of {taps} and strides of {strides}")
    axes = []
    for i in (0, 1):
        before, after = source.shape[i + 1], target.shape[i + 1]
        is_same = options["padding"] == "SAME"
        count = pieces(after, strides[i]) if is_same else (after - taps[i]) // strides[i] + 1
        padding = max((count - 1) * strides[i] + taps[i] - after, 0) // 2
        axes.append(Axis(taps[i], strides[i], 1, padding, after, before))
    return axes[0], axes[1]


def pool_window(op: Operator, tensors: Sequence[Tensor]) -> tuple[Axis, Axis]:
    """Return a pool's window; UnsupportedError if it does not match the shapes."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if len(source.shape) != 4 or (source.shape[0], source.shape[3], 4) != (
        *target.shape[::3],
        len(target.shape),
    ):
        raise UnsupportedError(f"its output {target.shape} does not match its input {source.shape}")
    taps = int(op.options["filter_height"]), int(op.options["filter_width"])
    return make_window(op, taps, source, target)


def pool_bounds(op: Operator, tensors: Sequence[Tensor]) -> tuple[int, int]:
    """Return the bounds of the fused activation, in the output's quantization.

    Values are not rescaled: TFLite Micro refuses a pool between different scales, and LiteRT, the
    oracle in that case, pools the stored values.
    """
    return activation_range(op, tensors[op.outputs[0]])
