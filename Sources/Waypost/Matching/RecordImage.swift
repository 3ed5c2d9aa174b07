/// The record of a route, being made from its pattern.
///
/// It has less than 60 000 bytes: a pattern is at most ``RoutePattern/maximumBytes`` long and stands in it twice, and a
/// placeholder, which takes three bytes of it, adds eleven, and a short literal up to eight.
struct RecordImage {
    private static let stepsOffset = MemoryLayout<RouteRecord>.stride
    private var bytes = [UInt8](repeating: 0, count: Self.stepsOffset)
    private var header = RouteRecord()
    private var captures: [RouteCapture] = []

    /// The record of a pattern.
    ///
    /// - Parameter number: the number of a converter plus one.
    init(
        _ pattern: RoutePattern, priority: Int64 = 0, takesDeeper: Bool = false, index: UInt32 = 0,
        ignoresCase: Bool, number: (String) -> Int
    ) {
        bytes.reserveCapacity(Self.stepsOffset + 2 * pattern.text.utf8.count + 48)
        header.priority = priority
        header.index = index
        header.takesDeeper = takesDeeper
        header.optional = pattern.optional
        header.isShorter = pattern.isShorter
        header.isFallback = pattern.isFallback
        if let scheme = pattern.scheme {
            header.schemeLength = UInt16(truncatingIfNeeded: scheme.utf8.count)
            if pattern.isFallback { add(literal: scheme.utf8) }
        }
        // No host is as long as this.
        if let base = pattern.base { add(literal: base.utf8.prefix(4096), ignoresCase) }
        pattern.text.utf8Span.span.withUnsafeBufferPointer { text in
            let pieces = pattern.pieces.span
            for index in pieces.indices { add(pieces[index], in: text, ignoresCase, number) }
            header.stepBytes = stepBytes
            header.captureCount = UInt16(truncatingIfNeeded: captures.count)
            captures.withUnsafeBytes { bytes += $0 }
            header.textLength = UInt16(truncatingIfNeeded: text.count)
            bytes += text
        }
        complete()
    }

    /// The record of one step.
    init(edge step: PathStep) {
        bytes += UnsafeBufferPointer(start: step.start, count: step.byteCount)
        header.stepBytes = stepBytes
        complete()
    }

    /// The bytes of the steps so far.
    private var stepBytes: UInt16 { UInt16(truncatingIfNeeded: bytes.count - Self.stepsOffset) }

    private mutating func complete() {
        bytes.withUnsafeMutableBytes { [header] in $0.storeBytes(of: header, as: RouteRecord.self) }
    }

    private mutating func add(literal text: some Collection<UInt8>, _ ignoresCase: Bool = false) {
        PathStep.write(text.count, isLiteral: true, to: &bytes)
        if ignoresCase {
            bytes += text.lazy.map { RouteScheme.lowercased($0) }
        } else {
            bytes += text
        }
        bytes += repeatElement(0, count: PathStep.space(text.count) - text.count)
        header.depth += 1
    }

    private mutating func add(
        _ piece: PatternPiece, in text: UnsafeBufferPointer<UInt8>, _ ignoresCase: Bool,
        _ number: (String) -> Int
    ) {
        switch piece.kind {
        case .literal where piece.isEncoded:
            add(literal: piece.decoded(piece.start, piece.end, in: text).utf8, ignoresCase)
        case .literal: add(literal: piece.literal(in: text), ignoresCase)
        default:
            let step = stepBytes
            let key = NonLiteralKey.bytes(of: piece, in: text, ignoresCase: ignoresCase, number: number)
            PathStep.write(key.count, isLiteral: false, to: &bytes)
            bytes += key
            if !key.isEmpty { header.keyBytes = stepBytes }
            for (number, hole) in piece.holes(in: text).enumerated() {
                captures.append(
                    RouteCapture(
                        nameStart: hole.nameStart, nameEnd: hole.nameEnd, step: step, position: header.depth,
                        number: UInt8(truncatingIfNeeded: number)))
            }
            header.endsWithRest = piece.kind == .rest
            header.depth += 1
        }
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
