package import Waypost

/// A relocation document as a check reads it: to its end, also when something in it is refused.
package struct MapReading: Sendable {
    /// Why an agent refuses the document, for what stands beside its entries.
    package struct Refusal: Sendable {
        /// The member that it is about.
        package let member: String
        package let rejection: Failure
    }

    /// Where the entries stand.
    package enum Form: Sendable {
        /// The document is the array of entries.
        case array
        /// It is one entry.
        case entry
        /// They are a member of it.
        case member
    }

    package let form: Form
    package private(set) var refusals: [Refusal] = []
    /// The entries, as they came.
    package let entries: JSONValue

    /// Reads a document, whichever topic it is for.
    package init(_ json: JSONValue) {
        let isMap = MapDocument.isMap(json)
        let isEnveloped = isMap || MapDocument.isEnvelopedPatch(json)
        form = isEnveloped ? .member : json.arrayValue == nil ? .entry : .array
        var entries = json
        if isEnveloped {
            let fields = Fields(of: json)
            var document = MapDocument(entries: [])
            for member in MapDocument.Member.allCases {
                do throws(Failure) {
                    try document.read(member, of: fields, type: isMap ? "map" : "patch")
                } catch {
                    refusals.append(Refusal(member: member.rawValue, rejection: error))
                }
            }
            if fields["entries"] == nil {
                let missing = Failure(.badField, "entries is missing")
                refusals.append(Refusal(member: "entries", rejection: missing))
            }
            entries = fields["entries"] ?? []
        }
        self.entries = entries
    }
}
