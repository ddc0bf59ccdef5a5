"""The reports of the compiler's sanitizers, as one sentence."""

import pytest

from ethosgen.host.sanitizers import described

ADDRESS = """\
==7==ERROR: AddressSanitizer: use-after-poison on address 0x7000 at pc 0x5 bp 0x7 sp 0x8
WRITE of size 1 at 0x7000 thread T0
    #0 0x55 in memcpy /usr/lib/asan.c:9
    #1 0x56 in toy_add /tmp/x/toy/toy_add.c:12
"""
UNDEFINED = "/tmp/x/toy/toy_add.c:5:7: runtime error: signed integer overflow: 1 + 2\n"


def own(place: str) -> str:
    return place.removeprefix("/tmp/x/") if "/tmp/x/" in place else ""


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("all is well\n", ""),
        (
            ADDRESS,
            "overflow in toy/toy_add.c:12: it writes memory outside its tensors, scratch and "
            "variables",
        ),
        (
            ADDRESS.replace("WRITE", "READ").replace("use-after-poison", "heap-use-after-free"),
            "heap-use-after-free in toy/toy_add.c:12: it reads memory outside its tensors, scratch "
            "and variables",
        ),
        (
            f"noise\n{UNDEFINED}",
            "toy/toy_add.c:5: C does not define what it does: signed integer overflow: 1 + 2",
        ),
    ],
)
def test_a_report_is_one_sentence(said: str, sentence: str) -> None:
    assert described(said, own) == sentence
