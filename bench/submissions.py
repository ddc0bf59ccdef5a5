"""Published times of MLPerf Tiny's networks: the best by core, and those of CMSIS-NN's kernels.

The latter tell the error of the model of a core: TFLite Micro with CMSIS-NN, counted and timed as
our firmware is, beside boards that ran kernels of CMSIS-NN. All are of the closed division.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

RESNET = "resnet8"
NETWORKS = ("kws", "vww", RESNET, "ad")


@dataclass(frozen=True)
class Published:
    """The best published time of a network on a core, in millions of cycles, and whose it is."""

    cycles_m: float
    by: str


_ST, _ST13 = "ST, MLPerf Tiny 1.2", "ST, MLPerf Tiny 1.3"
_PLUMERAI, _HALE = "Plumerai, MLPerf Tiny 1.1", "Bosch HALE, MLPerf Tiny 1.2"
_RENESAS = "Renesas, MLPerf Tiny 1.2: TFLM, LLVM 17"
BEST = {
    ("kws", "cortex-m4"): Published(5.18, _ST),
    ("vww", "cortex-m4"): Published(10.67, _ST),
    (RESNET, "cortex-m4"): Published(19.8, _ST),
    ("ad", "cortex-m4"): Published(0.49, _PLUMERAI),
    ("kws", "cortex-m33"): Published(4.64, _ST13),
    ("vww", "cortex-m33"): Published(9.48, _ST13),
    (RESNET, "cortex-m33"): Published(16.7, "Plumerai, MLPerf Tiny"),
    ("ad", "cortex-m33"): Published(0.49, "Bosch HALE, MLPerf Tiny"),
    ("kws", "cortex-m7"): Published(3.17, _ST),
    ("vww", "cortex-m7"): Published(6.67, _ST),
    (RESNET, "cortex-m7"): Published(11.4, _ST),
    ("ad", "cortex-m7"): Published(0.30, "Bosch HALE, MLPerf Tiny"),
    ("kws", "cortex-m85"): Published(1.66, _RENESAS),
    ("vww", "cortex-m85"): Published(6.43, _RENESAS),
    (RESNET, "cortex-m85"): Published(4.07, _RENESAS),
    ("ad", "cortex-m85"): Published(0.25, _RENESAS),
    ("kws", "cortex-m0plus"): Published(30.4, _HALE),
    ("vww", "cortex-m0plus"): Published(90.5, _HALE),
    (RESNET, "cortex-m0plus"): Published(97.4, _HALE),
    ("ad", "cortex-m0plus"): Published(2.62, _HALE),
}
"""The closed division's times by each submitter's clock."""


@dataclass(frozen=True)
class Submission:
    """A board that ran the four networks with CMSIS-NN's kernels: inferences a second."""

    board: str
    core: str
    clock_mhz: int
    software: str
    rates: Mapping[str, float]

    def cycles_m(self, network: str) -> float:
        """Return a network's millions of cycles."""
        return self.clock_mhz / self.rates[network]


def _rates(kws: float, vww: float, resnet: float, ad: float) -> Mapping[str, float]:
    return dict(zip(NETWORKS, (kws, vww, resnet, ad), strict=True))


_ONNC = "ONNC with CMSIS 5 (1.1)"
_MICROTVM = "microTVM with CMSIS-NN (1.0)"
SUBMISSIONS = (
    Submission(
        *("NUCLEO-L4R5ZI", "cortex-m4", 120),
        "TFLM with CMSIS-NN of 2020, the reference (0.5)",
        _rates(5.497, 1.665, 1.420, 99.487),
    ),
    Submission("NUCLEO-L4R5ZI", "cortex-m4", 120, _ONNC, _rates(12.195, 5.808, 3.348, 123.875)),
    Submission("NUCLEO-L4R5ZI", "cortex-m4", 120, _MICROTVM, _rates(10.019, 3.320, 2.567, 116.212)),
    Submission("NuMaker-M467HJ", "cortex-m4", 200, _ONNC, _rates(21.652, 10.129, 5.833, 204.635)),
    Submission("nRF5340-DK", "cortex-m33", 128, _MICROTVM, _rates(13.143, 4.310, 3.163, 159.579)),
    Submission(
        *("EK-RA8D1", "cortex-m85", 480),
        "TFLM with CMSIS-NN, LLVM 17 (1.2)",
        _rates(288.611, 74.665, 117.948, 1884.138),
    ),
)
"""No submission to the rounds 0.5 to 1.3 ran CMSIS-NN on a Cortex-M7 or a Cortex-M55."""

TFLM = {
    "cortex-m4": (8_854_491, 28_196_366, 34_872_034, 688_924),
    "cortex-m33": (8_707_884, 27_704_380, 34_129_880, 696_722),
    "cortex-m7": (6_130_322, 19_739_095, 27_172_099, 526_917),
    "cortex-m55": (1_781_221, 6_291_787, 4_471_217, 68_904),
    "cortex-m85": (2_049_532, 6_990_844, 6_176_492, 97_611),
}
"""By core, for each of NETWORKS: cycles of TFLM 90b983c2 with CMSIS-NN 99f736a6 on QEMU, timed as
ours. For the Cortex-M55 and M85 clang 19 compiles CMSIS-NN, as for the submission, else GCC 12.2;
both at -O3, and QEMU's Cortex-M55 runs the code of all. resnet8 has the weights of MLPerf Tiny.
"""


def errors(submission: Submission) -> Iterator[tuple[str, float, float]]:
    """Yield each network with its published and its counted millions of cycles."""
    for network, cycles in zip(NETWORKS, TFLM[submission.core], strict=True):
        yield network, submission.cycles_m(network), cycles / 1e6
