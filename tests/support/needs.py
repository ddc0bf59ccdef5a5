"""Tools that tests need besides Python: a test without them is skipped by name."""

import shutil

import pytest

from ethosgen.host.tools import Tool
from ethosgen.values.errors import ToolError

needs_tools = pytest.mark.skipif(
    not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
    reason="needs arm-none-eabi-gcc and qemu-system-arm (make setup)",
)


def require(*tools: Tool) -> None:
    """Skip the test if one of the tools is missing or unusable."""
    for tool in tools:
        try:
            tool.find()
        except ToolError as error:
            pytest.skip(str(error))
