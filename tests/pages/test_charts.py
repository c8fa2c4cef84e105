from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from helicoid.pages.charts import Axis, Band, Chart, Curve, Level, thinned


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 40.0), (2.4, 2.6), (0.0, 8.0), (1e-9, 3e-9)])
def test_ticks_are_round_and_within(low: float, high: float) -> None:
    found = np.array(Axis(low, high).ticks())
    room = 1e-9 * (high - low)
    assert 3 <= len(found) <= 7 and found[0] >= low - room and found[-1] <= high + room
    digits = {float(f"{step:.1e}".split("e")[0]) for step in np.diff(found)}
    assert len(digits) == 1 and digits <= {1.0, 2.0, 5.0}


@pytest.mark.parametrize(("low", "high"), [(1e-7, 1e5), (0.01, 20.0), (3.0, 30.0)])
def test_ticks_of_factors_are_powers_of_ten(low: float, high: float) -> None:
    found = Axis(low, high, log=True).ticks()
    assert 1 <= len(found) <= 6 and low <= found[0] and found[-1] <= high
    assert all(np.log10(tick) == pytest.approx(round(np.log10(tick))) for tick in found)


def test_an_axis_holds_its_values() -> None:
    values = [np.array([-1.0, np.nan, 3.0])]
    axis = Axis.around(values, "x", margin=0.25)
    np.testing.assert_allclose(axis.place([-1.0, 3.0]), [1 / 6, 5 / 6])
    positive = Axis.around([np.array([0.0, 0.1, 10.0])], "x", log=True)
    np.testing.assert_allclose(positive.place([0.1, 1.0, 10.0]), [0.0, 0.5, 1.0])
    for nothing in (np.zeros(0), np.full(3, 2.0), np.array([np.nan])):
        axis = Axis.around([nothing], "x")
        assert axis.high > axis.low and axis.ticks()


def test_thinning_keeps_spikes_and_little_else() -> None:
    y = np.zeros(100_000)
    y[31_415] = 7.0
    x, kept = thinned(np.arange(100_000.0), y)
    assert len(x) < 1500 and x[np.argmax(kept)] == 31_415 and np.all(np.diff(x) > 0)
    np.testing.assert_array_equal(thinned(np.arange(10.0), y[:10])[1], y[:10])


def test_a_chart_is_well_formed_and_lies_where_its_numbers_say() -> None:
    line = Curve([0.0, 10.0], [0.0, 4.0], "red", "a < b")
    band = Band([0.0, 10.0], [0.0, 1.0], [1.0, 2.0], "blue")
    inset = Chart("inset", Axis(0.0, 10.0), Axis(0.0, 1.0), [line])
    axes = Axis(0.0, 10.0, "t & t"), Axis(0.0, 4.0)
    chart = Chart("T & t", *axes, [band, line], [Level(2.0, "half")], (5.0, "now"), inset)
    root = ElementTree.fromstring(chart.svg())
    paths = [element.get("d") for element in root.iter("path")]
    assert "M46.0,240.0L550.0,14.0" in paths
    assert {"t & t", "half", "now"} <= {text.text for text in root.iter("text")}
    assert "a < b" in "".join(ElementTree.fromstring(f"<p>{chart.legend}</p>").itertext())
    half = [element for element in root.iter("line") if element.get("class") == "level"]
    assert float(half[0].get("y1", "")) == pytest.approx(127.0)
