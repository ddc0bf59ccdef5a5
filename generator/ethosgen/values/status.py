"""The statuses of the generated firmware: enum ethosgen_status of ethosgen_status.h."""

from enum import IntEnum


class Status(IntEnum):
    """A member's C name is ETHOSGEN_ and its name; the header explains each."""

    OK = 0
    NOT_INITIALIZED = 1
    BAD_BUFFER = 2
    NPU_NO_RESET = 3
    NPU_NO_ACCESS = 4
    NPU_OTHER_PRODUCT = 5
    NPU_OTHER_MACS = 6
    NPU_OTHER_VERSION = 7
    NPU_BUS_FAULT = 8
    NPU_PARSE_FAULT = 9
    NPU_WEIGHT_FAULT = 10
    NPU_ECC_FAULT = 11
    NPU_STOPPED = 12
    NPU_TIMEOUT = 13
    NPU_DRIVER = 14
    BAD_VALUE = 15
    NOT_READY = 16
    DEVICE_TIMEOUT = 17
    NO_WEIGHTS = 18
    WEIGHTS_MISALIGNED = 19
    WEIGHTS_TRUNCATED = 20
    WEIGHTS_UNKNOWN = 21
    WEIGHTS_TOO_OLD = 22
    WEIGHTS_TOO_NEW = 23
    WEIGHTS_DAMAGED = 24
    WEIGHTS_OTHER_NETWORK = 25
    WEIGHTS_OTHER_CODE = 26
    BUSY = 27
    MORE = 28
    ROWS_MISSING = 29
    TOO_MANY_ROWS = 30
    WRONG_ROW = 31
    SELF_TEST_WEIGHTS = 32
    SELF_TEST_COMMANDS = 33
    SELF_TEST_OUTPUT = 34
    WEIGHTS_CHANGED = 35

    @property
    def c_name(self) -> str:
        """The name in C."""
        return f"ETHOSGEN_{self.name}"
