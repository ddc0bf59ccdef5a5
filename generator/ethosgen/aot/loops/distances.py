"""How far a kernel's reading is ahead of its writing, in bytes, if it goes from start to end.

An output may begin so many bytes before the input and overlap it: no byte is written that is still
to be read.
"""


def rows_distance(rows: int, read: int, written: int, ahead: int) -> int:
    """Return the distance for rows of `read` bytes that become rows of `written` bytes.

    When a row's last byte has not been read yet, at most `ahead` rows from it on are written.
    """
    last = max(min(rows - ahead, rows - 1), 0)
    return max(1, *(min(row + ahead, rows) * written - row * read for row in (0, last, rows - 1)))


def windows_distance(
    rows: int, read: int, written: int, ahead: int, stride: int, before: int
) -> int:
    """Return the distance for windows over rows of `read` bytes, with outputs in so many `rows`.

    Rows of outputs have `written` bytes. Windows are `stride` rows apart, the first `before` rows
    above the input. When a row of outputs is not complete, at most `ahead` from it on are begun.
    """
    return max(
        1,
        *(
            min(row + ahead, rows) * written - max(row * stride - before, 0) * read
            for row in range(rows)
        ),
    )
