"""Runs whose requests are not repeated, so that the console interrupts none of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from ethosgen.targets.session import RunReply, Session


@contextmanager
def patient_session(retry_s: float = 60) -> Iterator[None]:
    """Repeat an unanswered request only after so many seconds, however busy the machine is."""
    run = Session.run

    def patient(session: Session, timeout_s: float, network: int = 0) -> RunReply:
        session._retry_s = retry_s
        return run(session, timeout_s, network)

    with patch.object(Session, "run", patient):
        yield
