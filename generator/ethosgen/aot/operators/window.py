"""Windows that slide over height and width: convolutions and pools."""

from dataclasses import dataclass

from ethosgen.model import Operator, Tensor


@dataclass(frozen=True)
class Window:
    """Kernel size, strides, dilation and leading padding, each as (height, width)."""

    size: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int]


def make_window(
    operator: Operator, size: tuple[int, int], source: Tensor, target: Tensor
) -> Window:
    """Read an operator's window; TFLite pads the smaller half before (ComputePaddingHeightWidth)."""
    options = operator.options
    stride = int(options["stride_h"]), int(options["stride_w"])
    dilation = (
        int(options.get("dilation_h_factor", 1)),
        int(options.get("dilation_w_factor", 1)),
    )
    padding = [0, 0]
    if options["padding"] == "SAME":
        for axis in (0, 1):
            covered = (target.shape[axis + 1] - 1) * stride[axis]
            covered += (size[axis] - 1) * dilation[axis] + 1
            padding[axis] = max(covered - source.shape[axis + 1], 0) // 2
    return Window(size, stride, dilation, (padding[0], padding[1]))
