"""Helicoid: a robot description in, fast dynamics, identification and control out."""

from typing import TYPE_CHECKING

from helicoid._lazy import lazy_names
from helicoid.compiler import Function as Function
from helicoid.compiler import set_compile as set_compile
from helicoid.compiler import set_num_threads as set_num_threads
from helicoid.errors import CompileError as CompileError
from helicoid.errors import DoubtfulModelWarning as DoubtfulModelWarning
from helicoid.errors import DoubtfulMotionWarning as DoubtfulMotionWarning
from helicoid.errors import HelicoidError as HelicoidError
from helicoid.errors import InputError as InputError
from helicoid.errors import ModelError as ModelError
from helicoid.errors import PerformanceWarning as PerformanceWarning
from helicoid.errors import RobotDescriptionError as RobotDescriptionError
from helicoid.model.edits.drives import Drive as Drive
from helicoid.robot import Robot as Robot
from helicoid.robot import load as load
from helicoid.robot import robots as robots
from helicoid.robot import serial_chain as serial_chain
from helicoid.robot import with_base as with_base
from helicoid.status import Status as Status

if TYPE_CHECKING:  # imported when first used
    from helicoid import aerial as aerial
    from helicoid import control as control
    from helicoid import mpc as mpc
    from helicoid import planning as planning
    from helicoid import simulation as simulation
    from helicoid import study as study
    from helicoid import walking as walking
    from helicoid._version import __version__ as __version__
    from helicoid.commissioning.commission import commission as commission
    from helicoid.geometry.shapes import Box as Box
    from helicoid.geometry.shapes import Capsule as Capsule
    from helicoid.geometry.shapes import Cylinder as Cylinder
    from helicoid.geometry.shapes import HeightField as HeightField
    from helicoid.geometry.shapes import Mesh as Mesh
    from helicoid.geometry.shapes import Plane as Plane
    from helicoid.geometry.shapes import PointCloud as PointCloud
    from helicoid.geometry.shapes import Sphere as Sphere
    from helicoid.identification import Excitation as Excitation
    from helicoid.identification import Identifiability as Identifiability
    from helicoid.identification import Identification as Identification
    from helicoid.identification import Log as Log
    from helicoid.identification import OnlineIdentifier as OnlineIdentifier
    from helicoid.identification import Servo as Servo
    from helicoid.identification import drive_gains as drive_gains
    from helicoid.identification import fit_nonlinear as fit_nonlinear
    from helicoid.identification import fit_output_error as fit_output_error
    from helicoid.identification import identify_from_commands as identify_from_commands
    from helicoid.identification import identify_payload as identify_payload
    from helicoid.identification.excitation.excitation import excitation as excitation
    from helicoid.identification.fleet import identify_fleet as identify_fleet
    from helicoid.identification.identifiability.identifiability import identifiability as identifiability
    from helicoid.identification.identify import identify as identify
    from helicoid.identification.logs.sources import logs as logs
    from helicoid.planning import plan as plan
    from helicoid.robot.collision.scene import Scene as Scene
    from helicoid.simulation import ActuatedRobot as ActuatedRobot
    from helicoid.simulation import Actuators as Actuators
    from helicoid.simulation import ContactPoint as ContactPoint
    from helicoid.simulation import Ground as Ground
    from helicoid.simulation import Measurement as Measurement
    from helicoid.simulation import Plant as Plant
    from helicoid.simulation import Sensors as Sensors
    from helicoid.simulation import SimulationError as SimulationError
    from helicoid.simulation import Trajectory as Trajectory
    from helicoid.simulation import drift as drift
    from helicoid.simulation import jump as jump
    from helicoid.simulation import payload as payload
    from helicoid.simulation import simulate as simulate
    from helicoid.simulation import simulate_contacts as simulate_contacts
    from helicoid.study import Study as Study
    from helicoid.view import view as view
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
