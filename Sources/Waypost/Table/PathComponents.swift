internal import CPathScan

/// One component of a URL: where it lies in the text that is compared, and how long it is there and in the URL.
struct PathComponent: BitwiseCopyable {
    var start: UInt32
    /// As written.
    var length: UInt32
    /// Decoded, in the text that is compared.
    var textLength: UInt32
    // The two words of the text, as in ``ByteWords``.
    var first: UInt64
    var last: UInt64

    /// The words of the text.
    @inline(__always)
    func words(in text: UnsafePointer<UInt8>) -> ByteWords {
        ByteWords(first: first, last: last, start: text + Int(start), length: Int(textLength))
    }
}

/// A URL, split into components.
struct SplitURL: BitwiseCopyable {
    /// What the components' texts lie in.
    private(set) var text: UnsafePointer<UInt8>
    /// The same with the case that it has in the URL, which is what placeholders take.
    private(set) var given: UnsafePointer<UInt8>
    /// The components, and what lies behind the last one.
    let components: UnsafeMutablePointer<PathComponent>
    private(set) var end: UnsafeMutablePointer<PathComponent>
    /// As written; empty without one.
    let scheme: UnsafeBufferPointer<UInt8>
    let pathEnd: UInt32
    /// Whether a `%` is in a component, so that they must be decoded to be compared.
    private(set) var isEncoded: Bool

    /// Splits host and path of a URL, until `limit` is reached, before which there is space for one component at least.
    ///
    /// `readable` is how many bytes of `text` may be read: sixteen at least.
    @inline(__always)
    init(
        _ text: UnsafePointer<UInt8>, readable: Int, _ parts: RouteURLParts,
        into target: UnsafeMutablePointer<PathComponent>, limit: UnsafeMutablePointer<PathComponent>
    ) {
        (self.text, given, components, end) = (text, text, target, target)
        scheme = UnsafeBufferPointer(start: text + Int(parts.start), count: Int(parts.schemeLength))
        pathEnd = parts.pathEnd
        isEncoded = parts.isEncoded
        if parts.hostStart < parts.hostEnd {
            add(Int(parts.hostStart), Int(parts.hostEnd))
            // The host alone may be all that a table of fallbacks needs.
            if end == limit { return }
        }
        var index = Int(parts.pathStart)
        let pathEnd = Int(parts.pathEnd)
        // Most paths begin with one.
        if index < pathEnd, text[index] == UInt8(ascii: "/") { index &+= 1 }
        var start = index
        while index < pathEnd {
            var found = waypost_scan_path(text, index, readable)
            while found != 0 {
                let mark = index &+ found.trailingZeroBitCount
                if mark >= pathEnd { break }
                found &= found &- 1
                if text[mark] != UInt8(ascii: "/") {
                    isEncoded = true
                    continue
                }
                if mark > start {
                    add(start, mark)
                    if end == limit { return }
                }
                start = mark &+ 1
            }
            index &+= 16
        }
        if pathEnd > start { add(start, pathEnd) }
    }

    @inline(__always)
    private mutating func add(_ start: Int, _ end: Int) {
        let words = ByteWords(text, from: start, to: end)
        let length = UInt32(truncatingIfNeeded: end &- start)
        self.end.pointee = PathComponent(
            start: UInt32(truncatingIfNeeded: start), length: length, textLength: length, first: words.first,
            last: words.last)
        self.end += 1
    }

    /// Decodes the components into `space`, each at its own place.
    ///
    /// With `lower` the text to compare is written there, at the same places and in lower case.
    mutating func decode(into space: UnsafeMutablePointer<UInt8>, lower: UnsafeMutablePointer<UInt8>?) {
        var component = components
        while component < end {
            let start = Int(component.pointee.start)
            let raw = UnsafeBufferPointer(start: given + start, count: Int(component.pointee.length))
            let length = PercentCoding.decode(raw, into: space + start)
            if let lower {
                for index in start..<start &+ length { lower[index] = RouteScheme.lowercased(space[index]) }
            }
            let words = ByteWords(lower ?? space, from: start, to: start &+ length)
            component.pointee.textLength = UInt32(truncatingIfNeeded: length)
            component.pointee.first = words.first
            component.pointee.last = words.last
            component += 1
        }
        text = UnsafePointer(lower ?? space)
        given = UnsafePointer(space)
    }
}
