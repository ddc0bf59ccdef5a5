"""Reruns: what workers note of each test is not held back by TCP."""

import socket
from types import SimpleNamespace
from typing import Any, cast

import pytest
import pytest_rerunfailures

from tests.support.reruns import hasten


def hastened(notes: Any) -> Any:
    hasten(cast(pytest.Config, SimpleNamespace(failures_db=notes)))
    return notes


def test_a_workers_socket_sends_at_once() -> None:
    notes = hastened(pytest_rerunfailures.SocketDB())
    assert notes.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    notes.sock.close()


def test_without_workers_or_reruns_there_is_none() -> None:
    hastened(pytest_rerunfailures.StatusDB())
    hasten(cast(pytest.Config, SimpleNamespace()))
