"""What all tests share."""

import os

# The tests run on several processes; threads of their own would only fight for the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
