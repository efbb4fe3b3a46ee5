"""`python -m tools.audit`: known holes of what is installed (pip-audit); where none can tell, it says so and passes.

An index that does not publish known holes (a mirror) answers as if it had never heard of a package; then that package
has not been audited, and is counted as such.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

COMMAND = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner", "off", "--timeout", "5"]


def main() -> int:
    """1 where a hole is known, 0 where none is, or nobody could be asked."""
    try:
        done = subprocess.run([*COMMAND, "--format", "json"], capture_output=True, text=True, timeout=60, check=False)
        found = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        print("not audited: no answer within a minute")
        return 0
    except ValueError:
        print(f"not audited: {(done.stderr.strip().splitlines() or ['pip-audit is not there'])[-1]}")
        return 0
    lines, holes = told(found["dependencies"])
    print("\n".join(lines))
    return 1 if holes else 0


def told(dependencies: list[dict[str, Any]]) -> tuple[list[str], int]:
    """What pip-audit says of each package, in lines, and the number of known holes."""
    audited = [each for each in dependencies if "skip_reason" not in each]
    lines = []
    for each in audited:
        for hole in each["vulns"]:
            mended = ", ".join(hole["fix_versions"]) or "no version"
            lines.append(f"{each['name']} {each['version']}: {hole['id']}, mended in {mended}")
    holes = len(lines)
    what = "audited" if audited else "not audited: the package index does not tell known holes"
    lines.append(f"{what}; {len(audited)} of {len(dependencies)} packages, {holes} known holes")
    return lines, holes


if __name__ == "__main__":
    sys.exit(main())
