from ethosgen.values.watch import Watch


def test_phases_are_announced_and_add_up() -> None:
    heard: list[str] = []
    watch = Watch(heard.append)
    with watch.phase("read", "reading"):
        pass
    first = watch.wall_s["read"]
    with watch.phase("read", "reading again"):
        watch.say("half way")
    assert heard == ["reading", "reading again", "half way"]
    assert watch.wall_s["read"] >= first >= 0


def test_a_phase_that_fails_is_timed_all_the_same() -> None:
    watch = Watch()
    try:
        with watch.phase("run", "running"):
            raise RuntimeError
    except RuntimeError:
        pass
    assert "run" in watch.wall_s
