"""Motion capture: from recorded motion to the moments at the joints and the forces on the ground. As `km.mocap`."""

from kinemorph.io.motion.save_bvh import bvh_of
from kinemorph.mocap.analysis import Analysis, analyse
from kinemorph.mocap.body.anthropometry import Segment, Table, table_of
from kinemorph.mocap.body.body import Body, Foot, body_of
from kinemorph.mocap.body.hips import calibrate_hips
from kinemorph.mocap.body.skeleton import Skeleton, match
from kinemorph.mocap.contact import Contacts, Thresholds, find_contacts, read_contacts
from kinemorph.mocap.gait_comparison import Walking, walking_of
from kinemorph.mocap.normal_gait import Norm, norms, pace_of
from kinemorph.mocap.results import plot, plot_stances, recording_of, replay, save
from kinemorph.mocap.smooth import Motion, Residuals, residuals, smooth
from kinemorph.mocap.support import Loads
from kinemorph.mocap.synthetic_walk import Gait, synthetic_walk, walk_file

__all__ = [
    "Analysis", "Body", "Contacts", "Foot", "Gait", "Loads", "Motion", "Norm", "Residuals", "Segment", "Skeleton",
    "Table", "Thresholds", "Walking", "analyse", "body_of", "bvh_of", "calibrate_hips", "find_contacts", "match",
    "norms", "pace_of", "plot", "plot_stances", "read_contacts", "recording_of", "replay", "residuals", "save",
    "smooth", "synthetic_walk", "table_of", "walk_file", "walking_of",
]  # fmt: skip
