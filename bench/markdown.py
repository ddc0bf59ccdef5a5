"""Tables in Markdown."""


def row(cells: list[str]) -> str:
    """Return one line of a table."""
    return f"| {' | '.join(cells)} |"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table; all columns except the first are right-aligned."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(row(cells) for cells in (head, rule, *rows))
