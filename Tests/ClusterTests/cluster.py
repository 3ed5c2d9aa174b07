"""Brokers on loopback, from Debian's packages: three nodes of RabbitMQ or NATS, or one mosquitto.

Ports and data are private, and nothing is left of them once `end` has returned.
"""

import fcntl
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

# A node of RabbitMQ takes ten seconds to start, and longer on a machine that has other things to do.
LIMIT = 180


def wait_for(what, check, limit=LIMIT, every=0.1):
    """The first result of `check` that is true; generous, for machines that have other things to do."""
    end = time.monotonic() + limit
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"waited {limit} s for {what}")
        time.sleep(every)


# Which ports of the machine were given to a process of tests that still runs: a byte for each, which it has locked. An
# agent whose broker is down must not find that of another test (`FreePort` in TestSupport is the same).
try:
    BOOK = os.open("/tmp/waypost-test-ports", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
except OSError:  # another user was first
    BOOK = None


def is_given(port):
    if BOOK is None:
        return False
    try:
        fcntl.lockf(BOOK, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        return False
    except (BlockingIOError, PermissionError):
        return True


def free_ports(count):
    """Ports of loopback that nothing has, below those that the system gives away by itself; all are held until all are
    known, so that they differ."""
    sockets, ports = [], []
    try:
        while len(ports) < count:
            port = random.randint(10_240, 32_767)
            sockets.append(socket.socket())
            try:
                sockets[-1].bind(("127.0.0.1", port))
            except OSError:
                continue
            if not is_given(port):
                ports.append(port)
        return ports
    finally:
        for each in sockets:
            each.close()


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class Node:
    """One server as a process, with what it has started in one group."""

    def __init__(self, name, port, command, environment, folder):
        self.name, self.port = name, port
        self.command, self.environment = command, environment
        self.folder = folder
        self.log = folder / "output.log"
        self.process = None
        folder.mkdir()

    @property
    def url(self):
        return f"mqtt://127.0.0.1:{self.port}"

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True)

    def is_up(self):
        if not self.is_running:
            tail = self.log.read_text(errors="replace")[-2000:]
            raise AssertionError(f"node {self.name} has ended by itself:\n{tail}")
        return accepts(self.port)

    def kill(self):
        """Ends it at once, as a power cut does."""
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process = None


class Cluster:
    """Three nodes, A, B and C."""

    engine = ""
    version = ""
    # Whether this version loses messages that it has acknowledged; `evidence.py` says which.
    known_to_skip = False

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="waypost-cluster-"))
        self.nodes = []

    @property
    def title(self):
        return f"{self.engine} {self.version}".strip()

    def __getitem__(self, name):
        return next(node for node in self.nodes if node.name == name)

    def start(self):
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            wait_for(f"node {node.name}", node.is_up)
        self.wait_until_whole()

    def restart(self, name):
        """Starts a node that was killed; it is not waited for."""
        self[name].start()

    def wait_until_whole(self):
        """Waits until each node sees the other two."""
        wait_for("the cluster to be whole", self.is_whole, every=0.5)

    def is_whole(self):
        return all(node.is_up() for node in self.nodes)

    def end(self):
        for node in self.nodes:
            node.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class RabbitMQ(Cluster):
    engine = "rabbitmq"
    # Debian's scripts in /usr/sbin change to the user of the service.
    programs = pathlib.Path("/usr/lib/rabbitmq/bin")

    def __init__(self):
        super().__init__()
        names = "ABC"
        self.epmd_port, *ports = free_ports(1 + 2 * len(names))
        # The nodes and rabbitmqctl know each other by it.
        cookie = self.folder / ".erlang.cookie"
        cookie.write_text("waypost-cluster")
        cookie.chmod(0o400)
        (self.folder / "enabled_plugins").write_text("[rabbitmq_mqtt].\n")
        self.epmd = None
        for name, port, peer_port in zip(names, ports[0::2], ports[1::2]):
            folder = self.folder / name
            environment = self.environment(name, port, peer_port, folder)
            self.nodes.append(
                Node(name, port, [str(self.programs / "rabbitmq-server")], environment, folder))
            (folder / "rabbitmq.conf").write_text(self.configuration(names, port))

    def environment(self, name, port, peer_port, folder):
        path = os.environ["PATH"] + ":/usr/sbin:/sbin"
        return {
            "PATH": path, "HOME": str(self.folder), "LANG": "C.UTF-8",
            "ERL_EPMD_PORT": str(self.epmd_port), "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"rabbit{name}@localhost",
            "RABBITMQ_NODE_PORT": str(port), "RABBITMQ_DIST_PORT": str(peer_port),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"), "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS":
                "-start_epmd false -kernel inet_dist_use_interface {127,0,0,1}",
        }

    def configuration(self, names, port):
        nodes = [f"cluster_formation.classic_config.nodes.{n} = rabbit{name}@localhost"
                 for n, name in enumerate(names, 1)]
        return "\n".join([
            # Nobody speaks AMQP here.
            "listeners.tcp = none", f"mqtt.listeners.tcp.1 = 127.0.0.1:{port}",
            "mqtt.allow_anonymous = true", "mqtt.durable_queue_type = quorum", "mqtt.prefetch = 100",
            "mqtt.subscription_ttl = 86400000", "loopback_users = none",
            # A machine that has other things to do answers late, and is not gone.
            "net_ticktime = 30", "disk_free_limit.absolute = 50MB",
            "cluster_formation.peer_discovery_backend = classic_config", *nodes,
        ]) + "\n"

    def start(self):
        self.epmd = Node(
            "epmd", self.epmd_port, ["epmd", "-port", str(self.epmd_port), "-address", "127.0.0.1"],
            {"PATH": os.environ["PATH"]}, self.folder / "epmd")
        self.epmd.start()
        wait_for("epmd", self.epmd.is_up)
        super().start()

    def control(self, name, *words):
        """What rabbitmqctl prints for a node; None when it fails."""
        result = subprocess.run(
            [str(self.programs / "rabbitmqctl"), "--silent", *words], env=self[name].environment,
            cwd=self.folder, capture_output=True, text=True, timeout=LIMIT, check=False)
        return result.stdout if result.returncode == 0 else None

    def is_whole(self):
        if not super().is_whole():
            return False
        running = self.control("A", "eval", "length(rabbit_nodes:all_running()).")
        return running is not None and running.strip() == str(len(self.nodes))

    def end(self):
        super().end()
        if self.epmd:
            self.epmd.kill()


class NATS(Cluster):
    engine = "nats"
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"

    def __init__(self):
        super().__init__()
        printed = subprocess.run(
            ["nats-server", "--version"], env={"PATH": self.path}, capture_output=True, text=True, timeout=LIMIT,
            check=True).stdout
        self.version = re.search(r"\d+(\.\d+)+", printed).group()
        # nats-server pull requests 6469 and 6566.
        self.known_to_skip = tuple(map(int, self.version.split("."))) < (2, 10, 26)
        names = "ABC"
        ports = free_ports(3 * len(names))
        clients, peers, mqtt = ports[0:3], ports[3:6], ports[6:9]
        routes = ", ".join(f"nats://127.0.0.1:{port}" for port in peers)
        for name, client, peer, port in zip(names, clients, peers, mqtt):
            folder = self.folder / name
            file = folder / "nats.conf"
            node = Node(
                name, port, ["nats-server", "--config", str(file)],
                {"PATH": self.path}, folder)
            file.write_text(f"""
server_name: {name}
listen: 127.0.0.1:{client}
jetstream {{ store_dir: "{folder}/store", max_file_store: 1G, max_memory_store: 64M }}
cluster {{ name: waypost, listen: 127.0.0.1:{peer}, routes: [{routes}] }}
mqtt {{ listen: 127.0.0.1:{port}, stream_replicas: {len(names)}, ack_wait: 10s, max_ack_pending: 1000 }}
""")
            self.nodes.append(node)


class Mosquitto(Cluster):
    """One node: mosquitto knows no others."""

    engine = "mosquitto"

    def __init__(self):
        super().__init__()
        port, = free_ports(1)
        folder = self.folder / "A"
        file = folder / "mosquitto.conf"
        self.nodes.append(
            Node("A", port, ["mosquitto", "-c", str(file)], {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}, folder))
        file.write_text(f"""
listener {port} 127.0.0.1
allow_anonymous true
user root
persistence false
max_queued_messages 0
set_tcp_nodelay true
""")


ENGINES = {"rabbitmq": RabbitMQ, "nats": NATS, "mosquitto": Mosquitto}
