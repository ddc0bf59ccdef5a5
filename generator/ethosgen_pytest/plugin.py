"""The fixture `ethosgen_verify`; ethosgen itself is imported when a test uses it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ethosgen.api import Run

Verify = Callable[..., "Run"]


@pytest.fixture
def ethosgen_verify() -> Verify:
    """Return a function that runs a network's firmware, and fails the test if it should.

    It takes the arguments of ethosgen.verify(), and budgets: `max_ms` of one inference, `max_ram`,
    `max_flash` and `max_stack` in bytes or as a text such as "64KiB". It returns the Run.
    """

    def verify(
        *networks: Any,
        max_ms: float | None = None,
        max_ram: int | str | None = None,
        max_flash: int | str | None = None,
        max_stack: int | str | None = None,
        **options: Any,
    ) -> "Run":
        from ethosgen import api
        from ethosgen.workspace.budgets import limits
        from ethosgen.workspace.file import Budget

        __tracebackhide__ = True  # the sentence says more than our frames
        maxima = {"ms": max_ms, "ram": max_ram, "flash": max_flash, "stack": max_stack}
        budget = Budget.model_validate(maxima)
        run = api.verify(*networks, **options)
        exceeded = [limit for limit in limits(budget, run.report, None) if not limit.passed]
        if not run.passed:
            findings = [
                f"{title}: {text}"
                for network in run.report.networks
                for title, text in network.findings.items()
            ]
            pytest.fail("\n".join([*run.report.headline.lines(), *findings]), pytrace=False)
        if exceeded:
            told = [f"budget of {limit.name}: {limit.text()}" for limit in exceeded]
            pytest.fail("\n".join([*run.report.headline.lines(), *told]), pytrace=False)
        return run

    return verify
