import CProbe
import Foundation
import Waypost

/// Measures, and says it as a table, as ratios and as a picture.
final class Report {
    private struct Row {
        var set: String
        var routes: Int
        var nanoseconds: [String: Double]
        var allocations: Double
        var bytesPerRoute: Double
        var build: Double
        var change: Double
    }

    private var rows: [Row] = []
    private var rounds = 41
    private var svg: String?
    private var markdown: String?
    private var matchit: String?

    init(arguments: [String]) {
        for (option, value) in zip(arguments.dropFirst(), arguments.dropFirst(2)) {
            switch option {
            case "--rounds": rounds = max(3, Int(value) ?? rounds)
            case "--svg": svg = value
            case "--markdown": markdown = value
            case "--matchit": matchit = value
            default: break
            }
        }
    }

    func measure(_ set: RouteSet) {
        let table = makeTable(set.routes)
        let bytes = Double(table.byteCount)
        var trie = makeTrie([])
        say("\(set.name): Hummingbird's built in \(number(milliseconds { trie = makeTrie(set.routes) })) ms")
        let all = subjects(set, table: table, trie: trie, library: matchit)
        // Machines are noisy: the subjects take turns in slices that are long beside what another one leaves in the
        // caches, and the least is kept, for what else runs on a machine only ever adds.
        var samples: [String: [Double]] = [:]
        // What is slow looks up fewer paths, so that no slice is longer than some milliseconds.
        let counts = all.map { subject in
            let sample = min(50, subject.count)
            let time = milliseconds { _ = subject.round(sample) }
            return min(subject.count, max(sample, Int(10 * Double(sample) / max(time, 0.001))))
        }
        var builds: [Double] = []
        for round in 0...rounds {
            if round % 2 == 0 { builds.append(milliseconds { _ = makeTable(set.routes) }) }
            for (subject, count) in zip(all, counts) {
                let repeats = max(1, 40_000 / subject.count * (count == subject.count ? 1 : 0))
                var found = 0
                // Whoever came before has emptied the caches.
                _ = subject.round(count)
                let time = milliseconds { for _ in 0..<repeats { found += subject.round(count) } }
                precondition(subject.name.hasPrefix("miss") || found == repeats * count, subject.name)
                // The first round warms up.
                if round > 0 {
                    samples[subject.name, default: []].append(time * 1e6 / Double(repeats * count))
                }
            }
        }
        say("\(set.name): ours built in \(number(least(builds))) ms, the least of \(builds.count) times")
        let allocationsBefore = probe_allocation_count()
        _ = all[0].round(all[0].count)
        let allocations = Double(probe_allocation_count() - allocationsBefore) / Double(all[0].count)
        let changes = (0..<200).map { number in
            milliseconds {
                var copy = table
                do {
                    try copy.add(RoutePattern("/service\(number)/added/:id"), index: 1)
                } catch {
                    print(error)
                }
            }
        }
        rows.append(
            Row(
                set: set.name, routes: set.routes.count, nanoseconds: samples.mapValues(least),
                allocations: allocations, bytesPerRoute: bytes / Double(set.routes.count),
                build: least(builds),
                change: least(changes)))
        say("measured \(set.name): \(set.routes.count) routes")
    }

    func finish() {
        let text = table()
        print(text)
        do {
            if let markdown { try text.write(toFile: markdown, atomically: true, encoding: .utf8) }
            if let svg { try picture().write(toFile: svg, atomically: true, encoding: .utf8) }
        } catch {
            print("not written:", error)
        }
    }

    private func table() -> String {
        var names = [
            "hit", "miss", "whole URL", "whole URL as a RouteURL", "hit, Hummingbird", "miss, Hummingbird",
            "whole URL, Hummingbird",
            "hit, C", "C, split and hash only",
        ]
        var text =
            "| ns per look-up, least of \(rounds) rounds | "
            + rows.map { "\($0.set) (\($0.routes))" }.joined(separator: " | ")
        text += " |\n|---|" + rows.map { _ in "---:|" }.joined() + "\n"
        func line(_ name: String, _ cell: (Row) -> String) {
            text += "| \(name) | " + rows.map(cell).joined(separator: " | ") + " |\n"
        }
        if matchit != nil { names += ["hit, matchit", "miss, matchit"] }
        for name in names { line(name) { number($0.nanoseconds[name] ?? 0) } }
        func ratio(_ row: Row, _ one: String, _ other: String) -> String {
            number((row.nanoseconds[one] ?? 0) / max(row.nanoseconds[other] ?? 1, 0.1)) + " ×"
        }
        line("hit: times faster than Hummingbird") { ratio($0, "hit, Hummingbird", "hit") }
        line("whole URL: times faster than Hummingbird") { ratio($0, "whole URL, Hummingbird", "whole URL") }
        line("whole URL over hit") { ratio($0, "whole URL", "hit") }
        line("miss over hit") { ratio($0, "miss", "hit") }
        line("hit over a table in C") { ratio($0, "hit", "hit, C") }
        if matchit != nil {
            line("hit over matchit") { ratio($0, "hit", "hit, matchit") }
            line("miss over matchit") { ratio($0, "miss", "miss, matchit") }
        }
        line("hit over C, split and hash only") { ratio($0, "hit", "C, split and hash only") }
        let first = rows.first?.nanoseconds["hit"] ?? 1
        line("hit over the smallest set") { number(($0.nanoseconds["hit"] ?? 0) / first) + " ×" }
        let firstInC = rows.first?.nanoseconds["hit, C"] ?? 1
        line("the same in C") { number(($0.nanoseconds["hit, C"] ?? 0) / firstInC) + " ×" }
        line("allocations per hit") { number($0.allocations) }
        line("bytes per route") { number($0.bytesPerRoute) }
        line("building, ms") { number($0.build) }
        line("changing one route, ms") { number($0.change) }
        return text
    }

    // Time over number of routes, both logarithmic.
    private func picture() -> String {
        let series = [
            ("hit", "#1b7f5c"), ("whole URL", "#2b6cb0"), ("miss", "#b7791f"),
            ("hit, Hummingbird", "#c53030"),
        ]
        func x(_ routes: Int) -> Double { 70 + (log10(Double(routes)) - 2) / 3 * 480 }
        func y(_ time: Double) -> Double { 340 - (log10(max(time, 10)) - 1) / 4 * 300 }
        var text = """
            <svg xmlns="http://www.w3.org/2000/svg" width="720" height="400" font-family="sans-serif" font-size="12">
            <rect width="720" height="400" fill="white"/>
            <text x="70" y="24" font-size="14">Look-up time by number of routes</text>

            """
        for power in 1...5 {
            let time = pow(10, Double(power))
            text += "<line x1=\"70\" x2=\"550\" y1=\"\(y(time))\" y2=\"\(y(time))\" stroke=\"#ddd\"/>"
            text += "<text x=\"62\" y=\"\(y(time) + 4)\" text-anchor=\"end\">\(Int(time)) ns</text>\n"
        }
        for row in rows {
            text += "<text x=\"\(x(row.routes))\" y=\"360\" text-anchor=\"middle\">\(row.routes)</text>\n"
        }
        for (name, color) in series {
            let points = rows.map { (x($0.routes), y($0.nanoseconds[name] ?? 0)) }
            let line = points.map { "\($0.0),\($0.1)" }.joined(separator: " ")
            text += "<polyline points=\"\(line)\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"2\"/>\n"
            for point in points {
                text += "<circle cx=\"\(point.0)\" cy=\"\(point.1)\" r=\"3\" fill=\"\(color)\"/>"
            }
            if let last = points.last {
                text += "<text x=\"\(last.0 + 8)\" y=\"\(last.1 + 4)\" fill=\"\(color)\">\(name)</text>\n"
            }
        }
        return text + "</svg>\n"
    }

    private func number(_ value: Double) -> String {
        value >= 100 || value == value.rounded()
            ? String(Int(value.rounded())) : String(format: "%.2f", value)
    }

    private func least(_ values: [Double]) -> Double {
        values.min() ?? 0
    }
}

func milliseconds(_ body: () -> Void) -> Double {
    let duration = ContinuousClock().measure(body)
    return Double(duration.components.seconds) * 1e3 + Double(duration.components.attoseconds) / 1e15
}

// Progress goes out at once, even through a pipe.
func say(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
}
