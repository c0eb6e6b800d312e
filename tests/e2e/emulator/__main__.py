"""The AWS emulator, closer to AWS where the tests look: run as `python -m e2e.emulator` in tests/, by `.venv-emulator`.

No file of the emulator is changed; what it lacks is put in at start, one module for each lack. They reach into its
private functions, which is why requirements.txt beside this package pins it exactly.
"""

from __future__ import annotations

import sys

from ministack.app import main

from e2e.emulator import gateway, lambda_runtime, nested_stacks, policies, queue_events, streaming

if __name__ == "__main__":
    for lack in (nested_stacks, lambda_runtime, streaming, gateway, queue_events, policies):
        lack.put_in()
    sys.exit(main())
