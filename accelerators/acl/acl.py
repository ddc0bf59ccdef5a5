# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
"""What accelerator.toml cannot say of Arm Compute Library: the numbers of a layer."""

import numpy as np

_WINDOW = ("input_batches", "input_h", "input_w", "input_channels", "kernel_h", "kernel_w")
_WINDOW += ("output_h", "output_w", "output_channels", "stride_h", "stride_w")
_WINDOW += ("pad_top", "pad_left", "pad_bottom", "pad_right")
_ELEMENTS = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "DIV", "SQUARED_DIFFERENCE")
"""In the order of acl_operation in acl.h."""
_EXTREMES = ("MAXIMUM", "MINIMUM")
_MOST = float(np.finfo(np.float32).max)
"""TensorFlow Lite bounds all floats by it: infinities become it."""
_BOUNDED = ("ADD", "SUB", "MUL", "DIV", "MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D")
"""Operators of float32 that the wrapper bounds itself, always."""
_BOUNDS = {
    "NONE": (-_MOST, _MOST),
    "RELU": (0.0, _MOST),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}
_INT8 = (-128, 127)
_REDUCTIONS = ("MEAN", "REDUCE_MAX")


class Acl:
    """Adds the arrays `layer`, `scales` and `bounds`."""

    def arrays(self, site):
        """Return the numbers of a layer (acl.h), the scales of int8, and the bounds of float."""
        code, terms = site.main.code, site.terms
        least, most = self._bounds(site)
        if terms["dtype"] == "float32":
            arrays = {"bounds": np.array([least, most], np.float32)}
            is_bounded = code in _BOUNDED or (least, most) != _BOUNDS["NONE"]
            tail = [0, 0, 0, 0, int(is_bounded)]
        else:
            arrays = {"scales": _scales(site)}
            tail = [terms["input_zero_point"], terms["output_zero_point"], least, most]
            tail.append(int((least, most) != _INT8))
        if code == "RESHAPE":
            numbers = [terms["input_elements"]]
        elif code == "FULLY_CONNECTED" and terms["dtype"] == "float32":
            numbers = _flat(terms) + tail
        elif code == "FULLY_CONNECTED":
            numbers = [_rows(terms), terms["weights_channels"], terms["weights_batches"], *tail]
        elif code in _REDUCTIONS:
            numbers = _whole_image(site) + tail
        elif code in _EXTREMES:  # of one quantization: that of whole numbers has no rounding
            numbers = [_ELEMENTS.index(code), terms["output_elements"], 0, 0, 0, *tail[2:]]
            arrays["scales"] = np.ones(3, np.float32)
        elif code in _ELEMENTS:
            second = terms.get("input2_zero_point", 0)
            numbers = [_ELEMENTS.index(code), terms["output_elements"], tail[0], second, *tail[1:]]
        else:
            dilation = [terms.get("dilation_h", 1), terms.get("dilation_w", 1)]
            numbers = [*(terms[name] for name in _WINDOW), *dilation, *tail]
        return arrays | {"layer": np.array(numbers, np.int32)}

    def takes(self, site):
        """Return why the library cannot take a layer."""
        kind = site.terms["dtype"]
        if site.main.code in _REDUCTIONS and _axes(site) not in ([1, 2], [2, 3]):
            return "it reduces other axes than those of an image"
        weights = site.tensors.get("weights")
        if weights is not None and weights.dtype != kind:
            return f"its weights are {weights.dtype}, not {kind}"
        other = site.tensors.get("input2")
        if site.main.code in _ELEMENTS and other.dtype != kind:
            return f"its second input is {other.dtype}, not {kind}"
        is_product = site.main.code in ("CONV_2D", "FULLY_CONNECTED") and kind == "int8"
        if is_product and max(site.arrays["shifts"]) > 0:  # it shifts left after it has rounded
            return "a factor of its outputs is above 1, which the library rounds otherwise"
        activation = site.main.options.get("fused_activation_function", "NONE")
        return "" if activation in _BOUNDS else f"it does not run {activation}"

    def _bounds(self, site):
        """Return the least and the largest output: quantized, or real."""
        terms = site.terms
        if terms["dtype"] != "float32":
            return terms.get("activation_min", _INT8[0]), terms.get("activation_max", _INT8[1])
        named = [site.main.options.get("fused_activation_function", "NONE")]
        place = [operator.index for operator in site.operators].index(site.main.index)
        named += [operator.code for operator in site.operators[place + 1 :]]
        bounds = [_BOUNDS.get(name, _BOUNDS["NONE"]) for name in named]
        return max(least for least, _ in bounds), min(most for _, most in bounds)


def _rows(terms):
    return terms["output_elements"] // terms["output_channels"]


def _flat(terms):
    """Return the numbers of a window of one pixel: FULLY_CONNECTED."""
    sides = [1, 1, terms["weights_channels"], 1, 1, 1, 1, terms["weights_batches"]]
    return [_rows(terms), *sides, 1, 1, 0, 0, 0, 0, 1, 1]


def _axes(site):
    return sorted(int(axis) % 4 for axis in site.tensors["input2"].array().ravel())


def _whole_image(site):
    """Return the numbers of a window that is an image; channels may come last or second."""
    batches, *sizes = site.terms["input_shape"]
    if _axes(site) == [1, 2]:
        height, width, channels = sizes
    else:
        batches, height, width, channels = batches * sizes[0], *sizes[1:], 1
    image = [batches, height, width, channels, height, width, 1, 1, channels]
    return [*image, 1, 1, 0, 0, 0, 0, 1, 1]


def _scales(site):
    """Return the scales of the inputs, the output, and of weights for each output channel."""
    terms = site.terms
    if site.main.code in _ELEMENTS:
        scales = [terms[f"{name}_scale"] for name in ("input", "input2", "output")]
    elif "weights" in site.tensors:
        own = list(site.tensors["weights"].quantization.scale)
        channels = terms["output_channels"]
        scales = [terms["input_scale"], terms["output_scale"], *(own * channels)[:channels]]
    else:
        scales = [terms["input_scale"], terms["output_scale"]]
    return np.array(scales, np.float32)
