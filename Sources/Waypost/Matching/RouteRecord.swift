/// One route of the table, as it lies in memory: this, then its steps, its captures, and its pattern as written.
///
/// So does a step that is neither a literal nor a plain placeholder, as one of those behind a node: it has nothing else.
struct RouteRecord: BitwiseCopyable {
    var priority: Int64 = 0
    /// What a match gives.
    var index: UInt32 = 0
    /// Its own reference, by which one that is made up is known.
    var own: UInt32 = 0
    /// The next record of the same list of a node.
    var next: UInt32 = 0
    /// The optional parts of the pattern.
    var optional = OptionalParts()
    var stepBytes: UInt16 = 0
    /// How many of these lie before the literals and plain placeholders at the end.
    var keyBytes: UInt16 = 0
    var textLength: UInt16 = 0
    var captureCount: UInt16 = 0
    /// How many bytes of the text are the scheme; 0 when the pattern takes any.
    var schemeLength: UInt16 = 0
    /// How many steps there are.
    var depth: UInt8 = 0
    var takesDeeper = false
    var endsWithRest = false
    var isFallback = false
    /// Whether its pattern is one with optional parts, without all of them.
    var isShorter = false
    /// Whether it is that of a route, and was not removed.
    var isRoute = false

    /// Where the pattern begins.
    var textOffset: Int {
        MemoryLayout<RouteRecord>.stride + Int(stepBytes) + Int(captureCount)
            * MemoryLayout<RouteCapture>.stride
    }
    /// The bytes of all of it.
    var byteCount: Int { textOffset + Int(textLength) }
}

/// A record where it lies: in a table, or in the making.
struct RouteRecordPointer {
    let memory: UnsafeRawPointer

    @inline(__always) var header: UnsafePointer<RouteRecord> {
        memory.assumingMemoryBound(to: RouteRecord.self)
    }
    @inline(__always) var firstStep: UnsafePointer<UInt8> {
        (memory + MemoryLayout<RouteRecord>.stride).assumingMemoryBound(to: UInt8.self)
    }

    /// The step that begins behind so many bytes of others.
    func step(at offset: Int) -> PathStep { PathStep(start: firstStep + offset) }

    /// All steps.
    var steps: some Sequence<PathStep> {
        sequence(state: step(at: 0)) { [end = step(at: Int(header.pointee.stepBytes))] next in
            guard next.start < end.start else { return nil }
            defer { next = next.next }
            return next
        }
    }

    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: memory, count: header.pointee.byteCount)
    }

    /// The pattern, as it was written.
    var text: UnsafeBufferPointer<UInt8> {
        let start = (memory + header.pointee.textOffset).assumingMemoryBound(to: UInt8.self)
        return UnsafeBufferPointer(start: start, count: Int(header.pointee.textLength))
    }
    var pattern: String { String(decoding: text, as: UTF8.self) }

    @inline(__always)
    func capture(_ number: Int) -> RouteCapture {
        UnsafeRawPointer(firstStep + Int(header.pointee.stepBytes)).loadUnaligned(
            fromByteOffset: number &* MemoryLayout<RouteCapture>.stride, as: RouteCapture.self)
    }

    func name(_ capture: RouteCapture) -> String {
        capture.nameStart == capture.nameEnd
            ? "**" : String(decoding: text[Int(capture.nameStart)..<Int(capture.nameEnd)], as: UTF8.self)
    }

    var names: [String] { (0..<Int(header.pointee.captureCount)).map { name(capture($0)) } }

    /// Whether another one has the same steps, of which `count` bytes are looked at.
    func shares(_ count: Int, with other: RouteRecordPointer) -> Bool {
        let (one, two) = (header.pointee, other.header.pointee)
        guard one.isFallback == two.isFallback, one.stepBytes >= count, two.stepBytes >= count else {
            return false
        }
        return UnsafeBufferPointer(start: firstStep, count: count).hasSameBytes(
            as: UnsafeBufferPointer(start: other.firstStep, count: count))
    }

    func hasSameSteps(as other: RouteRecordPointer) -> Bool {
        header.pointee.stepBytes == other.header.pointee.stepBytes
            && shares(Int(header.pointee.stepBytes), with: other)
    }

    // MARK: Scheme

    var scheme: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: text.prefix(Int(header.pointee.schemeLength)))
    }

    func hasScheme(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        scheme.hasSameBytes(as: other)
            || scheme.elementsEqual(other) { RouteScheme.lowercased($0) == RouteScheme.lowercased($1) }
    }
}

/// One step of a path, in the bytes of a record: two of length, and what follows them.
///
/// A literal is its text, decoded, and in lower case where case makes no difference. What has the highest bit of the
/// length set is no literal: nothing for a plain placeholder, or a ``NonLiteralKey``.
struct PathStep {
    let start: UnsafePointer<UInt8>

    private static let otherBit: UInt16 = 0x8000

    @inline(__always) private var word: UInt16 {
        UInt16(littleEndian: UnsafeRawPointer(start).loadUnaligned(as: UInt16.self))
    }
    @inline(__always) var isLiteral: Bool { word & Self.otherBit == 0 }
    @inline(__always) var isPlaceholder: Bool { word == Self.otherBit }
    @inline(__always) var length: Int { Int(word & ~Self.otherBit) }
    @inline(__always) var content: UnsafePointer<UInt8> { start + 2 }
    /// The text of a literal; empty for another step.
    var literal: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: content, count: isLiteral ? length : 0)
    }
    @inline(__always) var next: PathStep { PathStep(start: start + byteCount) }

    /// One that is no literal.
    var key: NonLiteralKey { NonLiteralKey(UnsafeBufferPointer(start: content, count: length)) }

    /// The bytes of all of it.
    var byteCount: Int { 2 + (isLiteral ? Self.space(length) : length) }

    /// How many bytes a literal takes: a short one is followed by zeros, so that it is compared in one go.
    static func space(_ length: Int) -> Int { max(length, 8) }

    /// The step behind this one, if this is a literal and has the text of a component.
    @inline(__always)
    func behindLiteral(_ text: TextKey) -> PathStep? {
        guard Int(word) == text.length else { return nil }
        // By the length that is known already, so that the next step need not wait for this one.
        if text.length <= 8 {
            return ByteWord.load(content) == text.last ? PathStep(start: content + 8) : nil
        }
        return isLiteral && TextKey(content, count: text.length) == text
            ? PathStep(start: content + text.length) : nil
    }

    /// The hash of a path that goes on with it.
    func hash(behind path: UInt64, _ seed: TableSeed) -> UInt64 {
        if isPlaceholder { return seed.placeholder(behind: path) }
        return seed.literal(TextKey(content, count: length), behind: isLiteral ? path : ~path)
    }

    static func write(_ count: Int, isLiteral: Bool, to bytes: inout [UInt8]) {
        let word = UInt16(truncatingIfNeeded: count) | (isLiteral ? 0 : otherBit)
        bytes.append(UInt8(truncatingIfNeeded: word))
        bytes.append(UInt8(truncatingIfNeeded: word &>> 8))
    }
}
