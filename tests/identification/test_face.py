from __future__ import annotations

import subprocess
import sys

import pytest

import helicoid as hc
from helicoid import identification


def test_what_is_offered_is_there() -> None:
    for name in identification.__all__:
        assert getattr(identification, name).__name__ == name
    assert dir(identification) == identification.__all__ == sorted(identification.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = identification.nothing
    for name in ("identify", "excitation", "identifiability", "identify_payload", "drive_gains"):
        assert callable(getattr(hc, name))
    assert hc.fit_output_error is identification.fit_output_error
    assert hc.fit_nonlinear is identification.fit_nonlinear


def test_reading_a_log_loads_no_solver() -> None:
    """Whatever was imported first, a name and the module of that name do not get mixed up."""
    code = (
        "import sys, helicoid as hc; hc.Log; "
        "assert not {'clarabel', 'helicoid.identification.identify'} & set(sys.modules); "
        "import helicoid.identification.identify; assert hc.identify.__name__ == 'identify'"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
