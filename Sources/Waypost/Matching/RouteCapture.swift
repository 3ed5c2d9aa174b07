/// What a placeholder captures: which component, under which name, and by which step.
struct RouteCapture: BitwiseCopyable {
    /// Where in the pattern's text the name stands; nowhere for `**`.
    var nameStart: UInt16
    var nameEnd: UInt16
    /// Where among the steps its own begins.
    var step: UInt16
    /// Which component it takes, and which one it is of several placeholders there.
    var position: UInt8
    var number: UInt8
}

extension RouteTable {
    /// What the placeholders of the matched pattern gave, from left to right, decoded and converted.
    ///
    /// `match` must come from this table and `url`.
    package func parameters(of match: RouteMatch, in url: RouteURL) -> [CapturedParameter] {
        var parameters: [CapturedParameter] = []
        parameters.reserveCapacity(match.parameterCount)
        forEachParameter(of: match, in: url) { name, text, converter, value in
            parameters.append(CapturedParameter(name: name, text: text, converter: converter, value: value))
        }
        return parameters
    }

    /// Hands on the parts of each one; the value is nil when it is the text.
    @inline(__always)
    func forEachParameter(
        of match: RouteMatch, in url: RouteURL,
        _ body: (_ name: String, _ text: String, _ converter: String?, _ value: CapturedValue?) -> Void
    ) {
        guard match.parameterCount > 0, let record = storage.record(of: match) else { return }
        var components: [String]?
        for number in 0..<Int(record.header.pointee.captureCount) {
            let capture = record.capture(number)
            let key = record.step(at: Int(capture.step)).key
            let isRest = key.kind == .rest
            var text: String
            if !isRest, let range = match.range(ofParameter: number) {
                text = url.decoded(
                    UInt32(truncatingIfNeeded: range.lowerBound), UInt32(truncatingIfNeeded: range.upperBound)
                )
            } else {
                let all = components ?? url.components
                components = all
                let position = Int(capture.position)
                guard position < all.count else { continue }
                text = isRest ? all[position...].joined(separator: "/") : all[position]
            }
            text = key.text(of: text, Int(capture.number), ignoringCase: storage.ignoresCase)
            let converter = key.converter(Int(capture.number)) - 1
            body(
                record.name(capture), text, converter < 0 ? nil : storage.converters.names[converter],
                converter < 0 ? nil : storage.converters.value(text, converter: converter))
        }
    }

    /// The pattern of the matched route, as it was written.
    ///
    /// `match` must come from this table.
    func pattern(of match: RouteMatch) -> String { storage.record(of: match)?.pattern ?? "" }
}
