import CProbe
import Foundation
import Waypost

// usage: RouterBenchmark [--rounds N] [--svg FILE] [--markdown FILE] [--matchit LIBRARY]
let report = Report(arguments: CommandLine.arguments)
for set in [RouteSet.github(), .services(10_000, name: "10k"), .services(100_000, name: "100k")] {
    report.measure(set)
}
report.finish()
