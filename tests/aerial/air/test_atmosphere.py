from __future__ import annotations

import pytest

import helicoid as hc


@pytest.mark.parametrize(
    ("height", "temperature", "pressure", "density"),  # ISO 2533, table 1
    [
        (0.0, 288.15, 101325.0, 1.2250),
        (5000.0, 255.65, 54019.9, 0.73612),
        (11000.0, 216.65, 22632.0, 0.36391),
        (15000.0, 216.65, 12044.6, 0.19367),
        (20000.0, 216.65, 5474.87, 0.08803),
        (30000.0, 226.65, 1171.87, 0.01801),
    ],
)
def test_standard_atmosphere(height, temperature, pressure, density):
    air = hc.aerial.Air.standard(height)
    assert air.temperature == pytest.approx(temperature, rel=1e-6)
    assert air.pressure == pytest.approx(pressure, rel=1e-4)
    assert air.density == pytest.approx(density, rel=4e-4)


def test_bad_air_is_refused_by_name():
    with pytest.raises(hc.InputError, match=r"density is positive; got -1"):
        hc.aerial.Air(density=-1.0)
    with pytest.raises(hc.InputError, match="32000 m"):
        hc.aerial.Air.standard(50e3)


def test_ground_effect_fades_and_stays_finite():
    factor = hc.aerial.ground_effect([0.0, 0.05, 0.1, 1.0, 100.0], 0.1)
    assert factor[0] == pytest.approx(4 / 3) and factor[1] == pytest.approx(4 / 3)
    assert factor[2] == pytest.approx(16 / 15)
    assert factor[-1] == pytest.approx(1, abs=1e-6)
