"""python -m kinemorph.cli."""

from kinemorph.cli import main

main()
