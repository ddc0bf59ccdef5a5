"""Networks that differed without a known reason when a seed drew them; they are tests now.

`python -m tests.corpus table` draws different networks each time. Add those that differ, with the
cause.
"""

from tests.corpus.trial import Key

FOUND = (
    Key("RELU", "int16", 77003),  # TFLite Micro's quotient of scales in double: factor-float
    Key("RELU", "int16", 77006),
    Key("RELU", "int16", 78006),
    Key("MUL", "int16", 9000007),  # the same in MUL, whose row is often 0
    Key("RESIZE_BILINEAR", "uint8", 77007),  # a CONV_2D magnifies rounding-uint8
    Key("RESIZE_BILINEAR", "uint8", 114823),
    Key("RESIZE_NEAREST_NEIGHBOR", "uint8", 5952695),  # a rolling buffer reused: resize-cascade
    Key("CONV_2D", "int8", 5000002),  # groups and batches: groups-of-batches
    Key("REDUCE_MAX", "int8", 5000002),  # batches before the axis: reduce-dropped-axis
    Key("chain", "uint8", 4000043),  # another order of the axes: transpose-into-part
    Key("cascade", "int16", 5952692),  # a bias of 35 bits wraps around in TFLite: sum-wraps
    Key("chain", "uint8", 9000001),  # RELU fused with TRANSPOSE: clip-uint8
    Key("AVERAGE_POOL_2D", "uint8", 5952694),  # scales multiply in float: factor-uint8
    Key("RESIZE_BILINEAR", "uint8", 5952696),
    Key("RESIZE_NEAREST_NEIGHBOR", "uint8", 5952692),
    Key("MUL", "int32", 4),  # on U85, products of 32 bits wrap around: mul-int32
    Key("SUM", "int32", 3),
    Key("SUM", "int8", 8),  # on U85, with a zero point too: sum-last-axis
    Key("heavy", "uint8", 8807210),  # no int8 twin to round twice: litert-rounds-once-shifted
)
