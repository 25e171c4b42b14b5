"""Runs the command line: ``python -m bnndeploy``."""

from bnndeploy.cli import main

if __name__ == "__main__":
    main()
