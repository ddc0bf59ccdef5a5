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
_FARTHEST = 10.0
"""The distance from the maximum at which an int16 softmax sets exp to 0."""


class CmsisNn:
    """Adds the arrays `layer` and `sums`, the scratch, and terms of softmax."""

    def arrays(self, site):
        """Return the numbers of a layer (cmsis_nn.h), and other constants."""
        if site.main.code in _ARRAYS:
            return _ARRAYS[site.main.code](site)
        terms = site.terms
        dilation = [terms.get("dilation_h", 1), terms.get("dilation_w", 1)]
        numbers = [terms["input_batches"], *(terms[name] for name in _WINDOW), *dilation]
        return {"layer": _whole([*numbers, *_offsets(terms), self.scratch(site)])}

    def terms(self, site):
        """Return the sizes of a product of matrices, and the constants of softmax."""
        terms = site.terms
        columns = terms["output_channels"] if terms["output_rank"] else 1
        rows = terms["output_elements"] // columns
        own_terms = {"rows": rows, "columns": columns, "fours": rows // 4, "ones": rows % 4}
        depth, taps = terms["input_channels"] if terms["input_rank"] else 1, 1
        if site.main.code == "FULLY_CONNECTED":
            depth = terms["weights_channels"]
        elif "kernel_h" in terms:
            taps = terms["kernel_h"] * terms["kernel_w"]
            own_terms |= _kinds(terms, taps)
            own_terms["pixels"] = terms["input_batches"] * terms["input_h"] * terms["input_w"]
        own_terms |= {
            "taps": taps,
            "blocks": -(-depth * taps // 16),
            "input_blocks": -(-depth // 16),
        }
        if site.main.code == "SOFTMAX":
            own_terms |= _softmax(terms["beta"], terms["input_scale"], terms["dtype"])
        return own_terms

    def takes(self, site):
        """Return why CMSIS-NN cannot take a layer."""
        if site.main.code in ("CONV_2D", "DEPTHWISE_CONV_2D") and not _is_padded_well(site):
            return "CMSIS-NN's function for such windows needs other padding"
        if site.main.code == "DEPTHWISE_CONV_2D" and "bias" not in site.tensors:
            return "CMSIS-NN reads a bias, and there is none"  # from channel 124 on, with Helium
        if site.terms["dtype"] == "int16" and "weights" in site.tensors:
            return _reads_behind(site) or _overflow(site)
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
            if terms["dtype"] == "int16":
                return 4 * 2 * window * terms["input_channels"] + 8
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


def _matrix(site):
    """Return struct cmsis_nn_matrix, and what is added to the sums of int8."""
    terms = site.terms
    numbers = [terms["rows"], terms["weights_channels"], terms["weights_batches"]]
    layer = {"layer": _whole([*numbers, int(terms["per_channel"]), *_offsets(terms)])}
    if terms["dtype"] == "int16":
        return layer
    weights = site.tensors["weights"].array().astype(np.int64)
    sums = weights.sum(axis=1) * -terms["input_zero_point"]
    if "bias" in site.tensors:
        sums = sums + site.tensors["bias"].array()
    return layer | {"sums": _whole(sums)}


def _elements(site):
    """Return struct cmsis_nn_sum, and scalar operands as tensors: CMSIS-NN has no broadcast."""
    terms, shape = site.terms, site.tensors["output"].shape
    known = {"left_shift": 0} | dict.fromkeys(_SUM, 0) | terms
    known |= {f"{name}_offset": -terms[f"{name}_zero_point"] for name in ("input", "input2")}
    known["output_offset"] = terms["output_zero_point"]
    spread = {
        name: np.full(shape, site.tensors[name].array().ravel()[0])
        for name in ("input", "input2")
        if site.tensors[name].shape != shape
    }
    return {"layer": _whole([known[name] for name in _SUM]), **spread}


def _conv_bytes(terms):
    depth = terms["kernel_h"] * terms["kernel_w"] * terms["input_channels"]
    if terms["dtype"] == "int16":
        return 4 * 2 * _up(depth, 8)
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


def _is_padded_well(site):
    """Return whether CMSIS-NN's int8 functions have the padding of a convolution.

    All have what SAME means. Windows of one pixel need padding at the top or left, or none; 1xN
    windows equal padding on both sides, or a column more on the right. Depthwise 3x3 windows may
    reach one column beyond the image.
    """
    terms = site.terms
    reach = terms["kernel_w"] + (terms["output_w"] - 1) * terms["stride_w"]
    left, right = terms["pad_left"], reach - terms["pad_left"] - terms["input_w"]
    if terms["dtype"] != "int8":
        return True
    if site.main.code == "DEPTHWISE_CONV_2D":
        return (terms["kernel_h"], terms["kernel_w"]) != (3, 3) or right <= 1
    if terms["is_row"]:
        is_one_row = not terms["pad_top"] and not terms["pad_bottom"]
        return is_one_row and right - left == math.fmod(left + right, 2)
    return not (terms["is_point"] and (terms["pad_bottom"] or terms["pad_right"]))


def _offsets(terms):
    return [
        -terms["input_zero_point"],
        terms["output_zero_point"],
        terms["activation_min"],
        terms["activation_max"],
    ]


def _softmax(beta, scale, dtype):
    """Return the values of TensorFlow Lite's PreprocessSoftmaxScaling and CalculateInputRadius."""
    if dtype == "int16":
        multiplier, shift = _multiplier(beta * scale / (_FARTHEST / 65535))
        return {"softmax_multiplier": multiplier, "softmax_shift": shift}
    real = min(beta * scale * (1 << (31 - _INTEGER_BITS)), float((1 << 31) - 1))
    multiplier, shift = _multiplier(real)
    radius = ((1 << _INTEGER_BITS) - 1) * (1 << (31 - _INTEGER_BITS)) / (1 << shift)
    return {
        "softmax_multiplier": multiplier,
        "softmax_shift": shift,
        "least_difference": -math.floor(radius),
    }


def _curves(site):
    """Return the tables of an int16 softmax: exp from -10 to 0, and 1 / (1 + x) from 0 to 1."""
    if site.terms["dtype"] != "int16":
        return {}
    return {
        "exponentials": _curve(_FARTHEST, -65535, lambda x: np.exp(x.astype(np.float64))),
        "reciprocals": _curve(1, 0, lambda x: 1 / (1 + x)),
    }


def _curve(length, first, function):
    """Return 513 values with 15 fraction bits, as TensorFlow Lite's LUTPopulateInt16 does."""
    single = np.float32
    least, most = (single(length) / single(65535) * single(end) for end in (first, first + 65535))
    unit = single(2) / single(65535)
    factor = single(65536) / (unit * single(32767) - unit * single(-32768))
    step = (most - least) / single(512)

    def values(count):
        return function(least + count.astype(single) * step).astype(single) * factor

    count = np.arange(512)
    starts = _rounded(values(count))
    between = _rounded((values(count + 1) + starts) / single(2))
    middles = function(least + count.astype(single) * step + step / single(2)).astype(single)
    bias = _rounded((between - _rounded(middles * factor)) / single(2))
    last = _rounded(function(np.array([most], single)).astype(single) * factor)
    return np.clip(np.concatenate([starts - bias, last]), -32768, 32767).astype(np.int16)


def _rounded(x):
    """Return floats rounded to nearest, ties away from zero."""
    wide = x.astype(np.float64)
    return np.copysign(np.floor(np.abs(wide) + 0.5), wide).astype(np.float32)


def _padding(site):
    """Return the sizes of a PAD in the order of cmsis_nn_dims; those of int16 in bytes."""
    sizes = np.array([site.terms["input_shape"], *site.tensors["input2"].array().T], np.int32)
    sizes[:, 3] *= 2 if site.terms["dtype"] == "int16" else 1
    return dict(zip(("sizes", "before", "after"), sizes, strict=True))


def _reads_behind(site):
    """Return why CMSIS-NN would read behind the arrays of an int16 layer, "" if it would not."""
    terms = site.terms
    if site.main.code != "DEPTHWISE_CONV_2D" or not terms["has_helium"]:
        return ""
    is_dense = terms["dilation_h"] == terms["dilation_w"] == 1
    is_fast = is_dense and terms["input_channels"] == terms["output_channels"]
    if is_fast and terms["output_channels"] % 4:
        return "CMSIS-NN reads behind its biases unless the channels are a multiple of 4"
    return ""


def _overflow(site):
    """Return why the sums of an int16 layer may not fit into CMSIS-NN's 32 bits, "" if they do.

    It adds some products without the bias in 32 bits, and halves the scaled sum there.
    """
    weights = np.abs(site.tensors["weights"].array().astype(np.int64))
    axes = tuple(range(weights.ndim - 1) if weights.shape[0] == 1 else range(1, weights.ndim))
    most = (1 << 15) * weights.sum(axis=axes)
    bias = np.abs(site.tensors["bias"].array()) if "bias" in site.tensors else 0
    factors = site.arrays["multipliers"] * 2.0 ** (site.arrays["shifts"] - 31)
    if max(most) >= 1 << 31 or max((most + bias) * factors) >= 1 << 30:
        return "its sums may not fit into 32 bits"
    return ""


_ARRAYS = {
    "SOFTMAX": _curves,
    "PAD": _padding,
    "BATCH_MATMUL": lambda site: {"layer": _whole(_products(site))},
    "FULLY_CONNECTED": _matrix,
    "ADD": _elements,
    "MUL": _elements,
    "MINIMUM": lambda _: {},
    "MAXIMUM": lambda _: {},
}
"""What computes the arrays of an operator without a window."""
