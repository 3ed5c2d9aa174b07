"""All processes below this one, also those that their parents left behind."""

import ctypes
import os
import signal
import time


def adopt_orphans():
    """What a killed test leaves behind becomes our child, and so it can be found."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def end_children():
    """Kills all that descends from this process, and returns when nothing of it is left."""
    while True:
        parents = {}
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                try:
                    with open(f"/proc/{entry.name}/stat") as file:
                        state, parent = file.read().rpartition(")")[2].split()[:2]
                except OSError:
                    continue
                if state != "Z":
                    parents[int(entry.name)] = int(parent)
        ours, found = {os.getpid()}, True
        while found:
            found = {pid for pid, parent in parents.items() if parent in ours} - ours
            ours |= found
        ours.remove(os.getpid())
        for pid in ours:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        if not ours:
            return
        time.sleep(0.02)
