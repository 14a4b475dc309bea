"""Rigid bodies that change while they move: connect, cut, re-root, evolve. Import as `km`."""

from kinemorph._files import FileError, ModelWarning
from kinemorph.collision.broad import BroadPhase, swept
from kinemorph.collision.features import Feature
from kinemorph.collision.probe import cast, closest_point
from kinemorph.collision.query import Contact, Distance, Pair, contacts, distance
from kinemorph.collision.rays import Hit
from kinemorph.geometry.faults import Fault, FaultKind, mesh_faults
from kinemorph.geometry.ground import Ground, HalfSpace, HeightField, Terrain
from kinemorph.geometry.mass import MassProperties, inertia_of, mass_properties
from kinemorph.geometry.mesh import Mesh, load_mesh, mesh_of
from kinemorph.geometry.parts import Parts, decompose
from kinemorph.geometry.polyhedron import Polyhedron, core_of
from kinemorph.geometry.shapes import Role, Shape, ShapeKind
from kinemorph.io.sdf import load_sdf, parse_sdf
from kinemorph.io.urdf import load_urdf, parse_urdf
from kinemorph.multibody import batch, convert
from kinemorph.multibody.aba import aba
from kinemorph.multibody.builder import Builder
from kinemorph.multibody.configuration import difference, follow, integrate, neutral, random_configuration
from kinemorph.multibody.crba import crba
from kinemorph.multibody.impulse import collision_matrix, impulse_response
from kinemorph.multibody.inertia import Inertia
from kinemorph.multibody.integrators import Trajectory, rollout, rollout_adaptive, step
from kinemorph.multibody.jacobian import jacobian, jacobian_drift
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.kinematics import acceleration_of, kinematics, pose_of, velocity_of
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.ltl import ltl, ltl_solve
from kinemorph.multibody.catalog import Mimic
from kinemorph.multibody.data import Data
from kinemorph.multibody.model import Model
from kinemorph.multibody.rnea import rnea
from kinemorph.multibody.energy_momentum import Energy, com, com_velocity, energy, momentum
from kinemorph.spatial.pose import Pose
from kinemorph.structure.closed import closed_dynamics
from kinemorph.structure.closed_motion import ClosedTrajectory, closed_rollout
from kinemorph.structure.closure import LoopError, close, project
from kinemorph.structure.connect import connect
from kinemorph.structure.cut import cut
from kinemorph.structure.events import Event, EventKind
from kinemorph.structure.generalized import (
    Actuation,
    Coordinates,
    closed_inverse_dynamics,
    generalized,
    loop_actuation,
    mobility,
)
from kinemorph.structure.log import Log
from kinemorph.structure.loop_rows import loop_drift, loop_errors, loop_jacobian, loop_positions
from kinemorph.structure.loops import ClosedData, Loop, Mechanism
from kinemorph.structure.report import Report, State
from kinemorph.structure.reroot import reroot
from kinemorph.structure.simulate import Simulation, SimulationError, simulate
from kinemorph.view.picture import picture
from kinemorph.view.recording import Recording
from kinemorph.view.replay import replay

__version__ = "0.1.0"

__all__ = [
    "Actuation",
    "BroadPhase",
    "Builder",
    "ClosedData",
    "ClosedTrajectory",
    "Contact",
    "Coordinates",
    "Data",
    "Distance",
    "Energy",
    "Event",
    "EventKind",
    "Fault",
    "FaultKind",
    "Feature",
    "FileError",
    "Ground",
    "HalfSpace",
    "HeightField",
    "Hit",
    "Inertia",
    "Joint",
    "JointKind",
    "Log",
    "Loop",
    "LoopError",
    "MassProperties",
    "Mechanism",
    "Mesh",
    "Mimic",
    "Model",
    "ModelWarning",
    "Pair",
    "Parts",
    "Polyhedron",
    "Pose",
    "Recording",
    "Report",
    "Role",
    "Shape",
    "ShapeKind",
    "Simulation",
    "SimulationError",
    "State",
    "Terrain",
    "Trajectory",
    "aba",
    "acceleration_of",
    "batch",
    "cast",
    "close",
    "closed_dynamics",
    "closed_inverse_dynamics",
    "closed_rollout",
    "closest_point",
    "collision_matrix",
    "com",
    "com_velocity",
    "connect",
    "contacts",
    "convert",
    "core_of",
    "crba",
    "cut",
    "decompose",
    "difference",
    "distance",
    "energy",
    "follow",
    "generalized",
    "impulse_response",
    "inertia_of",
    "integrate",
    "jacobian",
    "jacobian_drift",
    "kinematics",
    "load_mesh",
    "load_sdf",
    "load_urdf",
    "loop_actuation",
    "loop_drift",
    "loop_errors",
    "loop_jacobian",
    "loop_positions",
    "ltl",
    "ltl_solve",
    "mass_properties",
    "mesh_faults",
    "mesh_of",
    "mobility",
    "momentum",
    "neutral",
    "parse_sdf",
    "parse_urdf",
    "picture",
    "pose_of",
    "project",
    "random_configuration",
    "replay",
    "reroot",
    "rnea",
    "rollout",
    "rollout_adaptive",
    "simulate",
    "step",
    "swept",
    "velocity_of",
]
