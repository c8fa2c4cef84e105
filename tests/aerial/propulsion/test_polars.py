"""Propellers with tabulated polars, and their geometry from published files."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.aerial import Air, Airfoil, Polars, Propeller

INCH = 0.0254


def sampled(foil, alpha, reynolds):
    """Polars of an analytic airfoil, at Mach number 0."""
    lift, drag = foil.coefficients(*np.broadcast_arrays(alpha[:, None], reynolds[None, :]), 0.0)
    return Polars(alpha, reynolds, lift, drag)


@pytest.mark.parametrize("case", ["hover", "forward"])
def test_tables_of_qprops_airfoil_give_its_thrust_and_torque(published, case):
    data = published("graupner_6x3")
    foil = Airfoil.of({**data["airfoil"], "CD2l": 0.05})  # the curvature that its numbers have
    table = sampled(foil, np.radians(np.linspace(-20, 30, 501)), np.geomspace(1e4, 2e5, 40))
    geometry, air = data["geometry_inch_deg"], data["air"]
    r, chord = INCH * np.array(geometry["r"]), INCH * np.array(geometry["chord"])
    propeller = Propeller.from_geometry(r, chord, np.radians(geometry["beta"]), 2, 3.0 * INCH, table)
    wanted = data[case]
    found = propeller.performance(wanted["V"], wanted["rpm"], Air(air["rho"], air["mu"], air["a"]))
    assert found.thrust == pytest.approx(wanted["T"], rel=5e-3)
    assert found.torque == pytest.approx(wanted["Q"], rel=5e-3)


def test_the_reynolds_number_counts():
    alpha = np.radians([-5.0, 0.0, 5.0, 10.0])
    lift = np.stack([0.3 + 5.0 * alpha, 0.4 + 6.0 * alpha], axis=1)
    foil = Polars(alpha, [2e4, 2e5], lift, np.array([[0.06, 0.02]] * 4))
    c_l, c_d = foil.coefficients(np.zeros(3), np.array([1e3, np.sqrt(2e4 * 2e5), 1e7]), 0.0)
    np.testing.assert_allclose(c_l, [0.3, 0.35, 0.4])  # held beyond the table, logarithmic within
    np.testing.assert_allclose(c_d, [0.06, 0.04, 0.02])
    deep = foil.coefficients(np.array([1.2]), 1e5, 0.0)
    np.testing.assert_allclose(np.ravel(deep), [np.sin(2.4), 2 * np.sin(1.2) ** 2])
    r = np.linspace(0.02, 0.1, 9)
    propeller = Propeller.from_geometry(r, 0.02 + 0 * r, np.arctan(0.02 / r), 2, 0.1, foil)
    slow, fast = propeller.performance(0.0, [1500.0, 9000.0]).figure_of_merit
    assert fast > slow + 0.05


def test_a_file_of_the_uiuc_database(published, tmp_path):
    geometry, path = published("apc_10x7sf")["geometry"], tmp_path / "apcsf_10x7_geom.txt"
    rows = zip(geometry["r/R"], geometry["c/R"], geometry["beta"], strict=True)
    path.write_text("r/R     c/R    beta\n" + "\n".join(f"{r:.2f} {c:.3f} {b:.2f}" for r, c, b in rows))
    read = Propeller.from_file(path, 0.127, Airfoil())
    r, chord = 0.127 * np.array(geometry["r/R"]), 0.127 * np.array(geometry["c/R"])
    given = Propeller.from_geometry(r, chord, np.radians(geometry["beta"]), 2, 0.127, Airfoil())
    assert (
        pytest.approx(float(given.performance(5.0, 5000.0).CT), rel=1e-12) == read.performance(5.0, 5000.0).CT
    )
    for text, message in (
        ("r/R c/R beta\n0.1 0.2 30\n0.5 wide 20\n", "line 3"),
        ("r/R c/R beta\n0.1 0.2 30\n", "four or more"),
        ("", "four or more"),
    ):
        path.write_text(text)
        with pytest.raises(hc.InputError, match=message):
            Propeller.from_file(path, 0.127, Airfoil())
    with pytest.raises(hc.InputError, match="cannot be read"):
        Propeller.from_file(tmp_path / "missing.txt", 0.127, Airfoil())


PE0 = """         10x7SF                            (10x7SF.dat)

         ----- AIRFOIL SUMMARY DATA -----
     DEFINITIONS:
         THE QUOTED PITCH REFLECTS, IN GENERAL, ANGULAR MEASURE

  STATION   CHORD     PITCH     PITCH      PITCH      SWEEP {rake}  THICKNESS     TWIST     MAX-THICK
   (IN)     (IN)     (QUOTED)  (LE-TE)   (PRATHER)     (IN) {unit}   RATIO        (DEG)      (IN)

{rows}

 RADIUS:        5.0000    PROPELLER RADIUS (IN)
 HUBTRA:        0.5000    HUB TRANSITION (IN)
 BLADES:        2         NUMBER OF BLADES
"""


@pytest.mark.parametrize("rake", [False, True])
def test_a_pe0_file_of_apc(published, tmp_path, rake):
    """The same blade as in the form of the UIUC database; newer files have a column more."""
    geometry, path = published("apc_10x7sf")["geometry"], tmp_path / "10x7SF-PE0.txt"
    table = list(zip(geometry["r/R"], geometry["c/R"], geometry["beta"], strict=True))
    more = " 0.0" if rake else ""
    rows = [f"{5 * r:.4f} {5 * c:.4f} 7.0 7.1 7.2 0.3{more} 0.12 {b:.4f} 0.05" for r, c, b in table]
    rows.append(f"5.0500 0.0100 7.0 7.1 7.2 0.3{more} 0.12 3.0 0.05")  # of the mould, beyond the tip
    text = PE0.format(rows="\n".join(rows), rake="RAKE" * rake, unit="(IN)" * rake)
    path.write_text(text)
    read = Propeller.from_file(path, airfoil=Airfoil())
    r, chord, beta = (np.array(column) for column in zip(*table, strict=True))
    given = Propeller.from_geometry(0.127 * r, 0.127 * chord, np.radians(beta), 2, 0.127, Airfoil())
    assert read.radius == pytest.approx(0.127) and read.blade.blades == 2
    for speed in (0.0, 8.0):
        assert float(read.performance(speed, 6000.0).CT) == pytest.approx(
            float(given.performance(speed, 6000.0).CT), rel=1e-4
        )
    for changed, message in (
        (text.replace("RADIUS:", "SIZE:"), "SIZE:|RADIUS"),
        (text.replace("BLADES:        2", "BLADES:        1"), "two or more BLADES"),
        (text.replace("TWIST", "TURN"), "TWIST"),
        (text.replace("(IN)", "(MM)", 2), r"\(IN\)"),
        (text.replace(rows[1], rows[1] + " x"), f"line {text[: text.index(rows[1])].count(chr(10)) + 1}"),
        (text.replace("\n".join(rows), "\n".join(rows[:3])), "four or more"),
    ):
        path.write_text(changed)
        with pytest.raises(hc.InputError, match=message):
            Propeller.from_file(path, airfoil=Airfoil())
    path.write_text(text)
    for options, message in (
        ({"radius": 0.1}, "not 0.1 m"),
        ({"blades": 3}, "not 3"),
        ({"airfoil": None}, "airfoil"),
    ):
        with pytest.raises(hc.InputError, match=message):
            Propeller.from_file(path, **{"airfoil": Airfoil(), **options})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"alpha": [0.1, 0.0]}, "ascends"),
        ({"reynolds": [-1.0, 1e5]}, "above 0"),
        ({"lift": [1.0, 2.0, 3.0]}, "one row an angle"),
        ({"drag": np.zeros((2, 2))}, "positive"),
        ({"lift": np.full((2, 2), np.nan)}, "finite"),
        ({"alpha": "steep"}, "numbers"),
    ],
)
def test_bad_polars(changed, message):
    good = {"alpha": [0.0, 0.1], "reynolds": [1e4, 1e5], "lift": np.eye(2), "drag": np.ones((2, 2))}
    with pytest.raises(hc.InputError, match=message):
        Polars(**{**good, **changed})
