"""Rigid bodies that change while they move: connect, cut, re-root. Import as `km`."""

from kinemorph import brain, creatures, evolve, mocap
from kinemorph._files import FileError, ModelWarning
from kinemorph.collision.broad.broad_phase import BroadPhase, swept
from kinemorph.collision.collisions import Collisions
from kinemorph.collision.narrow.features import Feature
from kinemorph.collision.queries.core_rays import SurfacePoint
from kinemorph.collision.queries.rays import cast, closest_point
from kinemorph.collision.queries.two_shapes import Contact, Distance, Pair, contacts, distance
from kinemorph.collision.shapes.shape_rows import Candidates, PairQuery
from kinemorph.collision.shapes.shape_table import ShapeTable
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
from kinemorph.geometry.convex_parts import Parts, decompose
from kinemorph.geometry.ground import Ground, HalfSpace, HeightField, Terrain
from kinemorph.geometry.mass import MassProperties, inertia_of, mass_properties
from kinemorph.geometry.material import Material
from kinemorph.geometry.meshes.faults import Fault, FaultKind, mesh_faults
from kinemorph.geometry.meshes.mesh import Mesh, load_mesh, mesh_of
from kinemorph.geometry.polyhedron import Polyhedron, core_of
from kinemorph.geometry.shapes import Role, Shape, ShapeKind
from kinemorph.io.mjcf.from_mujoco import from_mujoco
from kinemorph.io.mjcf.load_mjcf import load_mjcf, parse_mjcf
from kinemorph.io.mjcf.save_mjcf import save_mjcf
from kinemorph.io.motion.bvh import Bvh, load_bvh, parse_bvh, save_bvh
from kinemorph.io.motion.c3d import Markers, load_c3d, save_c3d
from kinemorph.io.motion.tables import load_table, load_trajectory, save_table, save_trajectory
from kinemorph.io.sdf.load_sdf import load_sdf, parse_sdf
from kinemorph.io.sdf.save_sdf import save_sdf
from kinemorph.io.urdf.load_urdf import load_urdf, parse_urdf
from kinemorph.io.urdf.save_urdf import save_urdf
from kinemorph.mocap.body.figure import human
from kinemorph.motion.events import Event, EventKind
from kinemorph.motion.log import Log
from kinemorph.motion.parallel import batch
from kinemorph.motion.parallel.many_worlds import BatchError
from kinemorph.motion.rollout import Trajectory, rollout, rollout_adaptive, step
from kinemorph.motion.simulate import Simulation, SimulationError, simulate
from kinemorph.multibody.algorithms.aba import aba
from kinemorph.multibody.algorithms.configuration import difference, follow, integrate, neutral, random_configuration
from kinemorph.multibody.algorithms.crba import crba, mass_blocks
from kinemorph.multibody.algorithms.energy_momentum import com, com_velocity, momentum
from kinemorph.multibody.algorithms.impulse import collision_matrix, impulse_response
from kinemorph.multibody.algorithms.jacobian import jacobian, jacobian_drift
from kinemorph.multibody.algorithms.kinematics import acceleration_of, kinematics, pose_of, velocity_of
from kinemorph.multibody.algorithms.ltl import ltl, ltl_solve
from kinemorph.multibody.algorithms.rnea import rnea
from kinemorph.multibody.convert import convert
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.actuator import actuator_forces
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.catalog import Mimic
from kinemorph.multibody.model.elements import ForceElement
from kinemorph.multibody.model.equipment import Actuator, Floor, Keyframe, PairMaterial
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.loops import Loop
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.scenes.files.scene import Scene, load_scene
from kinemorph.spatial.pose import Pose
from kinemorph.structure.add import add, remove, submodel
from kinemorph.structure.connect import connect
from kinemorph.structure.cut import cut
from kinemorph.structure.forest.forest import AddedModel, Edit, Forest
from kinemorph.structure.report import ModelEdit
from kinemorph.structure.reroot import reroot
from kinemorph.view.live.viewer import view, viewer
from kinemorph.view.pictures.moving_pictures import animate
from kinemorph.view.pictures.picture import picture
from kinemorph.view.recordings.film import film
from kinemorph.view.recordings.glb import save_glb
from kinemorph.view.recordings.recording import Recording
from kinemorph.view.replays.replay import replay
from kinemorph.world.body import Body, Figure
from kinemorph.world.brains.brain_instances import BrainInstance
from kinemorph.world.control.drives import AppliedForce, Controls, Coupling, JointForce, Motor, Servo
from kinemorph.world.control.events import EventMonitor, EventRecord
from kinemorph.world.control.timers import Timer
from kinemorph.world.persistence.journal import DivergenceError, Journal
from kinemorph.world.queries.body_states import BodyStates
from kinemorph.world.queries.contact_record import ContactPoint
from kinemorph.world.queries.rays import RayHit
from kinemorph.world.queries.statistics import Statistics
from kinemorph.world.world import World, WorldError

__version__: str

__all__ = [
    "Actuation",
    "Actuator",
    "AddedModel",
    "AppliedForce",
    "BatchError",
    "Body",
    "BodyStates",
    "BrainInstance",
    "BroadPhase",
    "Builder",
    "Bvh",
    "Candidates",
    "Collisions",
    "Contact",
    "ContactPoint",
    "Controls",
    "Coordinates",
    "Coupling",
    "Data",
    "Distance",
    "DivergenceError",
    "Edit",
    "Energy",
    "Event",
    "EventKind",
    "EventMonitor",
    "EventRecord",
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
    "Model",
    "ModelEdit",
    "ModelWarning",
    "Motor",
    "Pair",
    "PairMaterial",
    "PairQuery",
    "Parts",
    "Polyhedron",
    "Pose",
    "RayHit",
    "Recording",
    "Role",
    "Scene",
    "Servo",
    "Shape",
    "ShapeKind",
    "ShapeTable",
    "Simulation",
    "SimulationError",
    "State",
    "Statistics",
    "SurfacePoint",
    "Terrain",
    "Timer",
    "Trajectory",
    "World",
    "WorldError",
    "aba",
    "acceleration_of",
    "actuator_forces",
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
