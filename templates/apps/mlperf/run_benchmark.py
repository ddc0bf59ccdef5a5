# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
"""Start the runner of MLPerf Tiny, unchanged, on a port that has no USB identity.

    python run_benchmark.py PORT RUNNER [OPTION]...
    python run_benchmark.py PORT RUNNER stream_wav_uart.py [OPTION]...

The runner looks for USB serial ports with the vendor and product of a known board. QEMU's
pseudo-terminal has neither, so this script lists PORT as the reference board's. RUNNER is
benchmark/runner in a checkout of github.com/mlcommons/tiny, OPTIONs are those of its main.py, or of
its script that streams sound to the firmware of the wake words. It runs in RUNNER, where it writes
its folder sessions/, or its log.

Generated once by ethosgen; yours from now on.
"""

import os
import runpy
import sys

from serial.tools import list_ports, list_ports_common

VENDOR, PRODUCT = 0x0483, 0x374B
"""The reference board of the runner's devices_*.yaml: ST's L4R5ZI."""
DEVICES = "devices_kws_ic_vww.yaml"
STREAM = "stream_wav_uart.py"
WITH_PATHS = {
    *("-d", "--device_list", "-s", "--dataset_path", "-t", "--test_script"),
    *("--wav_file", "--specfile"),
}


def main(port: str, runner: str, *options: str) -> None:
    """Run the runner's program; the folders of the options are those of the caller."""
    info = list_ports_common.ListPortInfo(port, skip_link_detection=True)
    info.vid, info.pid, info.description = VENDOR, PRODUCT, "ethosgen"
    list_ports.comports = lambda include_links=False: [info]
    words = [
        os.path.abspath(option) if before in WITH_PATHS else option
        for before, option in zip(("", *options), options)
    ]
    os.chdir(runner)
    sys.path.insert(0, os.getcwd())
    sys.argv = words if words[:1] == [STREAM] else ["main.py", "--device_list", DEVICES, *words]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
