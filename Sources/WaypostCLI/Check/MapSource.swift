import Waypost
import WaypostMessages
import WaypostTools

/// A relocation document as a file that a check reads to its end, and where its entries stand.
struct MapSource {
    /// The document as a layer of that name: the file as it was given.
    let map: CheckedMap
    /// What an agent refuses in the document besides its entries.
    private(set) var findings: [CheckFinding] = []
    /// How many entries it has, also when they are too many; nil when it is no JSON.
    private(set) var count: Int?
    private let file: FilePlace
    private let source: JSONFile?
    /// Where the document begins, and its entries; none in an envelope, where they are in base64.
    private var root: Int?
    private var elements: [Int] = []

    /// Reads the bytes of a file.
    ///
    /// - Parameters:
    ///   - path: The file as it was given; `-` is standard input.
    ///   - maximumBytes: The longest document that an agent takes.
    init(_ bytes: [UInt8], of path: String, maximumBytes: Int) {
        file = FilePlace(file: FilePlace.name(path))
        do throws(JSONFile.Fault) {
            source = try JSONFile(bytes, of: path)
        } catch {
            source = nil
            map = CheckedMap(name: path, entries: [], maximum: 0)
            refuse("the file is not JSON: \(error.detail)", .badJSON, at: error.place)
            return
        }
        let json = source?.json ?? .null
        let document: JSONValue
        do throws(Failure) {
            document = try MapFile.document(json)
        } catch {
            map = CheckedMap(name: path, entries: [], maximum: 0)
            refuse(error.detail, error.code, at: file)
            return
        }
        let reading = MapReading(document)
        map = CheckedMap(name: path, entries: reading.entries, maximum: MapDocument.maximumEntries)
        count = reading.form == .entry ? 1 : (document["entries"] ?? document).arrayValue?.count ?? 0
        if !SignedEnvelope.isOne(json), let values = source?.values {
            root = values.root
            elements =
                switch reading.form {
                case .entry: [values.root]
                case .array: values.elements(of: values.root)
                case .member:
                    values.member("entries", of: values.root).map(values.elements) ?? []
                }
        }
        checkLimits(bytes, maximumBytes)
        for refusal in reading.refusals {
            refuse(
                refusal.rejection.detail, refusal.rejection.code,
                at: place(of: .map(layer: path, field: refusal.member)))
        }
    }

    /// What every agent refuses before it reads the entries, unless it is configured otherwise.
    private mutating func checkLimits(_ bytes: [UInt8], _ maximum: Int) {
        if bytes.count > maximum {
            refuse(
                "the document has \(bytes.count) bytes; an agent accepts \(maximum) unless it is set up for more",
                .tooLarge, at: file)
        }
        guard root != nil else { return }
        do throws(JSONError) {
            _ = try JSONValue(parsing: bytes, limits: JSONLimits(maximumBytes: .max))
        } catch {
            refuse(error.textWithoutPlace, error.rejection.code, at: source?.place(error.offset) ?? file)
        }
    }

    private mutating func refuse(_ detail: String, _ code: Code, at place: FilePlace) {
        let finding = CheckReport.Finding(kind: .refused, subject: file.file, detail: detail, code: code)
        findings.append(CheckFinding(finding, at: place))
    }

    /// Where a finding about this document is.
    func place(of place: CheckReport.Finding.Place) -> FilePlace {
        guard let source, let root else { return file }
        let (value, field): (Int, String?) =
            switch place {
            case .entry(_, let index, let field):
                (elements.indices.contains(index) ? elements[index] : root, field)
            case .map(_, let field): (root, field)
            case .route: (root, nil)
            }
        // An origin may have either spelling.
        let names = field == "orginPath" ? ["orginPath", "originPath"] : [field].compactMap(\.self)
        return source.place(names.lazy.compactMap { source.values.member($0, of: value) }.first ?? value)
    }
}
