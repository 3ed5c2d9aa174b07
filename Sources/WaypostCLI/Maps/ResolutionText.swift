import Waypost

/// Where a URL would lead, for people.
enum ResolutionText {
    static func lines(_ resolution: Resolution, _ style: Style) -> [TerminalText] {
        var lines: [TerminalText] = []
        func add(_ label: String, _ text: TerminalText) { lines.append("\(label.padding(to: 15))\(text)") }
        if let error = resolution.error {
            lines.append("\(style.red("\(error.code)")): \(error.detail)")
            if !error.nearest.isEmpty { add("similar", "\(error.nearest.joined(separator: ", "))") }
        } else if let answer = resolution.answer {
            add("answers", style.green(TerminalText(answer.text)))
        } else if let method = resolution.method {
            add("calls", style.green(TerminalText((resolution.service.map { "\($0)." } ?? "") + method.name)))
        } else {
            let name = resolution.className.map { " (\($0))" } ?? ""
            add("route", "\(style.green(TerminalText(resolution.route ?? "")))\(name)")
        }
        add("url", "\(resolution.url)")
        if !resolution.hops.isEmpty { add("redirected to", "\(resolution.hops.joined(separator: " → "))") }
        for decision in resolution.decisions { add("rule", "\(String(describing: decision))") }
        if resolution.fellBack { add("why", "no route matches the URL; this is its route_fallback_url") }
        guard resolution.error == nil, resolution.method == nil else { return lines }
        if !resolution.interceptors.isEmpty {
            add("interceptors", "\(resolution.interceptors.joined(separator: ", ")) (asked before it opens)")
        }
        for (key, value) in resolution.parameters.merged.sorted(by: { $0.key < $1.key }) {
            add("param", "\(key) = \(value.text)")
        }
        let presentation = resolution.presentation
        add("presentation", "\(String(describing: presentation.jumpType))")
        for warning in presentation.warnings { add("hint", "\(warning)") }
        return lines
    }
}
