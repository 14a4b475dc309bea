"""python -m kinemorph: the same as the command."""

from kinemorph.cli import main

main()
