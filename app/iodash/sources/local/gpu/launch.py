"""Starts the worker with nothing but its own modules: run as a script, by its path.

Importing `iodash.sources.local` as usual would bring in all readers and with them three times the memory. So the
packages above the worker are entered here as bare names with a place to look in, and none of their code runs.
"""

import os
import sys
import types

_ABOVE = ("iodash", "iodash.sources", "iodash.sources.local", "iodash.sources.local.gpu")


def enter_packages() -> None:
    """Makes the packages above the worker known without running them."""
    directory = os.path.dirname(os.path.abspath(__file__))
    for name in reversed(_ABOVE):
        package = types.ModuleType(name)
        package.__path__ = [directory]
        sys.modules[name] = package
        directory = os.path.dirname(directory)


if __name__ == "__main__":
    enter_packages()
    from iodash.sources.local.gpu.worker import main

    sys.exit(main(sys.argv[1:]))
