# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
"""What accelerator.toml cannot say of CMSIS-NN: the numbers of a layer, scratch, softmax."""

import math

import numpy as np

_WINDOW = ("input_h", "input_w", "input_channels", "kernel_h", "kernel_w")
_WINDOW += ("output_h", "output_w", "output_channels")
_WINDOW += ("stride_h", "stride_w", "pad_top", "pad_left")
_SUM = ("input_offset", "input_multiplier", "input_shift", "input2_offset", "input2_multiplier")
_SUM += ("input2_shift", "left_shift", "output_offset", "output_multiplier", "output_shift")
_SUM += ("activation_min", "activation_max", "output_elements")
_BLOCK = 124
"""The channels that CMSIS-NN's depthwise convolution with Helium copies at a time."""
_TURNED = 16
"""A transposed convolution with more channels than these turns its weights and convolves."""
_INTEGER_BITS = 5
"""Of the differences in softmax."""


class CmsisNn:
    """Adds the arrays `layer` and `sums`, the scratch, and terms of softmax."""

    def arrays(self, site):
        """Return the numbers of a layer (cmsis_nn.h), and what FULLY_CONNECTED adds to its sums."""
        code, terms = site.main.code, site.terms
        if code in ("SOFTMAX", "MINIMUM", "MAXIMUM"):
            return {}
        if code == "BATCH_MATMUL":
            return {"layer": _whole(_products(site))}
        if code == "FULLY_CONNECTED":
            weights = site.tensors["weights"].array().astype(np.int64)
            sums = weights.sum(axis=1) * -terms["input_zero_point"]
            if "bias" in site.tensors:
                sums = sums + site.tensors["bias"].array()
            numbers = [terms["rows"], terms["weights_channels"], terms["weights_batches"]]
            numbers += [int(terms["per_channel"]), *_offsets(terms)]
            return {"layer": _whole(numbers), "sums": _whole(sums)}
        if code in ("ADD", "MUL"):
            known = {"left_shift": 0} | dict.fromkeys(_SUM, 0) | terms
            known |= {
                f"{name}_offset": -terms[f"{name}_zero_point"] for name in ("input", "input2")
            }
            known["output_offset"] = terms["output_zero_point"]
            return {"layer": _whole([known[name] for name in _SUM])}
        dilation = [terms.get("dilation_h", 1), terms.get("dilation_w", 1)]
        numbers = [terms["input_batches"], *(terms[name] for name in _WINDOW), *dilation]
        return {"layer": _whole([*numbers, *_offsets(terms), self.scratch(site)])}

    def terms(self, site):
        """Return the sizes of a product of matrices, and the constants of softmax."""
        terms = site.terms
        columns = terms["output_channels"] if terms["output_rank"] else 1
        rows = terms["output_elements"] // columns
        found = {"rows": rows, "columns": columns, "fours": rows // 4, "ones": rows % 4}
        depth, taps = terms["input_channels"] if terms["input_rank"] else 1, 1
        if site.main.code == "FULLY_CONNECTED":
            depth = terms["weights_channels"]
        elif "kernel_h" in terms:
            taps = terms["kernel_h"] * terms["kernel_w"]
            found |= _kinds(terms, taps)
            found["pixels"] = terms["input_batches"] * terms["input_h"] * terms["input_w"]
        found |= {"taps": taps, "blocks": -(-depth * taps // 16), "input_blocks": -(-depth // 16)}
        if site.main.code == "SOFTMAX":
            found |= _softmax(terms["beta"], terms["input_scale"])
        return found

    def takes(self, site):
        """Return why CMSIS-NN cannot take a layer."""
        if site.main.code == "DEPTHWISE_CONV_2D" and "bias" not in site.tensors:
            return "CMSIS-NN reads a bias, and there is none"  # from channel 124 on, with Helium
        return ""

    def scratch(self, site):
        """Return the bytes that CMSIS-NN's ..._get_buffer_size functions ask for at most.

        The most of all processors: with Helium, with the DSP extension, and plain.
        """
        terms = site.terms
        if site.main.code == "CONV_2D":
            return _conv_bytes(terms)
        if site.main.code == "DEPTHWISE_CONV_2D":
            window = terms["kernel_h"] * terms["kernel_w"]
            most = max(4 * _BLOCK * window, 2 * terms["input_channels"] * window)
            if terms["input_channels"] == 1:  # Helium transposes the weights and convolves
                most = max(most, _conv_bytes(terms) + terms["output_channels"] * window)
            return most
        if site.main.code == "TRANSPOSE_CONV":
            return _transposed_bytes(terms)
        if site.main.code == "BATCH_MATMUL":
            _, _, _, columns, is_turned, *_ = _products(site)
            return 4 * columns + (0 if is_turned else terms["input2_elements"])
        return 4 * terms["input_channels"] if site.main.code == "AVERAGE_POOL_2D" else 0


def _conv_bytes(terms):
    depth = terms["kernel_h"] * terms["kernel_w"] * terms["input_channels"]
    blocks = 4 * _up(depth, 16)  # Helium: four windows
    halves = 2 * 2 * _up(depth, 4)  # others: two windows of int16
    row = terms["kernel_w"] * terms["input_channels"]
    padded = row + terms["input_channels"] * (terms["pad_left"] + terms["kernel_w"])  # 1 x n
    return max(blocks, halves, padded)


def _transposed_bytes(terms):
    """Return the bytes of the sums or windows, and of the weights in the opposite order behind."""
    window = terms["kernel_h"] * terms["kernel_w"] * terms["input_channels"]
    width = (terms["input_w"] - 1) * terms["stride_w"]
    width += max(terms["kernel_w"], terms["stride_w"], terms["stride_h"])
    sums = 4 * width * terms["output_channels"] * max(terms["kernel_h"], terms["stride_h"])
    windows = max(4 * _up(window, 16), 2 * 2 * _up(window, 4))
    return _up(max(sums, windows), 16) + window * terms["output_channels"]


def _products(site):
    """Return struct cmsis_nn_products."""
    terms = site.terms
    rows, depth = terms["input_shape"][-2:]
    is_turned = int(terms["adj_y"])
    columns = terms["input2_shape"][-2 if is_turned else -1]
    scale = terms["input_scale"] * terms["input2_scale"] / terms["output_scale"]
    multiplier, shift = _multiplier(scale)
    offsets = [-terms["input_zero_point"], -terms["input2_zero_point"], terms["output_zero_point"]]
    batches = terms["input_elements"] // (rows * depth)
    return [batches, rows, depth, columns, is_turned, *offsets, multiplier, shift]


def _multiplier(real):
    """Return TensorFlow Lite's multiplier and shift of a factor."""
    part, shift = math.frexp(real)
    multiplier = math.floor(part * (1 << 31) + 0.5)
    return (multiplier // 2, shift + 1) if multiplier == 1 << 31 else (multiplier, shift)


def _kinds(terms, taps):
    """Return the properties by which CMSIS-NN chooses a convolution's function."""
    is_dense = terms.get("dilation_h", 1) == terms.get("dilation_w", 1) == 1
    depth, columns = terms["input_channels"], terms["output_channels"]
    return {
        "is_point": taps == 1 and not (terms["pad_top"] or terms["pad_left"]),
        "is_row": terms["input_h"] == terms["kernel_h"] == 1 and terms["kernel_w"] > 1 and is_dense,
        "is_turned": depth > _TURNED and max(terms["stride_h"], terms["stride_w"]) <= 2,
        "is_simple": is_dense and depth == columns and terms["input_batches"] == 1,
        "is_quadruple": is_dense and columns // depth % 4 == 0,
    }


def _up(value, to):
    return -(-value // to) * to


def _whole(numbers):
    return np.array(numbers, np.int32)


def _offsets(terms):
    return [
        -terms["input_zero_point"],
        terms["output_zero_point"],
        terms["activation_min"],
        terms["activation_max"],
    ]


def _softmax(beta, scale):
    """Return the values of TensorFlow Lite's PreprocessSoftmaxScaling and CalculateInputRadius."""
    real = min(beta * scale * (1 << (31 - _INTEGER_BITS)), float((1 << 31) - 1))
    multiplier, shift = _multiplier(real)
    radius = ((1 << _INTEGER_BITS) - 1) * (1 << (31 - _INTEGER_BITS)) / (1 << shift)
    return {
        "softmax_multiplier": multiplier,
        "softmax_shift": shift,
        "least_difference": -math.floor(radius),
    }
