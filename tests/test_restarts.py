"""When a program that has ended is started again, on a clock of the test."""

from services.restarts import STEADY_S, WAITS_S, Restarts


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_each_end_in_a_row_waits_longer_and_one_too_many_is_told() -> None:
    clock = Clock()
    restarts = Restarts(clock=clock)
    assert not restarts.waiting
    waited = []
    while (wait := restarts.ended()) is not None:
        waited.append(wait)
        assert restarts.waiting
        assert not restarts.due
        clock.now += wait
        assert restarts.due
        restarts.started()
        assert not restarts.waiting
    assert tuple(waited) == WAITS_S == tuple(sorted(WAITS_S))


def test_what_has_run_for_long_begins_anew() -> None:
    clock = Clock()
    restarts = Restarts(clock=clock)
    for _ in range(3 * len(WAITS_S)):
        assert restarts.ended() == WAITS_S[0]
        restarts.started()
        clock.now += STEADY_S
