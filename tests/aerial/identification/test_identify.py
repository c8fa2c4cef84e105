"""Quadrotors whose lag, delay, voltage sag, inertia and drag are not those described, from their flights."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.aerial.identification import Draw, draw, flight, truth

import helicoid as hc
from helicoid.aerial.identification.multirotor.result import judge
from helicoid.aerial.identification.sampling import pose_clock, stretches

FlightLog = hc.aerial.FlightLog


@functools.cache
def case() -> Draw:
    return draw(0)


@functools.cache
def flights(gusts: float = 0.0) -> tuple[hc.aerial.FlightLog, ...]:
    return tuple(flight(case(), 40 + k, gusts, 10.0) for k in range(2))


@functools.cache
def found() -> hc.aerial.FlightIdentification:
    return hc.aerial.identify(case().described, flights())


def chosen(log: FlightLog, *names: str, **changed: Any) -> FlightLog:
    """The log with some of its channels."""
    held = {name: (log.channels[name].t, log.channels[name].values) for name in names}
    return FlightLog(None, **{**held, **changed})


def test_parameters_are_within_their_intervals() -> None:
    result, true = found(), truth(case(), found())
    sigma = np.sqrt(np.diag(result.covariance))
    off = (result.point - true) / sigma
    assert np.mean(np.abs(off) < 1.96) > 0.85 and np.abs(off).max() < 5
    assert result.success and result.message == "ok"
    motor = case().true.rotors[0].motor
    lag = np.sqrt(motor.lag_up * motor.lag_down)
    assert result["lag"] + result["delay"] == pytest.approx(lag + case().delay, abs=0.008)
    assert result["voltage_exponent"] == pytest.approx(case().exponent, abs=0.1)
    for delay in result.pose_delays.values():
        assert delay == pytest.approx(case().pose_delay, abs=0.0015)


def test_held_out_flights_are_predicted_as_well_as_by_the_true_vehicle() -> None:
    result = found()
    assert [one.flight for one in result.held_out] == ["flight 1", "flight 2"]
    for one in result.held_out:
        assert one.total(0)[0] < 0.5 * one.total(0)[1] and one.total(3)[0] < 0.5 * one.total(3)[1]
    other = flight(case(), 50, 0.0, 6.0)
    best = judge(
        replace(result.layout, gyro_bias=case().gyro_bias),
        stretches(other)[0],
        truth(case(), result),
        result.means,
        "",
    )
    ours = result.score(other)
    assert ours.total(0)[0] < 1.2 * best.total(0)[0] and ours.total(3)[0] < 1.2 * best.total(3)[0]


def test_the_vehicle_flies_and_commands_convert() -> None:
    result = found()
    hover = result.vehicle.trim()
    assert hover.success
    speed = hover.controls["rotor_1"]
    command = result.commands([speed], voltage=11.8)
    np.testing.assert_allclose(result.speeds(command, voltage=11.8), [speed])
    true = case().offset + case().gain * command[0]
    assert speed == pytest.approx(true * (11.8 / 11.5) ** case().exponent, rel=0.02)
    (first, *_) = result.predict(flights()[0])
    assert first.measured.shape == first.predicted.shape == (len(first.t), 6)
    assert "held out, flight 1" in str(result) and "parameters: ok" in repr(result)


def test_report_holds_verdict_errors_plots_and_parameters(tmp_path: Path) -> None:
    """A page that loads nothing; names of logs are escaped."""
    other = flight(case(), 50, 0.0, 6.0)
    named = chosen(other, *other.channels, source="<b>third</b>")
    found().report(tmp_path / "out" / "page.html", named)
    page = (tmp_path / "out" / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg viewBox") == 6 and "http" not in page.replace("http://www.w3.org", "")
    assert "&lt;b&gt;third" in page and "<b>third" not in page
    error = found().score(named).total(0)[0]
    assert f"<td>{error:.3g}</td>" in page and "left out of a fit" in page and "verdict good" in page
    for name, value in zip(found().names, found().values, strict=True):
        assert f"<td>{name}</td><td>{value:.4g}</td>" in page
    found().report(tmp_path / "short.html")
    assert "<svg viewBox" not in (tmp_path / "short.html").read_text(encoding="utf-8")
    failed = replace(found(), success=False, message="specific force <worse>")
    failed.report(tmp_path / "failed.html")
    text = (tmp_path / "failed.html").read_text(encoding="utf-8")
    assert "verdict bad" in text and "specific force &lt;worse&gt;" in text


def test_motion_capture_alone() -> None:
    logs = [chosen(log, "command", "voltage", "attitude", "position") for log in flights()]
    result = hc.aerial.identify(case().described, logs)
    assert result.success and "accelerometer_bias_x" not in result.names
    assert result["speed_at_mean"] == pytest.approx(found()["speed_at_mean"], rel=0.03)


def test_inertial_sensors_alone_do_not_identify_drag() -> None:
    logs = [chosen(log, "command", "voltage", "gyro", "accelerometer") for log in flights()]
    result = hc.aerial.identify(case().described, logs)
    assert result.success and "hub_drag" not in result.names
    assert any("drag is not identified" in note for note in result.notes)


def test_measured_speeds_tell_the_mass_and_the_map() -> None:
    """Of a vehicle that is 30 % heavier than described, with known propellers."""
    logs = [flight(case(), 40 + k, 0.0, 10.0, tachometers=True) for k in range(2)]
    motor = case().true.rotors[0].motor
    body = case().described.robot
    lighter = case().described.with_robot(body.with_parameters(body.parameters.values / 1.3))
    result = hc.aerial.identify(lighter, logs, known="thrust")
    assert result.vehicle.robot.mass == pytest.approx(case().true.robot.mass, rel=0.03)
    lag = np.sqrt(motor.lag_up * motor.lag_down) + case().delay
    assert result["lag"] + result["delay"] == pytest.approx(lag, abs=0.008)


def test_one_flight_is_judged_by_halves() -> None:
    result = hc.aerial.identify(case().described, flights()[0])
    assert [one.flight for one in result.held_out] == ["flight 1, half 1", "flight 1, half 2"]


def test_a_model_worse_than_a_constant_says_so() -> None:
    """Commands of another flight, turned around: they say nothing of this one's motion."""
    log, other = (one.between(0.0, 5.0) for one in flights())
    t, values = log.channels["command"]
    names = [name for name in log.channels if name != "command"]
    wrong = chosen(log, *names, command=(t, values[::-1, [2, 3, 0, 1]]))
    result = hc.aerial.identify(case().described, [wrong, other])
    assert not result.success and "worse than by a constant" in result.message


def test_misalignment_of_the_gyroscope_does_not_look_like_a_delay() -> None:
    """Of poses: 3° turn a yaw rate into roll rates."""
    log = flights()[0]
    t, w = log.channels["gyro"]
    turned = chosen(log, *log.channels, gyro=(t, w @ hc.geometry.so3.exp(np.array([0.05, -0.05, 0.0]))))
    assert pose_clock(turned).delay == pytest.approx(case().pose_delay, abs=0.0015)


@functools.cache
def tilted(angle: float) -> list[FlightLog]:
    """Flights whose attitudes are those of axes tilted against the rotors'."""
    turn = hc.geometry.quaternion.exp(np.array([angle, -angle, 0.0]))
    return [
        chosen(
            log,
            *log.channels,
            attitude=(
                log.channels["attitude"].t,
                np.array([hc.geometry.quaternion.multiply(x, turn) for x in log.channels["attitude"].values]),
            ),
        )
        for log in flights()
    ]


def test_tilt_of_the_attitude_is_noted_and_found() -> None:
    plain = hc.aerial.identify(case().described, tilted(0.03))
    assert any("attitude_tilt=0.02 estimates" in note for note in plain.notes)
    result = hc.aerial.identify(case().described, tilted(0.03), attitude_tilt=0.02)
    assert not any("attitude_tilt" in note for note in result.notes)
    assert result["attitude_tilt_x"] == pytest.approx(0.03, abs=0.005)
    assert result["attitude_tilt_y"] == pytest.approx(-0.03, abs=0.005)
    assert result.held_out[0].total(0)[0] < 0.7 * plain.held_out[0].total(0)[0]


def test_tilt_is_an_option_of_multirotors() -> None:
    with pytest.raises(hc.InputError, match="attitude_tilt"):
        hc.aerial.identify(case().described, flights(), attitude_tilt=-1.0)


@pytest.mark.slow
def test_in_gusts_intervals_cover_and_errors_are_those_of_the_truth() -> None:
    shares, ratios = [], []
    for seed in (7, 8, 9):
        true = draw(seed)
        logs = [flight(true, 100 * seed + k) for k in range(3)]
        result = hc.aerial.identify(true.described, logs[:2])
        assert result.success
        off = np.abs(result.point - truth(true, result)) / np.sqrt(np.diag(result.covariance))
        shares.append(np.mean(off < 1.96))
        for axis, bias in zip("xyz", true.accelerometer_bias, strict=True):  # poses tell it from the wind
            assert result[f"accelerometer_bias_{axis}"] == pytest.approx(bias, abs=0.06)
        layout = replace(result.layout, gyro_bias=true.gyro_bias)
        best = judge(layout, stretches(logs[2])[0], truth(true, result), result.means, "")
        ours = result.score(logs[2])
        ratios += [ours.total(at)[0] / best.total(at)[0] for at in (0, 3)]
    assert np.mean(shares) > 0.85 and max(ratios) < 1.2


# Wrong input ----------------------------------------------------------------------------------------------

T = np.arange(200) / 100.0
FOUR, THREE = np.ones((200, 4)), np.zeros((200, 3))


@pytest.mark.parametrize(
    ("channels", "message"),
    [
        (dict(gyro=THREE), "has the commands of its rotors"),
        (dict(command=FOUR), "gyro= and accelerometer=, or attitude="),
        (dict(command=FOUR, gyro=FOUR), "gyro has 3 columns, got 4"),
        (dict(command=FOUR[:9], gyro=THREE), "command has one row a time"),
        (dict(command=FOUR, gyro=np.full((200, 3), np.nan)), "gyro has 0 samples"),
        (dict(command="fast", gyro=THREE), "command is no array of numbers"),
    ],
)
def test_wrong_channels_are_named(channels: dict[str, Any], message: str) -> None:
    with pytest.raises(hc.InputError, match=message):
        FlightLog(T, **channels)


def test_channels_without_times() -> None:
    with pytest.raises(hc.InputError, match="gyro has no times: give t=, or gyro="):
        FlightLog(None, command=(T, FOUR), gyro=THREE)


@pytest.mark.parametrize(
    ("channels", "options", "message"),
    [
        (dict(command=np.ones((200, 6))), {}, "command has 6 columns, the vehicle 4 rotors"),
        (dict(), dict(commands="pwm"), "commands are 'throttle' or 'speed'"),
        (dict(), dict(known="weight"), "known is 'mass' or 'thrust'"),
        (dict(), dict(known="thrust"), "thrust is known from rotor speeds"),
        (dict(accelerometer=None), {}, "specific force needs an accelerometer"),
        (dict(accelerometer=None, position=THREE), {}, "with attitude= only"),
        (dict(), dict(sensor=[1.0]), "sensor is a place on the root"),
        (dict(gyro=(T + 50.0, THREE)), {}, "no second of this flight"),
    ],
)
def test_wrong_flights_are_named(channels: dict[str, Any], options: dict[str, Any], message: str) -> None:
    log = FlightLog(T, **{**dict(command=FOUR, gyro=THREE, accelerometer=THREE), **channels})
    with pytest.raises(hc.InputError, match=message):
        hc.aerial.identify(hc.aerial.load("hummingbird"), log, **options)


def test_wrong_vehicles_are_named() -> None:
    log = FlightLog(T, command=FOUR, gyro=THREE, accelerometer=THREE)
    with pytest.raises(hc.InputError, match="one or several; got"):
        hc.aerial.identify(hc.aerial.load("hummingbird"), [3])  # type: ignore[list-item]
    other = FlightLog(T, command=FOUR, gyro=THREE, accelerometer=THREE, position=THREE)
    with pytest.raises(hc.InputError, match="the same channels"):
        hc.aerial.identify(hc.aerial.load("hummingbird"), [log, other])
