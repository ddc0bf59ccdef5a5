"""The help of a command: its options in groups, so that the common ones come first."""

from collections.abc import Iterator

import click

_FEW = 9
"""A command with fewer options needs no groups."""
GROUPS = {
    "Common options": "board npu on output name platform project sram-limit goal samples",
    "Network": "shape input-layout no-cache io weights optimize app app-labels app-input data",
    "NPU and memory": "offload cpu-ops accelerator trust-compiler allow-difference allow-fallback "
    "strategy arena-limit memory-mode stream fetch front feed step",
    "Board": "security port baud reset host flash build network harness",
    "Accuracy and checks": "input golden output-tensor fidelity seed oracle check labels "
    "test-data mean std resize pad state score top keep activations max-loss max-ms",
    "Output": "json csv junit markdown summary tables verbose profile coverage plot wide perfetto "
    "model-explorer trace dump no-times force results with-ci ci-ethosgen pack processes schema "
    "help",
}
"""Group → the long names of its options, without dashes; others stand with the common ones."""
_COMMON = next(iter(GROUPS))
_GROUP_OF = {name: title for title, names in GROUPS.items() for name in names.split()}


class GroupedCommand(click.Command):
    """A command whose help shows many options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in GROUPS if there are many."""
        records = list(self._records(ctx))
        if len(records) < _FEW:
            super().format_options(ctx, formatter)
            return
        for title in GROUPS:
            rows = [record for group, record in records if group == title]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def _records(self, ctx: click.Context) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield the group and the help of each option."""
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                names = [option.lstrip("-") for option in parameter.opts]
                yield next((_GROUP_OF[n] for n in names if n in _GROUP_OF), _COMMON), record
