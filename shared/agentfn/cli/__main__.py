"""`python -m agentfn.cli` is `agentfn`."""

import sys

from agentfn.cli.main import main

sys.exit(main())
