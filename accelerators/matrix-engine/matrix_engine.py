# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
"""What accelerator.toml cannot say: the table of a layer's sizes that the driver reads."""

from itertools import groupby, product

import numpy as np


class MatrixEngine:
    """Adds the array `layer` and the engine's own cycles."""

    def arrays(self, site):
        """Return struct matrix_engine_layer (matrix_engine.h) as an array."""
        return {"layer": np.array(list(_sizes(site).values()), np.int32)}

    def terms(self, site):
        """Return the commands of the driver and the engine's cycles for them, for formulas."""
        sizes = _sizes(site)
        columns = (sizes["output_channels"] + 15) // 16
        commands = list(product(_spans(sizes, "h", "top"), _spans(sizes, "w", "left")))
        cycles = sum(
            (outers * rows + 15) // 16 * columns * (height * width * sizes["input_channels"] + 16)
            for (outers, height), (rows, width) in commands
        )
        return {
            "commands": sizes["batches"] * len(commands),
            "engine_cycles": sizes["batches"] * cycles,
        }


def _spans(sizes, axis, before):
    """Return the spans that the driver cuts an axis into, see find_span: outputs, kernel's size."""

    def overlap(output):
        start = output * sizes[f"stride_{axis}"] - sizes[f"pad_{before}"]
        end = min(sizes[f"input_{axis}"] - start, sizes[f"kernel_{axis}"])
        return max(-start, 0), max(end - max(-start, 0), 0)

    runs = groupby(overlap(output) for output in range(sizes[f"output_{axis}"]))
    return [(len(list(outputs)), kernel) for (_, kernel), outputs in runs]


def _sizes(site):
    """Return the layer's sizes in the driver's order; FULLY_CONNECTED is a picture of one pixel."""
    terms = site.terms
    if site.main.code == "CONV_2D":
        names = ("input_h", "input_w", "output_h", "output_w", "kernel_h", "kernel_w")
        names += ("stride_h", "stride_w", "pad_top", "pad_left")
        sizes = {name: terms[name] for name in names}
        sizes["batches"] = terms["input_batches"]
    else:
        ones = ("input_h", "input_w", "output_h", "output_w", "kernel_h", "kernel_w")
        sizes = dict.fromkeys((*ones, "stride_h", "stride_w"), 1) | {"pad_top": 0, "pad_left": 0}
        sizes["batches"] = terms["output_elements"] // terms["weights_batches"]
    sizes["input_channels"] = terms["weights_channels"]
    sizes["output_channels"] = terms["weights_batches"]
    sizes["input_offset"] = -terms["input_zero_point"]
    sizes["output_offset"] = terms["output_zero_point"]
    sizes["activation_min"] = terms["activation_min"]
    sizes["activation_max"] = terms["activation_max"]
    order = ("batches", "input_h", "input_w", "input_channels", "output_h", "output_w")
    order += ("output_channels", "kernel_h", "kernel_w", "stride_h", "stride_w", "pad_top")
    order += ("pad_left", "input_offset", "output_offset", "activation_min", "activation_max")
    return {name: sizes[name] for name in order}
