"""Streams of vectors from files: what they give, and what is wrong with others."""

from pathlib import Path

import numpy as np
import pytest

from ethosgen.applications.vectors import load_vectors
from ethosgen.values.errors import InputError


def test_rows_or_one_column_are_vectors(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n\n3,4e1\n")
    assert np.array_equal(load_vectors(tmp_path / "rows.csv", 2), [[1, 2], [3, 40]])
    (tmp_path / "column.csv").write_text("1\n2\n3\n")
    assert np.array_equal(load_vectors(tmp_path / "column.csv", 2), [[1, 2]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,2\n3,nan\n", "line 2 of .* has 'nan', but a sensor gives finite numbers; remove"),
        ("a,b\ninf,2\n", "line 2 of .* has 'inf', but a sensor gives finite numbers"),
        ("nan,2\n1,2\n", "line 1 of .* has 'nan', but a sensor gives finite numbers"),
        ("1\n2\n-inf\n", "line 3 of .* has '-inf', but a sensor gives finite numbers"),
        ("1,2,3\nnan,2,3\n", "line 2 of .* has 'nan', but a sensor"),
        ("1,2\n3\n", "line 2 of .* has 1 value, but the first has 2"),
        ("1,2\n3,x\n", "line 2 of .* has 'x' instead of a number"),
        ("1,2,3\n", "rows of 3 values, but the network takes vectors of 2"),
        ("a,b\n", "has no numbers"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "it.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        load_vectors(file, 2)
