/// The record of a route, being made from its pattern.
struct RecordImage {
    private var bytes: [UInt8]
    private(set) var depth = 0
    private var captures: [RouteCapture] = []
    private var endsWithRest = false

    /// The record of a pattern.
    ///
    /// - Parameter number: the number of a converter plus one.
    init(
        _ pattern: RoutePattern, priority: Int64 = 0, takesDeeper: Bool = false, index: UInt32 = 0,
        ignoresCase: Bool, number: (String) -> Int
    ) {
        bytes = Array(repeating: 0, count: RouteRecord.stepsOffset)
        bytes.reserveCapacity(RouteRecord.stepsOffset + 2 * pattern.text.utf8.count + 32)
        var header = RouteRecord()
        if let scheme = pattern.scheme {
            header.schemeLength = UInt16(truncatingIfNeeded: scheme.utf8.count)
            if pattern.isFallback { add(literal: scheme) }
        }
        if let base = pattern.base { add(literal: ignoresCase ? base.lowercasedASCII : base) }
        pattern.text.utf8Span.span.withUnsafeBufferPointer { text in
            let pieces = pattern.pieces.span
            for index in pieces.indices { add(pieces[index], in: text, ignoresCase, number) }
            header.stepBytes = UInt16(truncatingIfNeeded: bytes.count - RouteRecord.stepsOffset)
            header.textLength = UInt16(truncatingIfNeeded: text.count)
            bytes += text
        }
        header.priority = priority
        header.index = index
        header.optional = pattern.optional.bits
        header.captureCount = UInt16(truncatingIfNeeded: captures.count)
        header.depth = UInt8(truncatingIfNeeded: depth)
        header.takesDeeper = takesDeeper
        header.endsWithRest = endsWithRest
        header.isShorter = pattern.isShorter
        header.isFallback = pattern.isFallback
        for (number, capture) in captures.prefix(RouteMatch.inlineCaptures).enumerated() {
            header.positions |= UInt64(capture.position) << UInt64(number * 8)
        }
        captures.withUnsafeBytes { bytes += $0 }
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: header, as: RouteRecord.self) }
    }

    private mutating func add(literal text: String) {
        PathStep.write(text.utf8.count, isLiteral: true, to: &bytes)
        bytes += text.utf8
        depth += 1
    }

    private mutating func add(
        _ piece: PatternPiece, in text: UnsafeBufferPointer<UInt8>, _ ignoresCase: Bool,
        _ number: (String) -> Int
    ) {
        switch piece.kind {
        case .literal:
            let start = bytes.count + 2
            PathStep.write(Int(piece.end - piece.start), isLiteral: true, to: &bytes)
            if piece.isEncoded {
                let decoded = piece.decoded(piece.start, piece.end, in: text)
                bytes.removeLast(2)
                PathStep.write(decoded.utf8.count, isLiteral: true, to: &bytes)
                bytes += decoded.utf8
            } else {
                bytes += piece.literal(in: text)
            }
            if ignoresCase {
                for index in start..<bytes.count { bytes[index] = RouteScheme.lowercased(bytes[index]) }
            }
        case .placeholder:
            PathStep.write(0, isLiteral: false, to: &bytes)
            capture(piece.hole, 0, step: nil)
        default:
            let step = bytes.count - RouteRecord.stepsOffset
            let key = NonLiteralKey(piece, in: text, ignoresCase: ignoresCase) { $0.map(number) ?? 0 }
            let content = key.bytes
            PathStep.write(content.count, isLiteral: false, to: &bytes)
            bytes += content
            for (number, hole) in piece.holes(in: text).enumerated() { capture(hole, number, step: step) }
            endsWithRest = piece.kind == .rest
        }
        depth += 1
    }

    private mutating func capture(_ hole: PatternHole, _ number: Int, step: Int?) {
        captures.append(
            RouteCapture(
                nameStart: hole.nameStart, nameEnd: hole.nameEnd,
                step: UInt16(truncatingIfNeeded: step.map { $0 + 1 } ?? 0),
                position: UInt8(truncatingIfNeeded: depth), number: UInt8(truncatingIfNeeded: number)))
    }

    /// Calls `body` with the record where it lies.
    func withRecord<Result, Failure: Error>(
        _ body: (RouteRecordPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try bytes.withUnsafeBufferPointer { (bytes) throws(Failure) in
            guard let memory = bytes.baseAddress else { preconditionFailure("a record is never empty") }
            return try body(RouteRecordPointer(memory: UnsafeRawPointer(memory)))
        }
    }
}

extension String {
    fileprivate var lowercasedASCII: String {
        String(decoding: utf8.map { RouteScheme.lowercased($0) }, as: UTF8.self)
    }
}
