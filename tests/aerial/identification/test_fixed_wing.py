"""Stability and control derivatives of aircraft from 3-2-1-1 manoeuvres, by equation and output error."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.aerial.fixed_wing_identification import Draw, draw, flight, truth

import helicoid as hc
from helicoid.aerial.identification.fixed_wing.model import measured_wind
from helicoid.aerial.identification.fixed_wing.result import aircraft_stretches, judge

FlightLog = hc.aerial.FlightLog


@functools.cache
def case() -> Draw:
    return draw("aerosonde", 0)


@functools.cache
def flights(gusts: float = 7.7, air_data: bool = True) -> tuple[hc.aerial.FlightLog, ...]:
    return tuple(flight(case(), 40 + k, gusts, air_data, 12.0) for k in range(2))


@functools.cache
def found(gusts: float = 7.7, method: Any = "equation_error") -> hc.aerial.FixedWingIdentification:
    return hc.aerial.identify(case().described, flights(gusts), method=method)


def deviations_off(result: hc.aerial.FixedWingIdentification) -> np.ndarray:
    off = (result.point - truth(case(), result)) / result.sigma
    return off[np.isfinite(off)]


def errors(result: hc.aerial.FixedWingIdentification) -> np.ndarray:
    """Errors of described derivatives that were wrong, relative to what they were."""
    point = truth(case(), result)
    kept = np.array([name.startswith("C_") and name[4:] != "0" for name in result.names])
    kept &= np.abs(point - result.described) > 0
    return np.abs(result.point - point)[kept] / np.abs(result.described - point)[kept]


def chosen(log: FlightLog, *names: str, **changed: Any) -> FlightLog:
    """The log with some of its channels."""
    held = {name: (log.channels[name].t, log.channels[name].values) for name in names}
    return FlightLog(None, **{**held, **changed})


def test_equation_error_finds_the_derivatives_in_gusts() -> None:
    result = found()
    assert result.success and result.message == "ok" and result.method == "equation_error"
    assert np.median(errors(result)) < 0.35
    assert [one.flight for one in result.held_out] == ["flight 1", "flight 2"]
    for one in result.held_out:
        assert one.total(0)[0] < 0.4 * one.total(0)[1] and one.total(3)[0] < 0.6 * one.total(3)[1]
    assert result["delay"] == pytest.approx(case().delay, abs=0.005)


def test_the_aircraft_flies_and_predicts(tmp_path: Path) -> None:
    result = found()
    result.report(tmp_path / "page.html", flights()[1])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg viewBox") == 6 and f"<td>C_m_alpha</td><td>{result['C_m_alpha']:.4g}</td>" in page
    level = result.vehicle.trim(speed=25.0)
    assert level.success
    assert level.alpha == pytest.approx(case().true.trim(speed=25.0).alpha, abs=0.01)
    (one, *_) = result.predict(flights()[0])
    assert one.measured.shape == one.predicted.shape == (len(one.t), 6)
    assert result.vehicle.coefficients["C_m_alpha"] == result["C_m_alpha"]
    assert "held out, flight 1" in str(result) and "FixedWingIdentification" in repr(result)


@pytest.mark.slow
def test_output_error_in_calm_air_is_nearer_and_intervals_cover() -> None:
    """Noise of measured states draws equation error to zero, not output error (Klein and Morelli 2006)."""
    simple, better = found(0.0), found(0.0, "output_error")
    assert better.success
    off = deviations_off(better)
    assert np.mean(np.abs(off) < 1.96) > 0.7 and np.abs(off).max() < 6  # of 24 s: sampling shows
    assert np.median(errors(better)) < 0.5 * np.median(errors(simple))


@pytest.mark.slow
def test_output_error_in_gusts() -> None:
    result = found(7.7, "output_error")
    off = deviations_off(result)
    assert result.success and np.mean(np.abs(off) < 1.96) > 0.85
    other = flight(case(), 50, 7.7, True, 12.0)
    data, point = aircraft_stretches(other)[0], truth(case(), result)
    best = judge(result.layout, data, np.where(np.isfinite(point), point, 0.0), result.means, "true")
    ours = result.score(other)
    assert ours.total(0)[0] < 1.2 * best.total(0)[0] and ours.total(3)[0] < 1.2 * best.total(3)[0]


@pytest.mark.slow
def test_without_air_data_the_mean_wind_is_found() -> None:
    logs = [chosen(log, *(set(log.channels) - {"air_data"})) for log in flights(0.0)]
    t = logs[0].channels["velocity"].t
    wind = np.array([3.0, -2.0, 0.0])
    own = sorted(set(logs[0].channels) - {"velocity", "position"})
    blown = [chosen(log, *own, velocity=(t, log.channels["velocity"].values + wind)) for log in logs]
    result = hc.aerial.identify(case().described, blown, method="output_error")
    assert result.success
    for k in range(2):
        assert result[f"wind_{k}_x"] == pytest.approx(3.0, abs=1.0)
        assert result[f"wind_{k}_y"] == pytest.approx(-2.0, abs=1.0)
    assert result["C_m_alpha"] == pytest.approx(case().true.coefficients["C_m_alpha"], rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cessna_172", "f16"])
def test_unsteady_derivatives_tables_and_engines(name: str) -> None:
    """The Cessna has derivatives of the rate of α, the F-16 tables, whose factors are found, and a lag."""
    own = draw(name, 3)
    result = hc.aerial.identify(
        own.described, [flight(own, k, 5.0, True, 20.0) for k in range(2)], method="equation_error"
    )
    point = truth(own, result)
    strong = [k for k, key in enumerate(result.names) if key in ("C_m factor", "C_Z factor", "C_m_alpha")]
    assert result.success and strong
    np.testing.assert_allclose(result.point[strong], point[strong], rtol=0.1)
    assert result.vehicle.trim(speed=153.0 if name == "f16" else 66.0).success


def test_a_model_worse_than_a_constant_says_so() -> None:
    """Commands of the second flight are those of the first, backwards: they do not explain its motion."""
    first, second = flights()
    t, values = second.channels["command"]
    names = [name for name in second.channels if name != "command"]
    wrong = chosen(second, *names, command=(t, -3 * values[::-1]))
    result = hc.aerial.identify(case().described, [first, wrong], method="equation_error")
    assert not result.success and "worse than by a constant" in result.message


def test_gusts_are_told_from_the_noise_of_air_data() -> None:
    """The smoothed difference of both velocities, against the gusts that were flown, and in calm air."""
    calm = measured_wind(aircraft_stretches(flights(0.0)[0])[0][0])
    assert np.ptp(calm, axis=0).max() < 0.3
    (log, *_) = flights()
    (stretch, *_) = aircraft_stretches(log)[0]
    smooth = measured_wind(stretch)
    assert stretch.R is not None and stretch.velocity is not None and stretch.air is not None
    raw = np.einsum("kij,kj->ki", stretch.R, stretch.velocity - stretch.air)
    assert np.std(raw - smooth, axis=0).max() < 0.5 and smooth.std(axis=0).max() > 0.3
    assert np.abs(np.diff(smooth, axis=0)).mean() < 0.3 * np.abs(np.diff(raw, axis=0)).mean()


def test_multistep() -> None:
    t = np.linspace(0.0, 8.0, 801)
    u = hc.aerial.multistep(t, start=1.0, unit=0.5, amplitude=0.1)
    assert u.sum() * 0.01 == pytest.approx(0.1 * 0.5 * (3 - 2 + 1 - 1))
    assert u[0] == u[-1] == 0.0 and u.max() == 0.1 and u.min() == -0.1
    assert set(hc.aerial.multistep(t, 0.0, 1.0, -1.0, steps=(1, 1))[[0, 150, 400]]) == {-1.0, 1.0, 0.0}
    for wrong in (dict(unit=0.0), dict(steps=()), dict(steps=(1, -1)), dict(start="now")):
        with pytest.raises(hc.InputError):
            hc.aerial.multistep(t, **wrong)  # type: ignore[arg-type]


# Wrong input ----------------------------------------------------------------------------------------------

T = np.arange(200) / 100.0
FOUR, THREE, TURNS = np.ones((200, 4)), np.zeros((200, 3)), np.tile([1.0, 0, 0, 0], (200, 1))
ALL = dict(
    command=FOUR, gyro=THREE, accelerometer=THREE, attitude=TURNS, velocity=THREE + np.array([25.0, 0, 0])
)


@pytest.mark.parametrize(
    ("channels", "options", "message"),
    [
        (
            dict(command=np.ones((200, 3))),
            {},
            "command has 3 columns, the controls of 'aerosonde' are elevator",
        ),
        (dict(attitude=None), {}, "flights of an aircraft have attitude="),
        (dict(velocity=None), {}, "need its velocity: air_data=, velocity= or position="),
        (dict(accelerometer=None), {}, "specific force needs an accelerometer"),
        (dict(), dict(method="filter_error"), "method is 'equation_error' or 'output_error'"),
        (dict(), dict(commands="speed"), "options of multirotors"),
    ],
)
def test_wrong_flights_are_named(channels: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(hc.InputError, match=message):
        hc.aerial.identify(hc.aerial.load("aerosonde"), FlightLog(T, **{**ALL, **channels}), **options)


def test_wrong_vehicles_and_options_are_named() -> None:
    log = FlightLog(T, **ALL)
    with pytest.raises(hc.InputError, match="takes a Multirotor or a FixedWing"):
        hc.aerial.identify(hc.load("panda"), log)  # type: ignore[call-overload]
    with pytest.raises(hc.InputError, match="method is an option of aircraft"):
        hc.aerial.identify(hc.aerial.load("hummingbird"), log, method="equation_error")  # type: ignore[call-overload]
    with pytest.raises(hc.InputError, match="the same channels"):
        hc.aerial.identify(hc.aerial.load("aerosonde"), [log, FlightLog(T, **ALL, position=THREE)])
