/// Where the parts of a URL lie in its bytes: all that parsing produces.
///
/// Offsets count from the first byte of the text as given. `host` and `path` touch unless a port stands between them.
struct RouteURLParts: Sendable {
    /// The text without the white space around it.
    var start: UInt32 = 0
    var end: UInt32 = 0
    /// The scheme runs from `start`; 0 when there is none.
    var schemeLength: UInt32 = 0
    /// The host without user info and port; empty when there is no scheme, for then the path has it.
    var hostStart: UInt32 = 0
    var hostEnd: UInt32 = 0
    var pathStart: UInt32 = 0
    var pathEnd: UInt32 = 0
    /// The first byte after `?`, or `end` of the query when there is none.
    var queryStart: UInt32 = 0
    var queryEnd: UInt32 = 0
    /// The first byte after `#`; nil is `UInt32.max`.
    var fragmentStart: UInt32 = .max
    /// Whether the scheme stands there without `//`, as in `tel:112`.
    var isWithoutAuthority = false
    /// Whether host or path hold a `%`, and so must be decoded to be compared.
    var isEncoded = false
    /// Whether the host is a name that has no case, and is written with capitals.
    var hasCapitalsInHost = false

    /// Whether anything stands between `?` and `#`.
    var hasQuery: Bool { queryStart < queryEnd }

    /// The bytes of the URL, with the host in lower case.
    func lowercasingHost(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var bytes = Array(bytes)
        for index in Int(hostStart)..<Int(hostEnd) { bytes[index] = RouteScheme.lowercased(bytes[index]) }
        return bytes
    }

    /// Moves every offset down by `count` bytes, after the white space in front was cut off.
    mutating func shift(by count: UInt32) {
        guard count > 0 else { return }
        start &-= count
        end &-= count
        hostStart &-= count
        hostEnd &-= count
        pathStart &-= count
        pathEnd &-= count
        queryStart &-= count
        queryEnd &-= count
        if fragmentStart != .max { fragmentStart &-= count }
    }
}
