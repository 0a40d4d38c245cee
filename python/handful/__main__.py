"""``python -m handful``: the command."""

from handful._command import main

if __name__ == "__main__":
    main()
