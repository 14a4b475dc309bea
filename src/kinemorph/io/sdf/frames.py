"""Poses in SDF files: each is given in some frame of the file, and all are wanted in the world."""

from __future__ import annotations

from kinemorph._files import quoted
from kinemorph._xml import Element
from kinemorph.spatial.pose import Pose

MODEL = "__model__"
WORLD = "world"
TRUE, FALSE = ("1", "true"), ("0", "false")


def flag(element: Element | None) -> bool:
    """The value of a boolean element; false if it is missing."""
    if element is None:
        return False
    word = element.content().lower()
    if word not in TRUE + FALSE:
        raise element.error(f"{quoted(word)}: write true or false")
    return word in TRUE


def pose_in(element: Element | None) -> Pose:
    """The numbers of a <pose>: position, then roll, pitch and yaw, or a quaternion x y z w."""
    if element is None or not element.text.strip():
        return Pose()
    form = element.attributes.get("rotation_format", "euler_rpy")
    if form == "quat_xyzw":
        *position, x, y, z, w = element.values(7)
        if x * x + y * y + z * z + w * w < 1e-12:
            raise element.error(f"{quoted(element.content())}: the quaternion is zero")
        return Pose.quaternion((w, x, y, z), position)
    if form != "euler_rpy":
        raise element.error(f"rotation_format={quoted(form)}: use euler_rpy or quat_xyzw")
    *position, roll, pitch, yaw = element.values(6)
    degrees = element.attributes.get("degrees", "false").strip().lower()
    if degrees not in TRUE + FALSE:
        raise element.error(f"degrees={quoted(degrees)}: write true or false")
    unit = 0.017453292519943295 if degrees in TRUE else 1.0
    return Pose.rpy(unit * roll, unit * pitch, unit * yaw, position)


class Frames:
    """Where the links, joints and frames of a model are in the world when all joints are at zero."""

    def __init__(self, model: Element, axes_in_model: bool) -> None:
        self.axes_in_model = axes_in_model  # before version 1.5 axes of joints were always given in the model's frame
        place = model.one("pose")
        known = _named(place) if place is not None else ""
        if place is not None and known not in ("", WORLD):
            raise place.error(f"relative_to={quoted(known)}: a model stands in the world, and nothing else is read")
        self.poses = {WORLD: Pose(), MODEL: pose_in(place)}
        # a link, a joint and a frame may have one name in old files, where only links are referred to
        self.elements = {part.attribute("name"): part for tag in ("frame", "joint", "link") for part in model.all(tag)}

    def of(self, name: str, asking: Element) -> Pose:
        """Pose of a link, joint or frame in the world."""
        way: dict[str, Element] = {}  # names up to one that is known; a dictionary keeps their order
        while name not in self.poses:
            if name not in self.elements:
                raise asking.error(f"{quoted(name)}: there is no link, joint or frame of this name")
            if name in way:
                raise asking.error(f"{quoted(name)} is where it is relative to itself; break the circle")
            way[name] = asking = self.elements[name]
            name = _base(asking)
        pose = self.poses[name]
        for name, element in reversed(way.items()):
            pose = self.poses[name] = pose @ pose_in(element.one("pose"))
        return pose

    def placed(self, element: Element) -> Pose:
        """Pose in the world of an element that has a place of its own, whatever else has its name."""
        return self.of(_base(element), element) @ pose_in(element.one("pose"))

    def on(self, link: str, element: Element) -> Pose:
        """Pose of a part of a link (an inertia or a shape) on the link."""
        pose = element.one("pose")
        named = _named(pose)
        if pose is None or not named:
            return pose_in(pose)
        return self.of(link, element).inverse() @ self.of(named, pose) @ pose_in(pose)


def _named(pose: Element | None) -> str:
    """The frame that a pose names; before version 1.7 the attribute had another name."""
    if pose is None:
        return ""
    return pose.attributes.get("relative_to") or pose.attributes.get("frame", "")


def _base(element: Element) -> str:
    """The frame that the pose of a link, joint or frame is in."""
    default = element.need("child").content() if element.tag == "joint" else element.attributes.get("attached_to", "")
    return _named(element.one("pose")) or default or MODEL
