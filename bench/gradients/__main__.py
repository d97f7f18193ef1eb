"""`python -m bench.gradients`."""

from bench.gradients.run import main

if __name__ == "__main__":
    raise SystemExit(main())
