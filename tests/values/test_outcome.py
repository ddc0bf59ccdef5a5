"""Comparing outputs: nothing passes by absence."""

import numpy as np

from ethosgen.values.outcome import FLOAT_STEP, Difference, compare, constant_outputs


def test_equal_outputs_have_no_mismatch() -> None:
    golden = [{"y": np.array([[1, -2, 3]], np.int8)}] * 2
    result = compare("tflm", [{"y": np.array([[1, -2, 3]], np.int8)}] * 2, golden)
    assert (result.mismatches, result.elements, result.max_abs_diff) == (0, 6, 0.0)


def test_differences_are_counted_without_overflow() -> None:
    got = [{"y": np.array([-128, 0, 5], np.int8)}]
    result = compare("tflm", got, [{"y": np.array([127, 0, 4], np.int8)}])
    assert (result.mismatches, result.max_abs_diff) == (2, 255.0)


def test_what_is_missing_or_misshapen_differs_everywhere() -> None:
    golden = [{"y": np.zeros(4, np.int8)}, {"y": np.zeros(4, np.int8)}]
    assert compare("tflm", [], golden).mismatches == 8
    assert compare("tflm", [{}, {}], golden).mismatches == 8
    other_shape = [{"y": np.zeros((2, 2), np.int8)}, {"y": np.zeros(4, np.int8)}]
    assert compare("tflm", other_shape, golden).mismatches == 4
    other_dtype = [{"y": np.zeros(4, np.uint8)}, {"y": np.zeros(4, np.int8)}]
    result = compare("tflm", other_dtype, golden)
    assert (result.mismatches, result.max_abs_diff) == (4, float("inf"))


def test_outputs_where_the_oracle_waits_for_inputs_all_differ() -> None:
    golden, y = [{}, {"y": np.zeros(3, np.int8)}], {"y": np.zeros(3, np.int8)}
    assert compare("tflm", [{}, y], golden).mismatches == 0
    assert compare("tflm", [y, y], golden).mismatches == 3
    assert compare("tflm", [{}, {}], golden).mismatches == 3


def test_nan_equals_nan() -> None:
    golden = [{"y": np.array([np.nan, 1.0], np.float32)}]
    assert compare("tflm", [{"y": np.array([np.nan, 1.0], np.float32)}], golden).mismatches == 0
    result = compare("tflm", [{"y": np.array([1.0, np.nan], np.float32)}], golden)
    assert (result.mismatches, result.max_abs_diff) == (2, float("inf"))


def test_reals_may_differ_by_the_tolerance_of_the_largest() -> None:
    golden = [{"y": np.array([100.0, 1.0, np.inf], np.float32)}]
    got = [{"y": np.array([100.0, 1.0005, np.inf], np.float32)}]
    near = compare("tflm", got, golden, tolerance=1e-5)
    assert (near.mismatches, near.close) == (0, 1)
    strict = compare("tflm", got, golden)
    assert (strict.mismatches, strict.close) == (1, 0)
    far = compare("tflm", [{"y": np.array([100.0, 1.1, 0.0], np.float32)}], golden, tolerance=1e-5)
    assert (far.mismatches, far.close, far.max_abs_diff) == (2, 0, float("inf"))


def test_integers_have_no_tolerance() -> None:
    golden = [{"y": np.array([100, 1], np.int32)}]
    result = compare("tflm", [{"y": np.array([100, 2], np.int32)}], golden, tolerance=1.0)
    assert (result.mismatches, result.close) == (1, 0)


def test_the_last_bit_of_64_counts() -> None:
    golden = [{"y": np.array([2**63 + 1, 5], np.uint64)}]
    result = compare("tflm", [{"y": np.array([2**63, 5], np.uint64)}], golden)
    assert (result.mismatches, result.close) == (1, 0)


def test_the_user_may_allow_steps() -> None:
    golden = [{"y": np.array([10, 20, 30], np.int8), "z": np.array([0.0, 4.0], np.float32)}]
    near = [
        {"y": np.array([11, 20, 29], np.int8), "z": np.array([4 * FLOAT_STEP, 4.0], np.float32)}
    ]
    assert compare("tflm", near, golden).mismatches == 3
    allowed = compare("tflm", near, golden, steps=1)
    assert (allowed.mismatches, allowed.close, allowed.steps) == (0, 3, 1)
    assert compare("tflm", near, golden, steps=0.5).mismatches == 3
    far = [{"y": np.array([12, 20, 30], np.int8), "z": np.array([0.0, 4.1], np.float32)}]
    assert compare("tflm", far, golden, steps=1).mismatches == 2


def test_no_step_makes_true_false() -> None:
    golden = [{"y": np.array([True, False])}]
    assert compare("tflm", [{"y": np.array([False, False])}], golden, steps=3).mismatches == 1


def test_an_output_that_no_input_changes_is_named() -> None:
    samples = [{"x": np.array([i], np.int8)} for i in range(3)]
    outputs = [{"y": np.array([7, 7], np.int8), "z": np.array([i], np.int8)} for i in range(3)]
    assert constant_outputs(samples, outputs) == ("y",)
    assert constant_outputs(samples[:1], outputs[:1]) == ()
    assert constant_outputs([samples[0]] * 3, outputs) == (), "the same input, the same output"
    assert constant_outputs(samples, [{}, *outputs[1:]]) == ("y",), "a sample without outputs"
    nan = [{"y": np.array([np.nan], np.float32)}] * 3
    assert constant_outputs(samples, nan) == ("y",)


def test_true_is_the_byte_1_alone() -> None:
    """NumPy finds the NPU's -1 and C's 1 equal."""
    golden = np.array([True, True, False])
    ours = np.array([1, 255, 0], np.uint8).view(np.bool_)
    assert np.array_equal(ours, golden)
    compared = compare("tflm", [{"y": ours}], [{"y": golden}])
    assert (compared.mismatches, compared.max_abs_diff) == (1, 254.0)
    assert compared.first == Difference(0, "y", (1,), 1, 255)
