import pytest

from assembler.profile import LOST_PRICE, Profile


@pytest.mark.parametrize(
    ("cosine", "price"),
    [(None, 0.3), (0.9, 0.3), (0.5, 0.3), (0.4, 0.525), (0.3, LOST_PRICE), (-0.2, LOST_PRICE)],
)
def test_the_price_rises_where_nothing_is_near(cosine: float | None, price: float) -> None:
    profile = Profile("mine", price=0.3, sure_cosine=0.5, lost_cosine=0.3)

    assert profile.price_at(cosine) == pytest.approx(price)


def test_equal_cosines_switch_the_rise_off() -> None:
    profile = Profile("mine", price=0.3, sure_cosine=0.4, lost_cosine=0.4)

    assert profile.price_at(0.1) == 0.3


def test_a_price_above_the_best_candidate_stays() -> None:
    assert Profile("mine", price=1.5, sure_cosine=0.5, lost_cosine=0.3).price_at(0.4) == 1.5


@pytest.mark.parametrize(
    "numbers",
    [{"sure_cosine": 1.2}, {"lost_cosine": -2.0}, {"sure_cosine": 0.1, "lost_cosine": 0.2}],
)
def test_cosines_that_cannot_be_are_refused(numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must be"):
        Profile("mine", **numbers)
