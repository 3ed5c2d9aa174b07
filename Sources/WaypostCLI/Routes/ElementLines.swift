/// The lines on which the elements of a list of routes begin, so that a finding can say where to look.
///
/// The list is the whole text, or the `routes` of an object. The text was read before: only strings and brackets are
/// looked at.
struct ElementLines {
    private var lines: [Int] = []
    private var line = 1
    private var depth = 0
    /// The depth inside of the list; nil outside.
    private var listDepth: Int?
    private var expectsElement = false
    private var key: ArraySlice<UInt8> = []

    /// From 1, in order; empty when there is no such list.
    static func find(in json: [UInt8]) -> [Int] {
        var search = ElementLines()
        search.read(json)
        return search.lines
    }

    private mutating func read(_ json: [UInt8]) {
        var at = 0
        while at < json.count {
            let byte = json[at]
            switch byte {
            case UInt8(ascii: "\n"): line += 1
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
            case UInt8(ascii: ","): expectsElement = depth == listDepth
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                if depth == listDepth { return }
                depth -= 1
            default:
                if expectsElement { lines.append(line) }
                expectsElement = false
                if byte == UInt8(ascii: "\"") {
                    let start = at + 1
                    at = Self.end(ofString: start, in: json)
                    if depth == 1 { key = json[start..<at] }
                } else if byte == UInt8(ascii: "[") || byte == UInt8(ascii: "{") {
                    open(byte)
                }
            }
            at += 1
        }
    }

    private mutating func open(_ byte: UInt8) {
        let isList =
            byte == UInt8(ascii: "[") && listDepth == nil
            && (depth == 0 || depth == 1 && key.elementsEqual("routes".utf8))
        depth += 1
        guard isList else { return }
        listDepth = depth
        expectsElement = true
    }

    private static func end(ofString start: Int, in json: [UInt8]) -> Int {
        var at = start
        while at < json.count, json[at] != UInt8(ascii: "\"") { at += json[at] == UInt8(ascii: "\\") ? 2 : 1 }
        return min(at, json.count)
    }
}
