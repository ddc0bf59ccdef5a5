"""Runs the checks of an ethosgen.toml, and compares the figures with its budgets."""

from pathlib import Path

from ethosgen.flow import RunOptions, verify
from ethosgen.samples.pictures import Preparation
from ethosgen.studies.accuracy import AccuracyRequest, measure_accuracy
from ethosgen.values.accuracy import AccuracyReport
from ethosgen.values.errors import InputError
from ethosgen.values.recipe import Recipe
from ethosgen.values.watch import Watch
from ethosgen.workspace.budgets import Checked, limits
from ethosgen.workspace.file import FILE, Workspace


def check(
    recipe: Recipe, options: RunOptions, workspace: Workspace, folder: Path, on: str, watch: Watch
) -> Checked:
    """Verify the networks, measure the accuracy if there are data, and compare with the budgets.

    `folder` is the workspace's, the base of its paths.
    """
    table = workspace.accuracy
    if workspace.budget.accuracy is not None and table is None:
        raise InputError(f"{FILE}: budget.accuracy needs labelled data; name them in [accuracy]")
    if table is not None and len(recipe.networks) != 1:
        raise InputError(
            f"{FILE}: [accuracy] is for one network, but there are {len(recipe.networks)}"
        )
    accuracy = _accuracy(recipe, workspace, folder, watch) if table else None
    report = verify(recipe, options, on=on, watch=watch)
    return Checked(report, accuracy, tuple(limits(workspace.budget, report, accuracy)))


def _accuracy(recipe: Recipe, workspace: Workspace, folder: Path, watch: Watch) -> AccuracyReport:
    table = workspace.accuracy
    assert table is not None
    asked = AccuracyRequest(
        recipe.networks[0],
        folder / table.data,
        folder / table.labels if table.labels else None,
        Preparation(tuple(table.mean), tuple(table.std), table.resize, table.pad),
        board=recipe.board,
        npu=recipe.npu,
        options=recipe.options,
        reading=recipe.reading,
        output=table.output,
        score=table.score,
        state=table.state,
    )
    return measure_accuracy(asked, watch)
