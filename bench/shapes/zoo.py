"""Layers of further published networks, whose sizes no kernel was written for.

EfficientNet-lite0 for 224x224, SqueezeNet 1.1, YOLOX-nano, wav2letter, a U-Net for 48x48,
MobileNetV3 small, MCUNet for VWW with its windows of 5x5 and 7x7, BlazeFace, temporal convolutions
(TC-ResNet8 and a dilated TCN), and single layers of awkward sizes. Of each network a few layers
that differ from each other and that QEMU runs in seconds.
"""

from bench.shapes.shape import (
    concatenation,
    conv,
    dense,
    depthwise,
    mean,
    pad,
    pair,
    pool,
    resized,
    transposed,
)

EFFICIENTNET_LITE = (
    depthwise((28, 28, 144), (5, 5), activation="RELU6"),
    depthwise((14, 14, 480), (5, 5), activation="RELU6"),
    depthwise((14, 14, 672), (5, 5), (2, 2), activation="RELU6"),
    conv((28, 28, 144), 40, activation="NONE"),
    conv((14, 14, 480), 112, activation="NONE"),
    conv((7, 7, 672), 192, activation="NONE"),
    conv((7, 7, 1152), 320, activation="NONE"),
    conv((7, 7, 320), 1280, activation="RELU6"),
)
SQUEEZENET = (
    conv((55, 55, 64), 16),
    conv((55, 55, 16), 64),
    conv((27, 27, 32), 128, (3, 3)),
    conv((13, 13, 64), 256, (3, 3)),
    conv((13, 13, 512), 64),
    pool("max", (27, 27, 128), (3, 3), (2, 2)),
    concatenation([(27, 27, 128), (27, 27, 128)]),
)
YOLOX_NANO = (
    depthwise((52, 52, 32)),
    depthwise((26, 26, 64), (3, 3), (2, 2)),
    conv((52, 52, 32), 32),
    conv((26, 26, 64), 64),
    conv((13, 13, 256), 128),
    pool("max", (13, 13, 128), (5, 5), (1, 1), "SAME"),
    pool("max", (13, 13, 128), (9, 9), (1, 1), "SAME"),
    pool("max", (13, 13, 128), (13, 13), (1, 1), "SAME"),
    resized("NEAREST_NEIGHBOR", (13, 13, 64), 26, 26),
)
WAV2LETTER = (
    conv((1, 148, 39), 250, (1, 48), (1, 2)),
    conv((1, 37, 250), 250, (1, 7)),
    conv((1, 37, 2000), 29, activation="NONE"),
)
U_NET_48 = (
    conv((48, 48, 3), 16, (3, 3)),
    conv((24, 24, 16), 32, (3, 3)),
    conv((12, 12, 64), 64, (3, 3)),
    conv((6, 6, 128), 128, (3, 3)),
    transposed((12, 12, 64), 32, (2, 2), (2, 2)),
    concatenation([(24, 24, 32), (24, 24, 32)]),
    conv((48, 48, 16), 1, activation="NONE"),
)
MOBILENET_V3 = (
    depthwise((28, 28, 96), (5, 5), (2, 2), activation="NONE"),
    depthwise((14, 14, 240), (5, 5), activation="NONE"),
    depthwise((7, 7, 576), (5, 5), activation="NONE"),
    conv((14, 14, 40), 240, activation="NONE"),
    conv((14, 14, 240), 40, activation="NONE"),
    conv((7, 7, 576), 96, activation="NONE"),
    mean((14, 14, 240)),
    dense(240, 64, activation="RELU"),
    pair("MUL", (1, 14, 14, 240), (1, 1, 1, 240)),
)
MCUNET = (
    depthwise((40, 40, 48), (7, 7), (2, 2), activation="RELU6"),
    depthwise((20, 20, 72), (5, 5), activation="RELU6"),
    depthwise((10, 10, 192), (7, 7), activation="RELU6"),
    depthwise((10, 10, 240), (5, 5), (2, 2), activation="RELU6"),
    depthwise((5, 5, 480), (7, 7), activation="RELU6"),
    conv((20, 20, 72), 24, activation="NONE"),
    conv((10, 10, 192), 40, activation="NONE"),
    conv((5, 5, 480), 96, activation="NONE"),
)
BLAZEFACE = (
    conv((64, 64, 3), 24, (5, 5), (2, 2)),
    depthwise((32, 32, 24), (5, 5), activation="NONE"),
    depthwise((32, 32, 28), (5, 5), (2, 2), activation="NONE"),
    depthwise((16, 16, 88), (5, 5), activation="NONE"),
    conv((32, 32, 24), 28, activation="NONE"),
    conv((16, 16, 88), 24, activation="NONE"),
    conv((16, 16, 88), 2, activation="NONE"),
    conv((8, 8, 96), 6, activation="NONE"),
    pad((32, 32, 28), [(0, 0), (0, 0), (0, 4)]),
    pair("ADD", (1, 32, 32, 28)),
)
TEMPORAL = (
    conv((1, 98, 40), 16, (1, 3)),
    conv((1, 98, 16), 24, (1, 9), (1, 2)),
    conv((1, 49, 24), 32, (1, 9), (1, 2)),
    conv((1, 25, 48), 48, (1, 9)),
    conv((1, 98, 16), 24, (1, 1), (1, 2)),
    conv((1, 64, 32), 32, (1, 3), padding="VALID", dilation=(1, 2)),
    conv((1, 64, 32), 32, (1, 3), padding="VALID", dilation=(1, 8)),
    depthwise((1, 98, 48), (1, 9)),
)
AWKWARD = (
    conv((9, 9, 33), 5),
    conv((9, 9, 33), 5, (3, 3)),
    conv((6, 6, 130), 66, (1, 1), (2, 2)),
    conv((6, 6, 130), 66, (3, 3), (2, 2)),
    dense(2048, 256),
    dense(1023, 65),
)

NETWORKS = {
    "efficientnet-lite": EFFICIENTNET_LITE,
    "squeezenet": SQUEEZENET,
    "yolox-nano": YOLOX_NANO,
    "wav2letter": WAV2LETTER,
    "u-net-48": U_NET_48,
    "mobilenet-v3": MOBILENET_V3,
    "mcunet": MCUNET,
    "blazeface": BLAZEFACE,
    "temporal": TEMPORAL,
    "awkward": AWKWARD,
}
