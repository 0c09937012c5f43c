"""Which headers are public: those that users include by name. What is tested of each of them asks here."""
import pathlib

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"

# Whole folders, and the headers in them that users do name: a divider is a policy. An adapter's own folder is reached by its one header.
INTERNAL = {"detail", "divide", "pack", "torch"}
NAMED = {f"slimpack/solvers/divide/{name}.hpp" for name in ("divider", "division", "division_problem", "estimated", "searched")}


def public_headers():
    """Paths below include/, sorted."""
    found = (path.relative_to(INCLUDE) for path in (INCLUDE / "slimpack").rglob("*.hpp"))
    return sorted(path.as_posix() for path in found
                  if path.name != "src.hpp" and (path.as_posix() in NAMED or not INTERNAL.intersection(path.parts)))
