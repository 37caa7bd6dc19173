"""What scripts/bench and scripts/bench-peers share: samples and their medians, a table, the machine in
one line, a directory on a real disk that goes when the program ends, and processes ended by their ID."""

import contextlib
import os
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

START_DEADLINE_S = 60


class Failure(Exception):
    """Something is not as it must be; the text says what."""


def run_program(*command):
    """Runs a benchmark program; its lines "NAME VALUE" as lists of values by name."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise Failure(f"{os.path.basename(command[0])} ended with {done.returncode}")
    samples = {}
    for line in done.stdout.splitlines():
        name, value = line.split()
        samples.setdefault(name, []).append(float(value))
    return samples


def median(values):
    return statistics.median(values)


# --- the table ----------------------------------------------------------------------------------


def show(value):
    """Three digits that count; thousands separated."""
    if value >= 1000:
        return f"{value:,.0f}"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def row(name, values, unit, note=""):
    """A row of the table: the median of the values, their range when there are several, and a note."""
    if not values:
        raise Failure(f"no sample of: {name}")
    spread = f"{show(min(values))} - {show(max(values))}" if len(values) > 1 else ""
    return [name, show(median(values)), unit, spread, note]


def print_table(head, rows):
    """Figures (column 1) to the right, all else to the left; a row of one cell is a heading."""
    widths = [max(len(line[i]) for line in [head, *rows] if len(line) > 1) for i in range(len(head))]
    for line in [head, *rows]:
        if len(line) == 1:
            print(f"\n{line[0]}")
            continue
        cells = [cell.rjust(width) if i == 1 else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(line, widths))]
        print("  " + "  ".join(cells).rstrip())
    sys.stdout.flush()


def progress(text):
    print(f"  ... {text}", file=sys.stderr, flush=True)


# --- the machine --------------------------------------------------------------------------------


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.machine()


def file_system(path):
    done = subprocess.run(["df", "--output=fstype", path], stdout=subprocess.PIPE, text=True)
    return done.stdout.split()[-1] if done.returncode == 0 else "unknown file system"


def machine(directory):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    return (f"{os.cpu_count()} cores, {cpu_model()}, {memory:.0f} GiB, Linux {platform.release()},"
            f" {file_system(directory)}, load {load:.1f} at the start")


# --- places and processes -----------------------------------------------------------------------


def end_on_signals():
    """Ctrl-C, SIGTERM and SIGHUP end the program with all that it has begun; a second one changes nothing."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(number, _frame):
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for number in numbers:
        signal.signal(number, end)


@contextlib.contextmanager
def scratch(name):
    """An empty directory on a real disk: in TMPDIR, else /var/tmp."""
    base = os.environ.get("TMPDIR", "/var/tmp")
    if file_system(base) in ("tmpfs", "ramfs"):
        raise Failure(f"{base} is memory, not a disk: set TMPDIR")
    path = tempfile.mkdtemp(prefix=f"{name}-", dir=base)
    os.chmod(path, 0o711)  # a server that runs as another user has its own directory in it
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def fresh(parent):
    """A directory for one round."""
    path = tempfile.mkdtemp(dir=parent)
    os.chmod(path, 0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def free_port():
    """A port of loopback that nobody has; for servers that cannot be asked for any."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def server(command, port, log, end=signal.SIGTERM, **identity):
    """A server on a port of loopback, from the moment it accepts connections; ended by its ID."""
    with open(log, "wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                   start_new_session=True, **identity)
    try:
        wait_for_port(process, port, log)
        yield process
    finally:
        stop(process, end)


def wait_for_port(process, port, log):
    deadline = time.monotonic() + START_DEADLINE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                with open(log, encoding="utf-8", errors="replace") as file:
                    raise Failure(f"{process.args[0]} does not start: {file.read()[-2000:]}") from None
            time.sleep(0.01)


def stop(process, number):
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(START_DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def resident_kib(pid):
    """VmRSS of one process."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def tree_pss_kib(pid):
    """Proportional set sizes of a process and its descendants: memory they share counts once. One that
    ends meanwhile counts nothing."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total = next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = file.read().split()
    except (FileNotFoundError, ProcessLookupError, StopIteration):
        return 0
    return total + sum(tree_pss_kib(int(child)) for child in children)


def disk_bytes(path):
    """Blocks in use by the files below a directory."""
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total
