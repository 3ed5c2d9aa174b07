import Waypost

/// Prometheus' text form, version 0.0.4.
struct PrometheusText {
    private(set) var text = ""

    mutating func begin(_ name: String, _ type: String, help: String?) {
        if let help { text += "# HELP \(name) \(help)\n" }
        text += "# TYPE \(name) \(type)\n"
    }

    mutating func add(_ name: String, _ labels: String, _ value: String) {
        text += name + (labels.isEmpty ? "" : "{\(labels)}") + " \(value)\n"
    }

    mutating func add(_ name: String, _ labels: String, _ durations: DurationCounts) {
        let more = labels.isEmpty ? "" : labels + ","
        for (bound, count) in zip(DurationCounts.bounds, durations.counts) {
            add("\(name)_bucket", "\(more)le=\"\(Self.number(bound))\"", String(count))
        }
        add("\(name)_bucket", more + "le=\"+Inf\"", String(durations.count))
        add("\(name)_sum", labels, Self.number(durations.sum))
        add("\(name)_count", labels, String(durations.count))
    }

    /// A name with what may not stand in one replaced.
    static func name(_ text: String) -> String {
        let name = text.map { character in
            character.isASCII && (character.isLetter || character.isNumber || character == "_")
                ? character : "_"
        }
        return name.first?.isNumber ?? true ? "_" + String(name) : String(name)
    }

    /// A label's value, escaped.
    static func value(_ text: String) -> String {
        text.escaping { ["\\": "\\\\", "\"": "\\\"", "\n": "\\n"][$0] }
    }

    static func number(_ value: Double) -> String {
        value.isNaN ? "NaN" : Int64(exactly: value).map(String.init) ?? String(value)
    }
}
