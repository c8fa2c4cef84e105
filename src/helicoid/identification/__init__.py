"""Identification of robots from logs: parameters, uncertainty, and the identified robot.

A log is read and screened (`logs`) and becomes rows of a linear least squares problem (`linear`).
`identify.py` selects by cross-validation all that is not given, and fits: the result (`result.py`) predicts
torques and is written as a URDF, with an assessment (`report`) and a diagnosis of the log (`diagnosis`).
Which parameters torques identify depends on the robot (`identifiability`) and on the trajectory
(`excitation`). A result can be refined (`refinement`): friction curves, or the simulated motion in place of
the torques. Without torques, `trajectory_matching` identifies from commands and positions. `loads` identifies
a payload and the torque constants of drives, `fleet.py` robots of one type, and `online` runs in a control
loop.

The verbs `identify`, `excitation` and `identifiability` are `hc.identify`, `hc.excitation` and
`hc.identifiability`: in this package their names are those of the modules that hold them.
"""

from typing import TYPE_CHECKING

from helicoid._lazy import lazy_names

if TYPE_CHECKING:
    from helicoid.identification.excitation.excitation import Excitation as Excitation
    from helicoid.identification.identifiability.identifiability import Identifiability as Identifiability
    from helicoid.identification.identifiability.sparsity import plot_sparsity as plot_sparsity
    from helicoid.identification.linear.equations.regression import Regression as Regression
    from helicoid.identification.linear.solving.consistent import Bounds as Bounds
    from helicoid.identification.loads.gains import drive_gains as drive_gains
    from helicoid.identification.loads.gains import torques_from_currents as torques_from_currents
    from helicoid.identification.loads.payload import Payload as Payload
    from helicoid.identification.loads.payload import identify_payload as identify_payload
    from helicoid.identification.logs.log import DoubtfulLogWarning as DoubtfulLogWarning
    from helicoid.identification.logs.log import Log as Log
    from helicoid.identification.online.identifier import OnlineIdentifier as OnlineIdentifier
    from helicoid.identification.refinement.nonlinear import (
        NonlinearIdentification as NonlinearIdentification,
    )
    from helicoid.identification.refinement.nonlinear import fit_nonlinear as fit_nonlinear
    from helicoid.identification.refinement.output_error import fit_output_error as fit_output_error
    from helicoid.identification.report.assessment import Assessment as Assessment
    from helicoid.identification.report.score import Score as Score
    from helicoid.identification.result import Identification as Identification
    from helicoid.identification.result import IdentifiedParameters as IdentifiedParameters
    from helicoid.identification.trajectory_matching.identify import (
        identify_from_commands as identify_from_commands,
    )
    from helicoid.identification.trajectory_matching.result import (
        CommandIdentification as CommandIdentification,
    )
    from helicoid.identification.trajectory_matching.servo import Servo as Servo
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
