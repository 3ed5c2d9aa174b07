import Waypost
import WaypostBackend
import WaypostMessages

/// Why a request gets no answer; the page shows the text.
enum ViewError: Error {
    /// The request makes no sense.
    case invalid(String)
    /// There is no such agent, line, or page.
    case notFound(String)
    /// The console was started for reading only, or the confirmation does not fit.
    case forbidden(String)
    /// It was ended, since it took too long.
    case tooLong(String)
    /// The agent or the broker did not do it.
    case backend(BackendError)

    init(_ error: any Error) {
        switch error {
        case let error as ViewError: self = error
        case let error as BackendError: self = .backend(error)
        default: self = .backend(BackendError(.noReply, "the request was cancelled: \(error.words)"))
        }
    }

    /// The status of HTTP.
    var status: Int {
        switch self {
        case .invalid: 400
        case .notFound: 404
        case .forbidden: 403
        case .tooLong: 422
        case .backend(let error):
            switch error.kind {
            case .invalid, .notSent: 400
            case .unknownReceiver: 404
            case .denied: 403
            case .refused, .unreadable: 422
            case .noReply: 504
            case .noBroker: 503
            }
        }
    }

    var json: JSONValue {
        let (code, message, detail): (String, String, JSONValue) =
            switch self {
            case .invalid(let text): ("INVALID", text, .null)
            case .notFound(let text): ("NOT_FOUND", text, .null)
            case .forbidden(let text): ("FORBIDDEN", text, .null)
            case .tooLong(let text): ("TOO_LONG", text, .null)
            case .backend(let error):
                (
                    error.code?.name ?? error.kind.rawValue, error.wording.shell,
                    [
                        "code": .init(error.code.map { Int64($0.number) }),
                        "nearest": .array(error.nearest.map(JSONValue.string)),
                        "silent": .array(error.silent.map { .string($0.name) }),
                    ]
                )
            }
        return ["error": ["code": .string(code), "message": .string(message), "detail": detail]]
    }
}

/// The parameters of a request's URL.
struct QueryItems: Sendable {
    private let items: [String: String]

    init(_ items: [String: String]) { self.items = items }

    /// Reads a query as a browser writes it: a plus is a space.
    init(query: String) {
        var items: [String: String] = [:]
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false
            )
            .map { PercentCoding.decode(String(Substring($0)).escaping { $0 == "+" ? " " : nil }) }
            if let name = parts.first { items[name] = parts.count > 1 ? parts[1] : "" }
        }
        self.items = items
    }

    /// Nil for one that is absent or empty.
    subscript(name: String) -> String? {
        items[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    func number(_ name: String, in range: ClosedRange<Int>) throws(ViewError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .invalid("\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func number(_ name: String) throws(ViewError) -> Int64? {
        guard let text = self[name] else { return nil }
        guard let number = Int64(text), (0...Fields.largestInteger).contains(number) else {
            throw .invalid("\(name) must be a number from 0 to \(Fields.largestInteger)")
        }
        return number
    }
}
