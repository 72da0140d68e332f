"""The command `pumice`, where its process begins: Ctrl-C ends it without a word until `pumice.cli` hears it."""

import _signal  # type: ignore[import-not-found]  # the part of `signal` that is there at once

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from pumice.cli import main

if __name__ == "__main__":
    main()
