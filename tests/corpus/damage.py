"""Replaces the NPU's outputs with wrong ones, which no known reason may excuse."""

import copy
from collections.abc import Iterator, Sequence

import numpy as np

from tests.corpus.site import FAULT
from tests.corpus.trial import Key, Run, Trial, case_of, explain_trials, judge, run_case, setting_of

WAYS = ("garbage", "noise", "one value")
"""Random values, one more or less everywhere, and a single bit."""


def survivors(run: Run, way: str) -> Iterator[str]:
    """Yield each trial of a judged run whose damaged outputs a known reason still excuses."""
    damaged = copy.deepcopy(run)
    for trial in damaged.trials:
        trial.known = {}
        damage(trial, way)
    judge([damaged])
    explain_trials([damaged])
    for before, after in zip(run.trials, damaged.trials, strict=True):
        excused = set(before.known) - {FAULT}
        if excused & set(after.known) or (after.outputs and not after.unexpected):
            yield f"{before.key} on {before.setting.npu}: {way} passes as {after.known}"


def damage(trial: Trial, way: str) -> None:
    """Change a trial's outputs in one of the `WAYS`."""
    random = np.random.default_rng(0)
    for sample in trial.outputs or []:
        for value in sample.values():
            is_bool = value.dtype == np.bool_
            array = value.view(np.uint8) if is_bool else value
            info = np.iinfo(array.dtype)
            if way == "garbage":
                low, high = (0, 2) if is_bool else (info.min, info.max)
                array[...] = random.integers(low, high, array.shape, array.dtype)
            elif way == "noise" and is_bool:
                array ^= 1
            elif way == "noise":
                signs = random.choice(np.array([-1, 1]).astype(array.dtype), array.shape)
                np.add(array, signs, out=array)
            else:
                array.reshape(-1)[random.integers(array.size)] ^= 1


def damage_keys(keys: Sequence[Key], products: Sequence[str]) -> tuple[int, list[str]]:
    """Damage every network that a known reason excuses; return their number and those that pass."""
    runs = [
        run_case(key, case_of(key), [setting_of(key, product) for product in products])
        for key in keys
    ]
    judge(runs)
    explain_trials(runs)
    excused = [run for run in runs if any(set(t.known) - {FAULT} for t in run.trials)]
    undetected = [text for run in excused for way in WAYS for text in survivors(run, way)]
    return len(excused), undetected
