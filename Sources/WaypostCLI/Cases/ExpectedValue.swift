import Waypost

/// Compares what was expected with what was found.
enum ExpectedValue {
    /// What differs, a sentence a place; an error is compared by the members that are expected of it.
    static func differences(_ expected: JSONValue, _ found: JSONValue, at place: String) -> [String] {
        switch (expected, found) {
        case (.object(let wanted), .object(let present)):
            let unexpected = place == "error" ? [] : Array(present.keys)
            return Set(wanted.keys).union(unexpected).sorted().flatMap { key -> [String] in
                switch (wanted[key], present[key]) {
                case (let wanted?, let present?): differences(wanted, present, at: "\(place).\(key)")
                case (let wanted?, nil): ["\(place).\(key): expected \(wanted.text), found nothing"]
                case (nil, let present?): ["\(place).\(key): expected nothing, found \(present.text)"]
                case (nil, nil): []
                }
            }
        case (.int(let number), .double(let other)), (.double(let other), .int(let number)):
            if Double(number) == other { return [] }
        default:
            if expected == found { return [] }
        }
        return ["\(place): expected \(expected.text), found \(found.text)"]
    }
}
