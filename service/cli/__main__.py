"""``python -m service.cli`` is ``tokd``."""

import sys

from service.cli import main

sys.exit(main())
