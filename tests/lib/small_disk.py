"""A small file system of its own for a test: a tmpfs in a mount namespace of this process, which ends
with it, so that nothing is left mounted whatever happens. Threads that run already do not see it."""

import ctypes
import errno
import os
import shutil
import tempfile
import unittest

CLONE_NEWNS = 0x20000
MS_RDONLY, MS_REMOUNT, MS_REC, MS_PRIVATE = 1, 32, 1 << 14, 1 << 18
MNT_DETACH = 2
LIBC = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(LIBC, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def mount(kind, path, flags, options):
    call("mount", kind, path.encode(), kind, ctypes.c_ulong(flags), options.encode())


class SmallDisk:
    """Skips the test that asks for one where mounting is not allowed."""

    def __init__(self, size):
        self.path = tempfile.mkdtemp(prefix="tradesieve-disk-")
        self.options = f"size={size}"
        try:
            call("unshare", CLONE_NEWNS)
            mount(b"none", "/", MS_REC | MS_PRIVATE, "")
            mount(b"tmpfs", self.path, 0, self.options)
        except OSError as error:
            os.rmdir(self.path)
            raise unittest.SkipTest(f"a small disk needs root that may mount: {error.strerror}") from None

    def close(self):
        call("umount2", self.path.encode(), MNT_DETACH)
        os.rmdir(self.path)

    def make_read_only(self):
        mount(b"tmpfs", self.path, MS_REMOUNT | MS_RDONLY, self.options)

    def free_bytes(self):
        return shutil.disk_usage(self.path).free

    def fill(self, leave=0):
        """Until so many bytes are free, however fast somebody else writes."""
        with open(os.path.join(self.path, "filler"), "ab") as file:
            while (more := self.free_bytes() - leave) > 0:
                try:
                    os.posix_fallocate(file.fileno(), file.tell(), more)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                file.seek(0, os.SEEK_END)

    def empty(self):
        """Takes the filler away."""
        os.unlink(os.path.join(self.path, "filler"))
