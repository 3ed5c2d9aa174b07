internal import CPathScan

/// One component of a URL: where it lies in the text that is compared, and how long it is there and in the URL.
struct PathComponent: BitwiseCopyable {
    var start: UInt32
    /// As written.
    var length: UInt32
    /// Decoded, in the text that is compared.
    var textLength: UInt32

    /// The words of the text.
    @inline(__always)
    func words(in text: UnsafePointer<UInt8>) -> ByteWords {
        let start = Int(start)
        return ByteWords(text, from: start, to: start &+ Int(textLength))
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
    let target: UnsafeMutablePointer<PathComponent>
    /// The most components that are worth finding: one more than the deepest pattern has.
    let capacity: Int
    private(set) var count = 0

    @inline(__always)
    init(target: UnsafeMutablePointer<PathComponent>, capacity: Int) {
        self.target = target
        self.capacity = capacity
    }

    /// Splits text in which nothing is encoded, and says whether a `%` was among it all the same.
    @inline(__always)
    mutating func split(_ url: URLText) -> Bool {
        var isEncoded = false
        if !url.host.isEmpty { isEncoded = split(url, from: url.host.lowerBound, to: url.host.upperBound) }
        // The host alone may be all that a table of fallbacks needs.
        if count == capacity { return isEncoded }
        return split(url, from: url.path.lowerBound, to: url.path.upperBound) || isEncoded
    }

    @inline(__always)
    private mutating func split(_ url: URLText, from start: Int, to end: Int) -> Bool {
        var window = start & ~63
        var componentStart = start
        var percents: UInt64 = 0
        while window < end {
            let marks =
                if window == 0, url.slashes != .max {
                    waypost_marks(slashes: url.slashes, others: 0)
                } else {
                    waypost_scan_path(url.text, window, end, url.limit)
                }
            var inside: UInt64 = .max
            if start > window { inside &<<= UInt64(truncatingIfNeeded: start &- window) }
            if end &- window < 64 { inside &= (1 &<< UInt64(truncatingIfNeeded: end &- window)) &- 1 }
            percents |= marks.others & inside
            var found = marks.slashes & inside
            while found != 0 {
                let slash = window &+ found.trailingZeroBitCount
                found &= found &- 1
                if slash > componentStart {
                    emit(componentStart, slash &- componentStart)
                    if count == capacity { return percents != 0 }
                }
                componentStart = slash &+ 1
            }
            window &+= 64
        }
        if end > componentStart { emit(componentStart, end &- componentStart) }
        return percents != 0
    }

    @inline(__always)
    private mutating func emit(_ start: Int, _ length: Int, text: Int? = nil) {
        target[count] = PathComponent(
            start: UInt32(truncatingIfNeeded: start), length: UInt32(truncatingIfNeeded: length),
            textLength: UInt32(truncatingIfNeeded: text ?? length))
        count &+= 1
    }

    /// Splits text that may have a `%` in it: every component is decoded into `scratch`, at its own place.
    ///
    /// With `lower` the text to compare is written there, at the same places and in lower case.
    mutating func splitEncoded(
        _ url: URLText, scratch: UnsafeMutablePointer<UInt8>, lower: UnsafeMutablePointer<UInt8>?
    ) {
        for part in [url.host, url.path] {
            var start = part.lowerBound
            while start < part.upperBound, count < capacity {
                var next = start
                while next < part.upperBound, url.text[next] != UInt8(ascii: "/") { next &+= 1 }
                if next > start {
                    let raw = UnsafeBufferPointer(start: url.text + start, count: next &- start)
                    let decoded = PercentCoding.decode(raw, into: scratch + start)
                    if let lower {
                        for index in start..<start &+ decoded {
                            lower[index] = RouteScheme.lowercased(scratch[index])
                        }
                    }
                    emit(start, next &- start, text: decoded)
                }
                start = next &+ 1
            }
        }
    }
}
