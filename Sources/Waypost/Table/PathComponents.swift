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

/// What of a URL is searched for.
struct URLText {
    var text: UnsafePointer<UInt8>
    /// How many bytes may be read from `text`.
    var limit: Int
    /// Where the scheme begins.
    var start = 0
    var schemeLength = 0
    /// What lies before the path and does not touch it, because of a port.
    var host = 0..<0
    var path: Range<Int>
    /// Where the slashes among the first 64 bytes are; all ones when that is not known.
    var slashes: UInt64 = .max
    /// Whether it is known that host or path hold a `%`.
    var isEncoded = false

    @inline(__always)
    init(path text: UnsafePointer<UInt8>, count: Int) {
        self.text = text
        limit = count
        path = 0..<count
    }

    @inline(__always)
    init(_ text: UnsafePointer<UInt8>, limit: Int, _ parts: RouteURLParts) {
        self.text = text
        self.limit = limit
        start = Int(parts.start)
        schemeLength = Int(parts.schemeLength)
        path = Int(parts.hostStart)..<Int(parts.pathEnd)
        if parts.hostEnd != parts.pathStart {
            host = Int(parts.hostStart)..<Int(parts.hostEnd)
            path = Int(parts.pathStart)..<Int(parts.pathEnd)
        }
        slashes = parts.slashes
        isEncoded = parts.isEncoded
    }

    /// Copies fewer than sixteen bytes into a space of sixteen: as many must be there to be read.
    @inline(__always)
    mutating func move(to copy: UnsafeMutableRawBufferPointer) {
        guard limit < 16, let start = copy.baseAddress else { return }
        let words = SIMD2(ByteWord.load(text, at: 0, limit: limit), ByteWord.load(text, at: 8, limit: limit))
        start.storeBytes(of: words, as: SIMD2<UInt64>.self)
        text = UnsafePointer(start.assumingMemoryBound(to: UInt8.self))
        limit = 16
    }
}

/// Splits a URL into components.
struct PathSplitter {
    /// What the components' texts lie in.
    let text: UnsafePointer<UInt8>
    /// Where to stop: one behind the components of the deepest pattern.
    let limit: UnsafeMutablePointer<PathComponent>
    /// What lies behind the components that were found.
    private(set) var next: UnsafeMutablePointer<PathComponent>

    @inline(__always)
    init(text: UnsafePointer<UInt8>, target: UnsafeMutablePointer<PathComponent>, capacity: Int) {
        self.text = text
        limit = target + capacity
        next = target
    }

    /// Splits text in which nothing is encoded, and says whether a `%` was among it all the same.
    @inline(__always)
    mutating func split(_ url: URLText) -> Bool {
        if !url.host.isEmpty {
            if split(url, from: url.host.lowerBound, to: url.host.upperBound) { return true }
            // The host alone may be all that a table of fallbacks needs.
            if next == limit { return false }
        }
        return split(url, from: url.path.lowerBound, to: url.path.upperBound)
    }

    @inline(__always)
    private mutating func split(_ url: URLText, from start: Int, to end: Int) -> Bool {
        var index = start
        // Most paths begin with one.
        if start < end, url.text[start] == UInt8(ascii: "/") { index &+= 1 }
        var componentStart = index
        while index < end {
            var found: UInt64
            let width: Int
            if url.slashes != .max, index < 64 {
                found = url.slashes &>> UInt64(truncatingIfNeeded: index)
                width = 64 &- index
            } else {
                found = UInt64(waypost_scan_path(url.text, index, url.limit))
                width = 16
            }
            while found != 0 {
                let mark = index &+ found.trailingZeroBitCount
                if mark >= end { break }
                found &= found &- 1
                if url.text[mark] != UInt8(ascii: "/") { return true }
                if mark > componentStart {
                    emit(componentStart, mark &- componentStart)
                    if next == limit { return false }
                }
                componentStart = mark &+ 1
            }
            index &+= width
        }
        if end > componentStart { emit(componentStart, end &- componentStart) }
        return false
    }

    @inline(__always)
    private mutating func emit(_ start: Int, _ length: Int, decoded: Int? = nil) {
        let textLength = decoded ?? length
        let words = ByteWords(text, from: start, to: start &+ textLength)
        next.pointee = PathComponent(
            start: UInt32(truncatingIfNeeded: start), length: UInt32(truncatingIfNeeded: length),
            textLength: UInt32(truncatingIfNeeded: textLength), first: words.first, last: words.last)
        next += 1
    }

    /// Splits text that may have a `%` in it: every component of `source` is decoded into `scratch`, at its own place.
    ///
    /// With `lower` the text to compare is written there, at the same places and in lower case.
    mutating func splitEncoded(
        _ source: UnsafePointer<UInt8>, _ part: Range<Int>, scratch: UnsafeMutablePointer<UInt8>,
        lower: UnsafeMutablePointer<UInt8>?
    ) {
        var start = part.lowerBound
        while start < part.upperBound, next < limit {
            var end = start
            while end < part.upperBound, source[end] != UInt8(ascii: "/") { end &+= 1 }
            if end > start {
                let raw = UnsafeBufferPointer(start: source + start, count: end &- start)
                let decoded = PercentCoding.decode(raw, into: scratch + start)
                if let lower {
                    for index in start..<start &+ decoded {
                        lower[index] = RouteScheme.lowercased(scratch[index])
                    }
                }
                emit(start, end &- start, decoded: decoded)
            }
            start = end &+ 1
        }
    }
}
