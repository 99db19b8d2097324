"""A folder like one that a server or another system shares: no modes, and names that can't be synced.

    python -m harness.shared_disk SOURCE MOUNTPOINT

Shows another folder through FUSE. chmod is EPERM, as on vfat; fsync of a folder is EINVAL, as on vboxsf.
"""

import errno
import os
import stat
import subprocess
import sys
from contextlib import contextmanager, suppress

from harness.postgresql import until

FIELDS = ("st_nlink", "st_size", "st_uid", "st_gid", "st_mtime")
ROOM = ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_namemax")


class SharedDisk:
    """The operations of a plain folder, apart from what these disks lack."""

    use_ns = True

    def __init__(self, folder, error):
        # Not the current folder: the C library changes that to /.
        self.folder = os.path.abspath(folder)
        self.error = error

    def getattr(self, path, handle=None):
        status = os.lstat(f"{self.folder}{path}")
        found = {name: getattr(status, name) for name in FIELDS}
        found["st_mtime"] = status.st_mtime_ns
        return found | {"st_mode": stat.S_IFMT(status.st_mode) | 0o777}

    def readdir(self, path, handle):
        return [".", "..", *os.listdir(f"{self.folder}{path}")]

    def chmod(self, path, mode):
        raise self.error(errno.EPERM)

    def fsyncdir(self, path, only_data, handle):
        raise self.error(errno.EINVAL)

    def fsync(self, path, only_data, handle):
        os.fsync(handle)

    def open(self, path, flags):
        return os.open(f"{self.folder}{path}", flags)

    def create(self, path, mode):
        return os.open(f"{self.folder}{path}", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)

    def read(self, path, size, offset, handle):
        return os.pread(handle, size, offset)

    def write(self, path, content, offset, handle):
        return os.pwrite(handle, content, offset)

    def truncate(self, path, length, handle=None):
        os.truncate(f"{self.folder}{path}", length)

    def release(self, path, handle):
        os.close(handle)

    def mkdir(self, path, mode):
        os.mkdir(f"{self.folder}{path}")

    def rename(self, path, new):
        os.rename(f"{self.folder}{path}", f"{self.folder}{new}")

    def statfs(self, path):
        status = os.statvfs(f"{self.folder}{path}")
        return {name: getattr(status, name) for name in ROOM}

    def unlink(self, path):
        os.unlink(f"{self.folder}{path}")

    def rmdir(self, path):
        os.rmdir(f"{self.folder}{path}")


def can_mount():
    """Whether this machine and user can mount one."""
    with suppress(ImportError, OSError):
        import mfusepy  # which loads the C library

        return os.access("/dev/fuse", os.W_OK) and bool(mfusepy.FUSE)
    return False


@contextmanager
def shared(source, mount_point):
    """Show a folder at a mount point until the end of the block."""
    for folder in (source, mount_point):
        folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "harness.shared_disk", str(source), str(mount_point)]
    with subprocess.Popen(command) as process:
        try:
            until(lambda: os.path.ismount(mount_point), "the disk was not mounted")
            yield mount_point
        finally:
            subprocess.run(["umount", "--lazy", mount_point], check=True)
            process.wait(10)


if __name__ == "__main__":
    from mfusepy import FUSE, FuseOSError

    disk = SharedDisk(sys.argv[1], FuseOSError)
    FUSE(disk, sys.argv[2], foreground=True, nothreads=True)
