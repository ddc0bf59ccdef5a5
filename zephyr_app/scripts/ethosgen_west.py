# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
"""The west command ethosgen: ethosgen's command line for Zephyr, inside a workspace.

west ethosgen project MODEL.tflite --board corstone300
west ethosgen verify MODEL.tflite --board corstone300
"""

import os
import subprocess
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from west.commands import WestCommand

_FOR_ZEPHYR = ("project", "verify")
"""Commands that take a platform: the default here is Zephyr."""


class Ethosgen(WestCommand):
    """Pass arguments on to ethosgen, with the workspace's Zephyr."""

    def __init__(self) -> None:
        super().__init__(
            "ethosgen",
            "generate, build, run and check firmware for Ethos-U NPUs",
            "All commands of ethosgen; project and verify default to Zephyr.",
            accepts_unknown_args=True,
        )

    def do_add_parser(self, parser_adder: Any) -> ArgumentParser:
        """Accept the command, and pass every other argument to ethosgen."""
        parser: ArgumentParser = parser_adder.add_parser(
            self.name, help=self.help, description=self.description, add_help=False
        )
        parser.add_argument("command", nargs="?", default="--help")
        return parser

    def do_run(self, args: Namespace, unknown: list[str]) -> None:
        """Run ethosgen, and exit with its status."""
        program = os.environ.get("ETHOSGEN", "ethosgen")
        command = [program, args.command, *with_platform(args.command, unknown)]
        environment = {**os.environ, **self._zephyr_base()}
        try:
            done = subprocess.run(command, env=environment, check=False)
        except OSError as error:
            self.die(
                f"cannot start '{program}' ({error.strerror}); install ethosgen, or set the "
                "environment variable ETHOSGEN to its path"
            )
        if done.returncode:
            raise SystemExit(done.returncode)

    def _zephyr_base(self) -> dict[str, str]:
        if os.environ.get("ZEPHYR_BASE"):
            return {}
        for project in self.manifest.projects:
            if project.name == "zephyr" and project.abspath:
                return {"ZEPHYR_BASE": str(Path(project.abspath))}
        return {}


def with_platform(command: str, arguments: list[str]) -> list[str]:
    """Add --platform zephyr to the arguments if the command takes a platform and none is given."""
    is_chosen = any(argument.split("=")[0] == "--platform" for argument in arguments)
    if command in _FOR_ZEPHYR and not is_chosen:
        return [*arguments, "--platform", "zephyr"]
    return arguments
