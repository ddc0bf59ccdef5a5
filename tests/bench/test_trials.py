"""The batch of public networks: what it counts, and that nothing falls out of its page."""

from bench import trials

WORDS = {
    "compiled before, for another NPU or without --golden": "'x' is compiled for ethos-u55-64, not",
    "dynamic-range quantization": "operator 1 of 2, CONV_2D that makes 'y', cannot be compiled: "
    "the network has dynamic-range quantization",
    "no code for the operator in this type": "operator 1 of 2, CONV_2D that makes 'y', cannot be "
    "compiled: there is no CPU code for uint8",
    "a custom operator that TFLite Micro lacks too": "operator 1 of 2, Assign that makes 'y', "
    "cannot be compiled: it is a custom operator, which TFLite Micro does not have either",
    "machine code for another accelerator": "operator 1 of 2, DISPATCH_OP that makes 'y', cannot "
    "be compiled: it holds machine code for the NPU of a phone",
    "reported as damaged": "'x' is damaged: it refers to buffer 0 of 0",
    "another reason": "the moon is full",
}


def _trial(name: str, verdict: str, words: str) -> trials.Trial:
    return trials.Trial(
        "one/two", name, name, dict.fromkeys(trials.NPUS, verdict),
        dict.fromkeys(trials.NPUS, words), 1.0,
    )  # fmt: skip


def test_each_refusal_has_its_class_and_counts_add_up() -> None:
    attempts = [_trial(name, "REFUSED", words) for name, words in WORDS.items()]
    attempts += [_trial("good", "PASS", "0 of 4, tflm"), _trial("bad", "FAIL", "3 of 4, litert")]
    text = trials.page(attempts, "today", ", and 3 others when time ran out")
    for name in WORDS:
        assert f"| {name} | 1 | 1 |" in text
    assert "| all | 9 | 1 | 1 | 7 | 0 | 1 | 1 | 7 | 0 |" in text
    assert "one/two, bad, none: FAIL, 3 of 4, litert" in text and "3 others" in text


def test_the_committed_page_keeps_both_parts() -> None:
    page = trials.PAGE.read_text()
    assert page.startswith("# Public networks") and page.count(trials.MARK) == 1
    assert "| all | " in page.partition(trials.MARK)[2]
