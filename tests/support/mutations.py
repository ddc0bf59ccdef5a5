"""Damages files at random."""

import numpy as np

EXTREMES = (0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x00FFFFFF, 0x00010000)


def mutate(data: bytes, random: np.random.Generator) -> bytes:
    """Flip bits, cut the end off, zero or scramble a range, or replace a word by a huge value."""
    damaged = bytearray(data)
    place = int(random.integers(len(data)))
    length = int(random.integers(1, 64))
    match int(random.integers(5)):
        case 0:
            for bit in random.integers(8 * len(data), size=int(random.integers(1, 9))):
                damaged[bit // 8] ^= 1 << bit % 8
        case 1:
            del damaged[place:]
        case 2:
            damaged[place : place + length] = bytes(len(damaged[place : place + length]))
        case 3:
            damaged[place : place + length] = random.bytes(len(damaged[place : place + length]))
        case _:
            word = place // 4 * 4
            damaged[word : word + 4] = int(random.choice(EXTREMES)).to_bytes(4, "little")
    return bytes(damaged)
