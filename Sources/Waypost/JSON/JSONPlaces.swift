/// Where the values of a JSON text stand, for findings that name a line.
///
/// The text was read before: only strings and brackets are looked at, from the place that is asked for.
package struct JSONPlaces: Sendable {
    /// The text.
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Where the whole value begins, in bytes from the start, as all places here.
    package var root: Int { skipSpace(0) }

    /// Where the elements of the array at a place begin; none when there is no array.
    package func elements(of place: Int) -> [Int] {
        var places: [Int] = []
        eachItem(of: place, in: UInt8(ascii: "[")) { start in
            places.append(start)
            return end(of: start)
        }
        return places
    }

    /// Where the value of a member of the object at a place begins; nil when there is no such member.
    package func member(_ name: String, of place: Int) -> Int? {
        var found: Int?
        eachItem(of: place, in: UInt8(ascii: "{")) { start in
            let keyEnd = end(of: start)
            let value = skipSpace(skipSpace(keyEnd) + 1)
            let key = try? JSONValue(parsing: bytes[min(start, keyEnd)..<keyEnd], limits: .trustedFile)
            if key?.stringValue == name { found = value }
            return end(of: value)
        }
        return found
    }

    /// - Parameter body: Gets where each item begins, and returns where it ends.
    private func eachItem(of place: Int, in bracket: UInt8, _ body: (Int) -> Int) {
        guard byte(place) == bracket else { return }
        var at = skipSpace(place + 1)
        while let first = byte(at), first != UInt8(ascii: "]"), first != UInt8(ascii: "}") {
            at = skipSpace(body(at))
            guard byte(at) == UInt8(ascii: ",") else { return }
            at = skipSpace(at + 1)
        }
    }

    /// Where the value ends that begins at a place.
    private func end(of place: Int) -> Int {
        var at = place
        var depth = 0
        repeat {
            switch byte(at) {
            case nil: return bytes.count
            case UInt8(ascii: "\""): at = endOfString(at)
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                at += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                at += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: " "), UInt8(ascii: "\n"),
                UInt8(ascii: "\r"), UInt8(ascii: "\t"):
                at += 1
            default: at = endOfWord(at)
            }
        } while depth > 0
        return at
    }

    private func endOfString(_ place: Int) -> Int {
        var at = place + 1
        while let byte = byte(at), byte != UInt8(ascii: "\"") { at += byte == UInt8(ascii: "\\") ? 2 : 1 }
        return min(at + 1, bytes.count)
    }

    /// The end of a number, `true`, `false` or `null`.
    private func endOfWord(_ place: Int) -> Int {
        let marks = Set(",]} \t\r\n".utf8)
        return bytes[place...].firstIndex(where: marks.contains) ?? bytes.count
    }

    private func skipSpace(_ place: Int) -> Int {
        var at = place
        while let byte = byte(at), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
        return at
    }

    private func byte(_ place: Int) -> UInt8? { bytes.indices.contains(place) ? bytes[place] : nil }
}
