"""Frames: what comes whole is found, what is damaged is dropped."""

import zlib

import hypothesis
import pytest
from cobs import cobs
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ethosgen.targets.frames import Decoder, Frame

frames = st.builds(Frame, st.integers(0, 255), st.integers(0, 255), st.binary(max_size=600))


def test_a_frame_by_hand() -> None:
    """COBS of 01 02 | 00 | CRC: groups end at zeros, and the CRC is zlib's, little endian."""
    crc = zlib.crc32(b"\x01\x02\x00").to_bytes(4, "little")
    assert 0 not in crc
    assert Frame(1, 2, b"\x00").encode() == b"\0\x03\x01\x02\x05" + crc + b"\0"


in_any_time = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine makes no frame wrong."""


@hypothesis.given(st.lists(frames, max_size=5), st.integers(1, 50))
@in_any_time
def test_frames_survive_any_portions(sent: list[Frame], portion: int) -> None:
    line = b"noise" + b"".join(frame.encode() for frame in sent)
    decoder = Decoder()
    got = []
    for start in range(0, len(line), portion):
        got += decoder.feed(line[start : start + portion])
    assert got == sent
    assert decoder.dropped == (1 if sent else 0)


@hypothesis.given(frames, st.data())
@in_any_time
def test_a_changed_frame_is_never_taken_for_another(frame: Frame, data: st.DataObject) -> None:
    line = bytearray(frame.encode())
    position = data.draw(st.integers(0, len(line) - 1))
    line[position] ^= data.draw(st.integers(1, 255))
    assert all(got == frame for got in Decoder().feed(bytes(line)))


def test_what_follows_a_damaged_frame_is_found() -> None:
    first, second = Frame(1, 1, b"abc"), Frame(2, 2, b"def")
    damaged = first.encode()[:-3] + b"\0"
    decoder = Decoder()
    assert decoder.feed(damaged + second.encode()) == [second]
    assert decoder.dropped == 1


@pytest.mark.parametrize("content", [b"", b"\x01", b"\x01\x02\x03\x04\x05"])
def test_too_short_for_a_frame(content: bytes) -> None:
    assert Decoder().feed(b"\0" + cobs.encode(content) + b"\0") == []


def test_endless_noise_takes_no_memory() -> None:
    decoder = Decoder()
    for _ in range(100):
        decoder.feed(b"\xff" * 10_000)
    assert len(decoder._pending) < 10_001
    assert decoder.feed(b"\0" + Frame(3, 4).encode()) == [Frame(3, 4)]
