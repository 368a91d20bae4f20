"""``python -m bfsbench``."""

from bfsbench.cli import main

if __name__ == "__main__":
    main()
