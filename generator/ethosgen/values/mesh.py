"""A mesh of elements: their places, the ports to their neighbours, and the ways between them."""

from dataclasses import dataclass

from ethosgen.values.wiring import HOST

NORTH, EAST, SOUTH, WEST, OWN = range(5)
"""The ports of an element's router: to its neighbours, and to itself."""
SIDES = (NORTH, EAST, SOUTH, WEST)
_STEPS = {NORTH: (0, -1), EAST: (1, 0), SOUTH: (0, 1), WEST: (-1, 0)}


@dataclass(frozen=True)
class ElementMesh:
    """A mesh of elements in rows, the first row from west to east, the next one back.

    The host is west of the first element. The last row may have fewer than `columns` elements.
    """

    columns: int
    rows: int
    count: int

    @property
    def most(self) -> int:
        """The places of all rows."""
        return self.columns * self.rows

    @property
    def least(self) -> int:
        """The fewest elements, of which one is in the last row."""
        return self.most - self.columns + 1

    def place(self, element: int) -> tuple[int, int]:
        """Return an element's column and row."""
        row, column = divmod(element, self.columns)
        return (self.columns - 1 - column if row % 2 else column), row

    def at(self, place: tuple[int, int]) -> int | None:
        """Return the element at a place, None if there is none."""
        column, row = place
        if not (0 <= column < self.columns and 0 <= row < self.rows):
            return None
        element = row * self.columns + (self.columns - 1 - column if row % 2 else column)
        return element if element < self.count else None

    def neighbour(self, element: int, port: int) -> int | None:
        """Return an element's neighbour on a side: an element, the host, or None."""
        if (element, port) == (0, WEST):
            return HOST
        column, row = self.place(element)
        right, down = _STEPS[port]
        return self.at((column + right, row + down))

    def port(self, element: int, to: int) -> int:
        """Return the port by which a packet for `to` leaves an element: first along the row.

        No packet turns from a column into a row, except from the first one to the host, where its
        way ends, and from a last row that is not full, to which no packet comes back: so packets
        that wait for each other form no circle.
        """
        column, row = self.place(element)
        to_column, to_row = self.place(max(to, 0))
        if row != to_row and (row + 1) * self.columns > self.count:
            return NORTH
        if column != to_column:
            return EAST if column < to_column else WEST
        if row != to_row:
            return SOUTH if row < to_row else NORTH
        return WEST if to == HOST else OWN

    def way(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return the links on which a packet travels: pairs of neighbours."""
        links = [(HOST, 0)] if start == HOST else []
        at = max(start, 0)
        while at != stop:
            to = self.neighbour(at, self.port(at, stop))
            assert to is not None  # a packet never leaves the mesh
            links.append((at, to))
            at = to
        return links
