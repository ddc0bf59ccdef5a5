"""The page of public networks: its part for U85."""

from bench import public_u85
from bench.public import PAGE, U85_MARK
from bench.public_u85 import Trial, render
from bench.trials import MARK


def test_the_part_counts_equal_differing_and_refused_networks() -> None:
    trials = [
        Trial("x 1", "d/a.tflite", "1", "PASS", "0 of 12, tflm", "4 + 1"),
        Trial("x 1", "d/b.tflite", "2", "FAIL", "2 of 2,012, tflm, litert", "5 + 0"),
        Trial("x 1", "d/c.tflite", "3", "REFUSED", "too odd, really", "-"),
    ]
    text = render(trials)
    assert "1 are equal to the oracle, 1 are not,\n1 are refused. 2 of 2,024 outputs" in text
    assert "| x 1 | a | 4 + 1 | 0 of 12 |" in text and "| x 1 | b | 5 + 0 | 2 of 2,012 |" in text
    assert "| x 1 | c | - | refused |" in text and "- c: too odd, really" in text
    many = [
        Trial("x 1", f"d/{n}.tflite", str(n), "PASS", "0 of 1, tflm", "1 + 0") for n in "ninenet"
    ]
    assert "| x 1 | d, 14 networks | - | 0 of 14 networks |" in render(many + many)


def test_the_committed_page_has_its_three_parts_in_order() -> None:
    usual, _, rest = PAGE.read_text().partition(U85_MARK)
    u85, _, repositories = rest.partition(MARK)
    assert usual.startswith("# Public networks")
    assert f"## With {public_u85.NPU}" in u85 and "## Networks in public rep" in repositories
