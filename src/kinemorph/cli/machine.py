"""Commands on files of models and recordings, and on what is installed and compiled here."""

from __future__ import annotations

import sys
from pathlib import Path

from kinemorph.cli.json_output import print_json


def convert(
    source: Path, target: Path, /, ignore: tuple[str, ...] = (), floating: bool | None = None, json: bool = False
) -> None:
    """Read a model file, and write it as another kind; or a recording, and write it as a film.

    Args:
        source: The file to read: MJCF, URDF or SDF; a genotype (JSON), which becomes a creature with a drive for each
            joint; or a recording or film of a world.
        target: The file to write. The end of its name decides how: .xml (MJCF), .urdf or .sdf, with meshes in a folder
            beside it; of a recording .html, .gif, .webp, .mp4 (by ffmpeg) or .glb.
        ignore: What is left out of an MJCF file that has more than a model can have, such as tendon.
        floating: Whether the root of a URDF or SDF file moves freely.
        json: Say what was written, and what was left out, as JSON.
    """
    import warnings

    from kinemorph._escaping import plain
    from kinemorph._files import can_hold
    from kinemorph.io import model_formats
    from kinemorph.view.recordings import formats as recordings
    from kinemorph.view.recordings.recording import Recording

    can_hold(target.parent)
    if recordings.is_recording(source):
        recording = Recording.load(source)
        made = recordings.save_as(recording, target)
        frames = {"bodies": len(recording.bodies), "frames": len(recording.t), "chapters": len(recording.chapters)}
        if json:
            print_json({"written": str(made), "name": recording.name, **frames})
        else:
            print(plain(f"{made}: {recording}"))
        return
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = model_formats.load(source, floating, ignore)
        written = model_formats.save(model, target)
    if json:
        counts = {"links": model.n, "nq": model.nq, "nv": model.nv, "loops": len(model.loops)}
        notes = [str(warning.message) for warning in said]
        print_json({"written": str(written), "name": model.name, **counts, "mass": model.mass, "warnings": notes})
        return
    for warning in said:
        print(f"kinemorph: {plain(warning.message)}", file=sys.stderr)
    print(plain(f"{written}: {model}"))


def warm(all: bool = False, jobs: int | None = None) -> None:
    """Compile kernels now, all at once, instead of each when it is first called: what README, tutorial and demos call.

    Args:
        all: The rest too: queries of shapes, contact of impulses, and batches of states.
        jobs: How many processes to compile in; by default one for each core.
    """
    from kinemorph.scenes.commands import warming_bar

    if not warming_bar.run_warming(all, jobs):
        sys.exit(1)


def doctor(json: bool = False) -> None:
    """Say what is installed, what is not compiled yet, and check that it computes correctly.

    Args:
        json: Say it as JSON.
    """
    from kinemorph.scenes.commands import doctor_command as checkup

    if not checkup.run_checkup(print_json if json else None):
        sys.exit(1)
