"""Runs one unittest file and closes with the counts that scripts/run-tests reads.

    python3 tests/lib/run.py tests/daemon/test_X.py [TEST...]

A TEST is a name within the file: a class, or class.method. Prints a line for every test, then
"counts: PASSED FAILED SKIPPED"; exit 1 when one failed. The build under test is the directory in
the environment variable TRADESIEVE_BUILD (default: build).
"""

import importlib.util
import os
import sys
import unittest

LIB = os.path.dirname(os.path.abspath(__file__))


def load(path, names):
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    loader = unittest.TestLoader()
    if names:
        return loader.loadTestsFromNames(names, module)
    return loader.loadTestsFromModule(module)


def main():
    path, names = sys.argv[1], sys.argv[2:]
    sys.path[:0] = [LIB, os.path.dirname(os.path.abspath(path))]
    suite = load(path, names)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, buffer=True).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    print(f"counts: {max(result.testsRun - failed - len(result.skipped), 0)} {failed} {len(result.skipped)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
