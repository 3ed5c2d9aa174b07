/// A code of the wire protocol: what became of a command or what failed, for programs to act on.
package struct Code: Sendable, Hashable {
    /// The number, modelled on HTTP's where HTTP has one.
    package let number: Int
    /// The name that tells codes of one number apart.
    package let name: String
    /// The terminal status of a command that ends with this code; nil when it only stands in failure reports.
    package let status: Status?
    /// Whether sending the same again, under a new id, may help.
    package let isRetryable: Bool

    /// The status of a command: `accepted`, then exactly one of the others.
    package enum Status: String, Sendable, Hashable, CaseIterable {
        case accepted, ok, failed, rejected, expired, canceled, interrupted
    }

    private init(_ number: Int, _ name: String, _ status: Status?, retry: Bool = false) {
        self.number = number
        self.name = name
        self.status = status
        isRetryable = retry
    }

    package static let ok = Code(0, "OK", .ok)
    package static let badJSON = Code(400, "BAD_JSON", .rejected)
    package static let unsigned = Code(401, "UNSIGNED", .rejected)
    package static let badSignature = Code(401, "BAD_SIGNATURE", .rejected)
    package static let notAllowed = Code(403, "NOT_ALLOWED", .rejected)
    package static let retainedCommand = Code(403, "RETAINED_COMMAND", .rejected)
    package static let intercepted = Code(403, "INTERCEPTED", .rejected)
    package static let noRoute = Code(404, "NO_ROUTE", .rejected)
    package static let noService = Code(404, "NO_SERVICE", .rejected)
    package static let noMethod = Code(404, "NO_METHOD", .rejected)
    package static let unknownType = Code(404, "UNKNOWN_TYPE", .rejected)
    package static let deadline = Code(408, "DEADLINE", .failed, retry: true)
    package static let idReused = Code(409, "ID_REUSED", .rejected)
    package static let rollback = Code(409, "ROLLBACK", .rejected)
    package static let equivocation = Code(409, "EQUIVOCATION", .rejected)
    package static let expired = Code(410, "EXPIRED", .expired)
    package static let tooLarge = Code(413, "TOO_LARGE", .rejected)
    package static let badField = Code(422, "BAD_FIELD", .rejected)
    package static let cycle = Code(422, "CYCLE", .rejected)
    package static let chain = Code(422, "CHAIN", .rejected)
    package static let clockSkew = Code(425, "CLOCK_SKEW", .rejected, retry: true)
    package static let busy = Code(429, "BUSY", .rejected, retry: true)
    package static let canceled = Code(499, "CANCELED", .canceled)
    package static let handlerFailed = Code(500, "HANDLER_FAILED", .failed)
    package static let disk = Code(503, "DISK", .rejected, retry: true)
    package static let clock = Code(503, "CLOCK", .rejected, retry: true)
    package static let outbox = Code(503, "OUTBOX", .rejected, retry: true)
    package static let version = Code(505, "VERSION", .rejected)
    package static let interrupted = Code(520, "INTERRUPTED", .interrupted)
    package static let connectRefused = Code(530, "CONNECT_REFUSED", nil)
    package static let tls = Code(531, "TLS", nil)
    package static let aclSuspected = Code(532, "ACL_SUSPECTED", nil)
    package static let clientIDConflict = Code(533, "CLIENT_ID_CONFLICT", nil)
    package static let sessionLost = Code(534, "SESSION_LOST", nil)
    package static let subscriptionRefused = Code(535, "SUB_REFUSED", nil)
    package static let sequenceGap = Code(536, "SEQ_GAP", nil)
    package static let dropped = Code(537, "DROPPED", nil)
    package static let mapExpired = Code(538, "MAP_EXPIRED", nil)
    package static let loopStalled = Code(539, "LOOP_STALLED", nil)

    /// Every code of the protocol.
    package static let all: [Code] = [
        .ok, .badJSON, .unsigned, .badSignature, .notAllowed, .retainedCommand, .intercepted, .noRoute,
        .noService, .noMethod, .unknownType, .deadline, .idReused, .rollback, .equivocation, .expired,
        .tooLarge, .badField, .cycle, .chain, .clockSkew, .busy, .canceled, .handlerFailed, .disk, .clock,
        .outbox, .version, .interrupted, .connectRefused, .tls, .aclSuspected, .clientIDConflict,
        .sessionLost, .subscriptionRefused, .sequenceGap, .dropped, .mapExpired, .loopStalled,
    ]

    /// The code of that number and name, such as the router's outcomes carry them.
    package init?(number: Int, name: String) {
        guard let code = Self.all.first(where: { $0.number == number && $0.name == name }) else { return nil }
        self = code
    }
}
