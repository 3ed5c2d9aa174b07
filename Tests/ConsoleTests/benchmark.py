"""What the console costs with a large fleet, and what the page costs the browser; prints a Markdown table.
Usage: scripts/benchmark console [--agents N] [--seconds N] [--tabs N]

Memory grows until the console has the lines and time lines that it keeps; what is compared are the last fifths of the time.
In the end the broker is killed, which forgets all, and started again.
"""

import argparse
import json
import pathlib
import re
import tempfile
import threading
import time

from harness import TOKEN, Broker, Console, Fleet, browser, publish, wait_for

WATCH = """
window.longTasks = [];
new PerformanceObserver((list) => { for (const one of list.getEntries()) window.longTasks.push(one.duration); })
  .observe({ type: 'longtask' });
window.mostRows = 0;
setInterval(() => {
  window.mostRows = Math.max(window.mostRows, document.querySelectorAll('virtual-list .list-body > .row').length);
}, 50);
window.paints = [];
let isAsked = false;
new MutationObserver(() => {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    for (const cell of document.querySelectorAll('virtual-list .message')) {
      const found = /^painted (\\d+)$/.exec(cell.textContent);
      if (found && !window.paints.some((one) => one[0] === found[1])) window.paints.push([found[1], Date.now() - Number(found[1])]);
    }
  });
}).observe(document.documentElement, { childList: true, subtree: true, characterData: true });
"""


def renderer(driver):
    """What the page takes in the browser, with its part of what is shared, in bytes."""
    def children(pid):
        found = [int(word) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
                 for word in (task / "children").read_text().split()]
        return found + [one for each in found for one in children(each)]

    sizes = [0]
    for pid in children(driver.service.process.pid):
        try:
            if b"--type=renderer" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
                sizes.append(int(re.search(r"^Pss: +(\d+)", rollup, re.M)[1]) * 1024)
        except FileNotFoundError:
            pass
    return max(sizes)


def restart(broker, console):
    """Seconds from the start of a broker that has forgotten all until the console shows what is so: all agents that were
    well are there again since then, and a new line is."""
    healthy = "/api/fleet?state=healthy&sort=since&desc=1&limit=1"
    known = console.get(healthy)["matched"]
    broker.stop()
    wait_for("the loss", lambda: not console.get("/api/status")["connected"])
    began, now = time.monotonic(), int(time.time() * 1000)
    broker.start()

    def is_right():
        fleet = console.get(healthy)
        # A few agents come and go.
        return (console.get("/api/status")["connected"] and fleet["complete"] and fleet["matched"] >= known * 0.99
                and fleet["rows"][0]["since"] >= now and console.get("/api/log?limit=1")["lines"][-1]["t"] >= now)
    wait_for("the console to be right", is_right, 120)
    return time.monotonic() - began


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--agents", type=int, default=10_000)
    arguments.add_argument("--seconds", type=int, default=60)
    arguments.add_argument("--tabs", type=int, default=5)
    given = arguments.parse_args()
    rows = []

    def row(what, found, goal, text):
        rows.append(f"| {what} | {text} | {goal} | {'yes' if found else 'no'} |")

    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(folder)
        fleet = Fleet(broker, given.agents, "--seed", "1", "--log-rate", "200", "--failure-rate", "20")
        console = Console(broker)
        drivers = []
        try:
            wait_for("the fleet", lambda: console.get("/api/fleet")["total"] == given.agents
                     and console.get("/api/fleet")["complete"], 300)
            driver = browser()
            drivers.append(driver)
            began = time.monotonic()
            driver.get(f"{console.base}/#/fleet?token={TOKEN}")
            wait_for("the first page", lambda: driver.execute_script(
                "return document.querySelectorAll('virtual-list .list-body > .row:not(.missing)').length > 10"))
            first = time.monotonic() - began
            row("first page complete", first <= 1.5, "≤ 1.5 s", f"{first:.2f} s")

            views = ["#/log", "#/fleet", "#/log?q=level%3AW", "#/failures", "#/console"][:given.tabs]
            while len(drivers) < len(views):
                drivers.append(browser())
            for driver, view in zip(drivers, views):
                driver.get("about:blank")
                driver.get(f"{console.base}/{view}{'&' if '?' in view else '?'}token={TOKEN}")
            time.sleep(3)
            log = drivers[0]
            for driver in drivers:
                driver.execute_script(WATCH)
            log.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
            heap = log.execute_script("return performance.memory.usedJSHeapSize")
            lines = console.get("/api/log?limit=1")["lines"][-1]["n"]
            _, processor = console.usage()
            began = time.monotonic()
            sizes = []
            while time.monotonic() - began < given.seconds:
                now = int(time.time() * 1000)
                event = {"t": now, "l": "I", "tag": "Paint", "boot": "B", "seq": 0, "pid": 1, "tid": 1,
                         "msg": f"painted {now}", "type": 0}
                publish(broker, "waypost/v1/painter/log/i", json.dumps(event))
                sizes.append(console.usage()[0])
                time.sleep(0.4)
            elapsed = time.monotonic() - began
            memory, after = console.usage()
            count = console.get("/api/log?limit=1")["lines"][-1]["n"] - lines
            log.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
            growth = log.execute_script("return performance.memory.usedJSHeapSize") - heap
            most = max(driver.execute_script("return window.mostRows") for driver in drivers)
            of_views = [driver.execute_script("return window.longTasks") for driver in drivers]
            tasks = [one for view in of_views for one in view]
            longest = ", ".join(f"{view[2:].split('?')[0]} {max(found):.0f} ms ({len(found)})"
                                for view, found in zip(views, of_views) if found)
            paints = sorted(one[1] for one in log.execute_script("return window.paints"))
            share = (after - processor) / elapsed
            fifth = max(1, len(sizes) // 5)
            recent, before = max(sizes[-fifth:]), max(sizes[-2 * fifth:-fifth] or sizes[-fifth:])
            tabs = [renderer(driver) for driver in drivers]
            row("rows in the document", most <= 120, "≤ 120", f"{most}")
            row("longest task of a page", max(tasks, default=0) <= 100, "≤ 100 ms",
                f"{max(tasks, default=0):.0f} ms" + (f": {longest}" if longest else ", none over 50 ms"))
            row("growth of the heap", growth < 20 << 20, "< 20 MB", f"{growth / 1e6:.1f} MB over {count} lines")
            row("memory of the console", max(sizes) <= 250e6, "≤ 250 MB", f"{max(sizes) / 1e6:.0f} MB")
            row("memory of the console, last fifth of the time beside the one before", recent <= before * 1.05, "≤ 105 %",
                f"{recent / before * 100:.0f} %")
            row("memory of the largest tab", max(tabs) <= 200e6, "≤ 200 MB", f"{max(tabs) / 1e6:.0f} MB")
            row("processor of the console", share <= 0.6, "≤ 60 % of a core", f"{share * 100:.0f} %")
            if paints:
                p99 = paints[min(len(paints) - 1, len(paints) * 99 // 100)]
                row("from publish to paint, p99", p99 <= 300, "≤ 300 ms", f"{p99} ms, of {len(paints)}")
            else:
                row("from publish to paint, p99", False, "≤ 300 ms", "none was seen")
            seconds = restart(broker, console)
            row("after a restart of the broker all is right again in", seconds <= 10, "≤ 10 s", f"{seconds:.1f} s")
        finally:
            for driver in drivers:
                driver.quit()
            console.stop()
            fleet.stop()
            broker.stop()
    print(f"{given.agents} agents, {given.tabs} tabs, {given.seconds} s\n")
    print("| What | Found | Goal | Holds |\n|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
