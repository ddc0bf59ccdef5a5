"""The sentences for faults, from the bytes of their frames."""

import struct

import pytest

from ethosgen.targets.fault_reports import describe_fault


def secure(**fields: int) -> bytes:
    names = ("cfsr", "pc", "cause", "is_non_secure", "sfsr", "sfar", "bfar", "cfsr_ns")
    assert fields.keys() <= set(names)
    return struct.pack("<8I", *(fields.get(name, 0) for name in names))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            secure(pc=0x12344, is_non_secure=1, sfsr=0x48, sfar=0x10000000),
            "SecureFault: non-secure code at 0x00012344 accessed a secure address, 0x10000000 "
            "(SFSR 0x00000048: AUVIOL, SFARVALID); look the address up with",
        ),
        (
            secure(pc=0x10000344, sfsr=0x10),
            "secure code at 0x10000344 branched from secure to non-secure code without BXNS or "
            "BLXNS (SFSR 0x00000010: INVTRAN); look the address up with",
        ),
        (
            secure(pc=0x12344, is_non_secure=1, cfsr=0x8200, bfar=0x49307000),
            "BusFault: non-secure code at 0x00012344 made an access that the bus refused, "
            "0x49307000 (CFSR 0x00008200: PRECISERR, BFARVALID)",
        ),
        (
            secure(pc=0x12344, is_non_secure=1, cfsr=0x400),
            "made, some instructions before, an access that the bus refused (CFSR 0x00000400",
        ),
        (
            secure(pc=0x12344, is_non_secure=1, cfsr=1, cfsr_ns=0x01000000),
            "a processor fault of non-secure code at 0x00012344 (CFSR 0x01000000)",
        ),
        (secure(pc=0x10000044, cfsr=0x20000), "secure code at 0x10000044 (CFSR 0x00020000)"),
        (secure(cause=1), "the secure image stopped: the SAU has fewer regions"),
        (secure(cause=2), "move the borders in its partition.h to multiples of the block"),
        (secure(cause=3), "there is no non-secure firmware"),
        (secure(cause=4), "the non-secure firmware returned"),
        (secure(cause=77, pc=1, is_non_secure=1), "non-secure code at 0x00000001"),
        (struct.pack("<II", 0x8200, 0x10000ABC), "fault at 0x10000abc (CFSR 0x00008200)"),
        (b"no fault", "a processor fault at"),
        (b"", "a processor fault at 0x00000000"),
    ],
)
def test_the_sentence_says_who_did_what_where(body: bytes, text: str) -> None:
    assert text in describe_fault(body)
