"""Which attributes the elements of MJCF have: one that is not here is a mistake in the file, and said so."""

from __future__ import annotations

from kinemorph._xml import Element

_ORIENTATION = "quat axisangle xyaxes zaxis euler"
_PLACE = f"pos {_ORIENTATION}"
_JOINT = (
    "actuatorfrclimited actuatorfrcrange actuatorgravcomp armature axis damping frictionloss group limited margin pos "
    "range ref solimpfriction solimplimit solreffriction solreflimit springdamper springref springyield stiffness type "
    "user"
)
_GEOM = (
    f"{_PLACE} adhesion castshadow conaffinity condim contype density fitscale fluidcoef fluidshape friction fromto "
    "gap group hfield margin mass material mesh priority rgba shellinertia size solimp solmix solref surfacevel type "
    "user"
)
_SITE = f"{_PLACE} fromto group material mesh rgba size type user"
_PAIR = "adhesion condim friction gap margin solimp solref solreffriction"
_EQUALITY = "active solimp solref"
_DRIVE = (
    "armature cranklength ctrllimited ctrlrange damping delay forcelimited forcerange gear group interp nsample user"
)
_TARGET = "class name joint jointinparent tendon site refsite body cranksite slidersite lengthrange"
_TENDON = (
    "actuatorfrclimited actuatorfrcrange armature damping frictionloss group limited margin material range rgba "
    "solimpfriction solimplimit solreffriction solreflimit springlength springyield stiffness user width"
)
DRIVES = {
    "general": "actdim actearly actlimited actrange biasprm biastype dynprm dyntype ffrange gainprm gaintype "
    "inheritrange input velrange",
    "motor": "",
    "position": "dampratio inheritrange kp kv timeconst",
    "velocity": "kv",
    "damper": "kv",
    "intvelocity": "actlimited actrange dampratio inheritrange kp kv",
}  # and others, which are refused as they are

_TABLE = {
    "mujoco": "model",
    "compiler": "alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict coordinate "
    "discardvisual eulerseq fitaabb fusestatic inertiafromgeom inertiagrouprange meshdir passthrough savecanonical "
    "savecompiled saveinertial settotalmass strippath texturedir usethread convexhull exactmeshinertia",
    "option": "actuatorgroupdisable apirate ccd_iterations ccd_tolerance collision cone density gravity impratio "
    "integrator iterations jacobian ls_iterations ls_tolerance magnetic mpr_iterations mpr_tolerance "
    "noslip_iterations noslip_tolerance o_friction o_margin o_solimp o_solref sdf_initpoints sdf_iterations "
    "sleep_tolerance solver timestep tolerance viscosity wind",
    "flag": "actuation autoreset clampctrl constraint contact damper diagexact energy equality eulerdamp filterparent "
    "frictionloss fwdinv gravity invdiscrete ipc island limit midphase multiccd nativeccd override passive refsafe "
    "sensor sensornoise sleep speculative spring warmstart",
    "default": "class",
    "body": f"{_PLACE} childclass fuse gravcomp mocap name simple sleep user",
    "frame": f"{_PLACE} childclass massscale name scale scaling",
    "replicate": "count euler offset prefix sep",
    "inertial": f"{_PLACE} diaginertia fullinertia mass",
    "joint": f"{_JOINT} class name",
    "freejoint": "align group name",
    "geom": f"{_GEOM} class name",
    "site": f"{_SITE} class name",
    "mesh": "builtin class content_type face file inertia material maxhullvert name normal params refpos refquat scale "
    "smoothnormal texcoord vertex octree_maxdepth",
    "pair": f"{_PAIR} class geom1 geom2 name",
    "exclude": "body1 body2 name",
    "connect": f"{_EQUALITY} class name anchor body1 body2 site1 site2",
    "weld": f"{_EQUALITY} class name anchor body1 body2 relpose site1 site2 torquescale",
    "equality joint": f"{_EQUALITY} class name joint1 joint2 polycoef",
    "fixed": f"{_TENDON} class name",
    "spatial": f"{_TENDON} class name",
    "key": "act ctrl mpos mquat name plastic qpos qvel time",
    "worldbody": "childclass name",
    **{tag: f"{_DRIVE} {_TARGET} {more}" for tag, more in DRIVES.items()},
}
ATTRIBUTES = {tag: frozenset(text.split()) for tag, text in _TABLE.items()}


def check_attributes(element: Element, kind: str | None = None) -> None:
    """Raise if an element has an attribute that MJCF does not know there."""
    known = ATTRIBUTES[kind or element.tag]
    if not known.issuperset(element.attributes):
        name = next(name for name in element.attributes if name not in known)
        raise element.error(f"there is no attribute {name!r} here; there is {', '.join(sorted(known))}")
