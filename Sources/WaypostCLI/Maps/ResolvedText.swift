import Waypost
import WaypostBackend
import WaypostMessages

/// Where an agent says that a URL would lead, for people.
enum ResolvedText {
    static func lines(_ resolved: ResolvedRoute, _ style: Style) -> [TerminalText] {
        var lines: [TerminalText] = []
        func add(_ label: String, _ text: TerminalText) { lines.append("\(label.padding(to: 15))\(text)") }
        if let failure = resolved.failure {
            lines.append("\(style.red("\(failure.code)")): \(failure.detail)")
            if !failure.nearest.isEmpty { add("similar", "\(failure.nearest.joined(separator: ", "))") }
        } else if let answer = resolved.answer {
            add("answers", style.green(TerminalText(answer)))
        } else if let method = resolved.method {
            add("calls", style.green(TerminalText((resolved.service.map { "\($0)." } ?? "") + method)))
        } else {
            add("route", style.green(TerminalText(resolved.route ?? "")))
        }
        add("url", "\(resolved.final)")
        lines += hops(resolved)
        for rule in resolved.rules { add("rule", "\(rule)") }
        if !resolved.interceptors.isEmpty {
            add("asks", "\(resolved.interceptors.joined(separator: ", "))")
        }
        return lines
    }

    /// A line for each redirect.
    static func hops(_ resolved: ResolvedRoute) -> [TerminalText] {
        resolved.hops.map { "\("redirected".padding(to: 15))\($0.from) → \($0.to)\(by($0))" }
    }

    private static func by(_ hop: ResolvedRoute.Hop) -> String {
        if let layer = hop.layer, let entry = hop.entry { return " by entry \(entry) of \(layer)" }
        return hop.route.map { " by the route \($0)" } ?? " by its route_fallback_url"
    }
}
