internal import CPathScan

/// One component of a URL: where it lies there, as written, and its text as it is compared.
struct PathComponent: BitwiseCopyable {
    let start: UInt32
    let length: UInt32
    var text: TextKey
}

/// A URL, split into components.
struct SplitURL: BitwiseCopyable {
    /// What the components lie in: the URL, or a decoded copy.
    private(set) var text: UnsafePointer<UInt8>
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
        (self.text, components, end) = (text, target, target)
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
            let marks = waypost_scan_path(text, index, readable)
            if marks.percents != 0, index &+ marks.percents.trailingZeroBitCount < pathEnd {
                isEncoded = true
            }
            var slashes = marks.slashes
            while slashes != 0 {
                let mark = index &+ slashes.trailingZeroBitCount
                if mark >= pathEnd { break }
                slashes &= slashes &- 1
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
        self.end.pointee = PathComponent(
            start: UInt32(truncatingIfNeeded: start), length: UInt32(truncatingIfNeeded: end &- start),
            text: TextKey(text, from: start, to: end))
        self.end += 1
    }

    /// Decodes the components into `space`, each at its own place.
    ///
    /// With `lower` the text to compare is written there, at the same places and in lower case.
    mutating func decode(into space: UnsafeMutablePointer<UInt8>, lower: UnsafeMutablePointer<UInt8>?) {
        var component = components
        while component < end {
            let start = Int(component.pointee.start)
            let raw = UnsafeBufferPointer(start: text + start, count: Int(component.pointee.length))
            let length = PercentCoding.decode(raw, into: space + start)
            if let lower {
                for index in start..<start &+ length { lower[index] = RouteScheme.lowercased(space[index]) }
            }
            component.pointee.text = TextKey(lower ?? space, from: start, to: start &+ length)
            component += 1
        }
        text = UnsafePointer(space)
    }
}
