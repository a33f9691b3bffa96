"""The kernel as a command."""

import sys

from sfumato.certify.kernel.verifier import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
