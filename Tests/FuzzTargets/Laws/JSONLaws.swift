import Waypost

/// JSON texts, and what is written of them.
enum JSONLaws: Laws {
    static func read(_ bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes, limits: wide) else { return }
        _ = json.serialized()
    }

    /// Wider than the protocol's, so that what stands behind a limit is read too.
    static let wide = JSONLimits(maximumBytes: 1 << 20, maximumKeys: 1 << 20, maximumStringBytes: 1 << 20)

    static func check(_ bytes: [UInt8]) throws(BrokenLaw) {
        let json: JSONValue
        let strict = try? JSONValue(parsing: bytes)
        do throws(JSONError) {
            json = try JSONValue(parsing: bytes, limits: .trustedFile)
        } catch {
            try BrokenLaw.unless(0...bytes.count ~= error.offset, "an error is at a byte of the text")
            return try BrokenLaw.unless(strict == nil, "what is within the limits is read without them")
        }
        try BrokenLaw.unless(strict == nil || strict == json, "limits do not change what is read")
        let written = json.serialized()
        let again = try? JSONValue(parsing: written, limits: .trustedFile)
        try BrokenLaw.unless(again == json, "what is written is read as it was")
        try BrokenLaw.unless(again?.serialized() == written, "equal values are written alike")
        try BrokenLaw.unless(
            (try? JSONValue(parsing: json.prettyText, limits: .trustedFile)) == json,
            "what is written for people is read as it was")
    }
}
