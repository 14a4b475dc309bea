"""Rigid bodies that change while they move: connect, cut, re-root. Import as `km`."""

from kinemorph import brain, creatures, evolve, mocap
from kinemorph._files import FileError, ModelWarning
from kinemorph.collision.broad_phase import BroadPhase, swept
from kinemorph.collision.collisions import Collisions
from kinemorph.collision.core_rays import Hit
from kinemorph.collision.features import Feature
from kinemorph.collision.rays import cast, closest_point
from kinemorph.collision.shape_rows import Candidates, Question
from kinemorph.collision.shape_table import ShapeTable
from kinemorph.collision.two_shapes import Contact, Distance, Pair, contacts, distance
from kinemorph.constraint.closure import LoopError, close, project
from kinemorph.constraint.dynamics import forward_dynamics, loop_forces
from kinemorph.constraint.energy import Energy, energy
from kinemorph.constraint.generalized import (
    Actuation,
    Coordinates,
    generalized,
    inverse_dynamics,
    loop_actuation,
    mobility,
)
from kinemorph.constraint.loops import loop_drift, loop_errors, loop_jacobian, loop_positions
from kinemorph.constraint.passive import passive_forces
from kinemorph.geometry.faults import Fault, FaultKind, mesh_faults
from kinemorph.geometry.ground import Ground, HalfSpace, HeightField, Terrain
from kinemorph.geometry.mass import MassProperties, inertia_of, mass_properties
from kinemorph.geometry.material import Material
from kinemorph.geometry.mesh import Mesh, load_mesh, mesh_of
from kinemorph.geometry.parts import Parts, decompose
from kinemorph.geometry.polyhedron import Polyhedron, core_of
from kinemorph.geometry.shapes import Role, Shape, ShapeKind
from kinemorph.io.bvh import Bvh, load_bvh, parse_bvh, save_bvh
from kinemorph.io.c3d import Markers, load_c3d, save_c3d
from kinemorph.io.from_mujoco import from_mujoco
from kinemorph.io.mjcf import load_mjcf, parse_mjcf
from kinemorph.io.save_mjcf import save_mjcf
from kinemorph.io.save_sdf import save_sdf
from kinemorph.io.save_urdf import save_urdf
from kinemorph.io.sdf import load_sdf, parse_sdf
from kinemorph.io.tables import load_table, load_trajectory, save_table, save_trajectory
from kinemorph.io.urdf import load_urdf, parse_urdf
from kinemorph.mocap.figure import human
from kinemorph.motion import batch
from kinemorph.motion.events import Event, EventKind
from kinemorph.motion.log import Log
from kinemorph.motion.many import BatchError
from kinemorph.motion.rollout import Trajectory, rollout, rollout_adaptive, step
from kinemorph.motion.simulate import Simulation, SimulationError, simulate
from kinemorph.multibody import convert
from kinemorph.multibody.aba import aba
from kinemorph.multibody.builder import Builder
from kinemorph.multibody.catalog import Mimic
from kinemorph.multibody.configuration import difference, follow, integrate, neutral, random_configuration
from kinemorph.multibody.crba import crba, mass_blocks
from kinemorph.multibody.data import Data
from kinemorph.multibody.drive import drive
from kinemorph.multibody.elements import ForceElement
from kinemorph.multibody.energy_momentum import com, com_velocity, momentum
from kinemorph.multibody.equipment import Actuator, Floor, Keyframe, PairMaterial
from kinemorph.multibody.impulse import collision_matrix, impulse_response
from kinemorph.multibody.inertia import Inertia
from kinemorph.multibody.jacobian import jacobian, jacobian_drift
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.kinematics import acceleration_of, kinematics, pose_of, velocity_of
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.loops import Loop
from kinemorph.multibody.ltl import ltl, ltl_solve
from kinemorph.multibody.model import Model
from kinemorph.multibody.rnea import rnea
from kinemorph.multibody.state import State
from kinemorph.scenes.scene import Scene, load_scene
from kinemorph.spatial.pose import Pose
from kinemorph.structure.add import add, remove, submodel
from kinemorph.structure.connect import connect
from kinemorph.structure.cut import cut
from kinemorph.structure.forest import Change, Forest, Planted
from kinemorph.structure.report import Report
from kinemorph.structure.reroot import reroot
from kinemorph.view.film import film
from kinemorph.view.glb import save_glb
from kinemorph.view.moving import animate
from kinemorph.view.picture import picture
from kinemorph.view.recording import Recording
from kinemorph.view.replay import replay
from kinemorph.view.viewer import view, viewer
from kinemorph.world.body import Body, Figure
from kinemorph.world.contact import Touch
from kinemorph.world.drives import Controls, Coupling, JointForce, Motor, Push, Servo
from kinemorph.world.events import Moment, Watch
from kinemorph.world.journal import DivergenceError, Journal
from kinemorph.world.minds import Mind
from kinemorph.world.rays import Sight
from kinemorph.world.statistics import Statistics
from kinemorph.world.timers import Timer
from kinemorph.world.world import World, WorldError

__version__: str

__all__ = [
    "Actuation",
    "Actuator",
    "BatchError",
    "Body",
    "BroadPhase",
    "Builder",
    "Bvh",
    "Candidates",
    "Change",
    "Collisions",
    "Contact",
    "Controls",
    "Coordinates",
    "Coupling",
    "Data",
    "Distance",
    "DivergenceError",
    "Energy",
    "Event",
    "EventKind",
    "Fault",
    "FaultKind",
    "Feature",
    "Figure",
    "FileError",
    "Floor",
    "ForceElement",
    "Forest",
    "Ground",
    "HalfSpace",
    "HeightField",
    "Hit",
    "Inertia",
    "Joint",
    "JointForce",
    "JointKind",
    "Journal",
    "Keyframe",
    "Log",
    "Loop",
    "LoopError",
    "Markers",
    "MassProperties",
    "Material",
    "Mesh",
    "Mimic",
    "Mind",
    "Model",
    "ModelWarning",
    "Moment",
    "Motor",
    "Pair",
    "PairMaterial",
    "Parts",
    "Planted",
    "Polyhedron",
    "Pose",
    "Push",
    "Question",
    "Recording",
    "Report",
    "Role",
    "Scene",
    "Servo",
    "Shape",
    "ShapeKind",
    "ShapeTable",
    "Sight",
    "Simulation",
    "SimulationError",
    "State",
    "Statistics",
    "Terrain",
    "Timer",
    "Touch",
    "Trajectory",
    "Watch",
    "World",
    "WorldError",
    "aba",
    "acceleration_of",
    "add",
    "animate",
    "batch",
    "brain",
    "cast",
    "close",
    "closest_point",
    "collision_matrix",
    "com",
    "com_velocity",
    "connect",
    "contacts",
    "convert",
    "core_of",
    "crba",
    "creatures",
    "cut",
    "decompose",
    "difference",
    "distance",
    "drive",
    "energy",
    "evolve",
    "film",
    "follow",
    "forward_dynamics",
    "from_mujoco",
    "generalized",
    "human",
    "impulse_response",
    "inertia_of",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "jacobian_drift",
    "kinematics",
    "load_bvh",
    "load_c3d",
    "load_mesh",
    "load_mjcf",
    "load_scene",
    "load_sdf",
    "load_table",
    "load_trajectory",
    "load_urdf",
    "loop_actuation",
    "loop_drift",
    "loop_errors",
    "loop_forces",
    "loop_jacobian",
    "loop_positions",
    "ltl",
    "ltl_solve",
    "mass_blocks",
    "mass_properties",
    "mesh_faults",
    "mesh_of",
    "mobility",
    "mocap",
    "momentum",
    "neutral",
    "parse_bvh",
    "parse_mjcf",
    "parse_sdf",
    "parse_urdf",
    "passive_forces",
    "picture",
    "pose_of",
    "project",
    "random_configuration",
    "remove",
    "replay",
    "reroot",
    "rnea",
    "rollout",
    "rollout_adaptive",
    "save_bvh",
    "save_c3d",
    "save_glb",
    "save_mjcf",
    "save_sdf",
    "save_table",
    "save_trajectory",
    "save_urdf",
    "simulate",
    "step",
    "submodel",
    "swept",
    "velocity_of",
    "view",
    "viewer",
]
