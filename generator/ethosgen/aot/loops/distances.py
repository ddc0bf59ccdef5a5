"""How far a kernel reads ahead of its writes, in bytes, if it goes from start to end.

An output may begin this many bytes before the input and overlap it: no byte is overwritten before
it is read.
"""


def rows_distance(rows: int, read: int, written: int, ahead: int) -> int:
    """Return the distance for rows of `read` bytes that become rows of `written` bytes.

    While a row's last byte is unread, at most `ahead` rows from that row on have been written.
    """
    last = max(min(rows - ahead, rows - 1), 0)
    return max(1, *(min(row + ahead, rows) * written - row * read for row in (0, last, rows - 1)))


def backward_distance(rows: int, read: int, written: int, ahead: int) -> int:
    """Return the distance for a kernel that begins with the last row; the input begins first.

    While a row's first byte is unread, at most `ahead` rows up to that row have been written.
    """
    turns = min(ahead, rows), rows
    return max(1, *(last * read - max(last - ahead, 0) * written for last in turns))


def windows_distance(
    rows: int, read: int, written: int, ahead: int, stride: int, before: int
) -> int:
    """Return the distance for windows over rows of `read` bytes, with outputs in `rows` rows.

    Rows of outputs have `written` bytes. Windows are `stride` rows apart, the first `before` rows
    above the input. While a row of outputs is incomplete, at most `ahead` rows from that row on
    have been begun.
    """
    return max(
        1,
        *(
            min(row + ahead, rows) * written - max(row * stride - before, 0) * read
            for row in range(rows)
        ),
    )
