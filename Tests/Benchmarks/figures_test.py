"""What compares figures, held against pages and tables that are written here."""

import unittest

from figures import Figure, compare, read_table, sections, written

TABLE = """
| Figure | Value | Bound |
|---|---:|---:|
| agents, s | 1.20 | ≤ 5 |
| calls/s | 10 000 | ≥ 9 000 |
"""


class Figures(unittest.TestCase):
    def test_a_table_is_read_by_its_columns(self):
        self.assertEqual(
            read_table(TABLE), [Figure("agents, s", "1.20", "≤ 5"), Figure("calls/s", "10 000", "≥ 9 000")])
        other = "==> a word\n| What | Found | Goal | Holds |\n|---|---|---|---|\n| memory | 34 MB | ≤ 300 MB | yes |\n"
        self.assertEqual(read_table(other, ("What", "Found", "Goal")), [Figure("memory", "34 MB", "≤ 300 MB")])
        self.assertEqual(read_table(other), [])
        self.assertEqual(read_table(other, ("What", "Found", "")), [Figure("memory", "34 MB")])

    def test_a_bound_holds_in_its_direction(self):
        for value, bound, holds in [
            ("5.0 s", "≤ 5 s", True), ("5.1 s", "≤ 5 s", False), ("10 000", "≥ 9 000", True), ("8 999", "≥ 9 000", False),
            ("0", "= 0", True), ("1", "= 0", False), ("none was seen", "≤ 300 ms", False), ("3", "", True), ("20 MB", "< 20 MB", False),
        ]:
            self.assertEqual(Figure("a", value, bound).holds, holds, (value, bound))

    def test_worse_is_more_than_a_tenth_in_the_wrong_direction(self):
        for bound, before, now, is_worse in [
            ("≤ 5", "1.00", "1.10", False), ("≤ 5", "1.00", "1.12", True), ("≤ 5", "1.00", "0.50", False),
            ("≥ 5", "100", "89", True), ("≥ 5", "100", "91", False), ("≥ 5", "100", "200", False),
            # One of the last digit is no difference.
            ("≤ 5", "0.1", "0.2", False), ("≤ 5", "0.1", "0.3", True), ("", "10", "12", True),
            ("= 50", "50", "40", True), ("", "promoted", "promoted", False), ("", "promoted", "taken back", True),
            ("≤ 5", "0", "0", False), ("≤ 300 ms", "100 ms", "none", True),
        ]:
            self.assertEqual(
                Figure("a", now, bound).is_worse(Figure("a", before, bound)), is_worse, (bound, before, now))

    def test_what_is_said_names_what_is_worse_over_its_bound_or_gone(self):
        before = [Figure("a", "1.0", "≤ 5"), Figure("b", "2", "≤ 5"), Figure("c", "3", "≤ 5")]
        now = [Figure("a", "1.5", "≤ 5"), Figure("b", "2", "≤ 1"), Figure("new", "9", "≤ 9")]
        self.assertEqual(compare(now, before), [
            "b: 2 is not ≤ 1", "a: 1.5, and it was 1.0", "c: it was 3, and there is none now"])
        self.assertEqual(compare(before, before), [])

    def test_what_is_written_is_read_again_and_leaves_the_prose(self):
        page = "# Figures\n\nText.\n\n## What was found\n\n## What can't be run here\n\nMuch.\n"
        figures = read_table(TABLE)
        page = written(page, "verbs", "scripts/x", "On a machine, with others.\nVersion 1.", figures)
        page = written(page, "console", "scripts/y", "On another.\nVersion 1.", figures[:1])
        self.assertTrue(page.endswith("\n## What can't be run here\n\nMuch.\n"))
        self.assertEqual(sections(page), {"verbs": (figures, "a machine"), "console": (figures[:1], "another")})
        page = page.replace("### console", "Said by hand.\n\nTwice.\n\n### console")
        again = written(page, "verbs", "scripts/x", "On a machine.\nVersion 2.", figures[:1])
        self.assertEqual(sections(again)["verbs"], (figures[:1], "a machine"))
        self.assertIn("≤ 5 |\n\nSaid by hand.\n\nTwice.\n\n### console", again)
        self.assertNotIn("Version 1.\n\n| Figure | Value | Bound |\n|---|---:|---:|\n| agents, s | 1.20 | ≤ 5 |\n| calls", again)
        self.assertEqual(written(again, "verbs", "scripts/x", "On a machine.\nVersion 2.", figures[:1]), again)


if __name__ == "__main__":
    unittest.main()
