/// What became of a command or an open, for programs to act on: a code of the wire protocol, or one of the application.
///
///     extension Code {
///         static let noPaper = Code(application: 1001, "NO_PAPER")
///     }
public struct Code: Sendable, Hashable {
    /// The number, modelled on HTTP's where HTTP has one.
    public let number: Int
    /// The name; codes with one number differ in it.
    public let name: String
    /// The terminal status of a command that ends with this code; nil when it only stands in failure reports.
    package let status: Status?
    /// Whether nothing was begun, so that sending the same again does nothing twice.
    public var isRejection: Bool { status == .rejected }
    /// Whether sending the same again, under a new id, may help.
    public let isRetryable: Bool

    /// The status of a command: `accepted`, then exactly one of the others; a newer agent may have more.
    package struct Status: RawRepresentable, Sendable, Hashable, CaseIterable {
        /// The word on the wire.
        package let rawValue: String

        /// The status of that word, known here or not.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The command will take a while.
        package static let accepted = Status(rawValue: "accepted")
        /// It was done.
        package static let ok = Status(rawValue: "ok")
        /// It ran, and did not end well.
        package static let failed = Status(rawValue: "failed")
        /// It was refused before anything ran.
        package static let rejected = Status(rawValue: "rejected")
        /// Its time was over before it could start.
        package static let expired = Status(rawValue: "expired")
        /// Its sender canceled it.
        package static let canceled = Status(rawValue: "canceled")
        /// The agent ended while it ran, and it may not run twice.
        package static let interrupted = Status(rawValue: "interrupted")

        /// Those of this version of the protocol.
        package static let allCases: [Status] = [
            .accepted, .ok, .failed, .rejected, .expired, .canceled, .interrupted,
        ]
    }

    private init(_ number: Int, _ name: String, _ status: Status?, retry: Bool = false) {
        self.number = number
        self.name = name
        self.status = status
        isRetryable = retry
    }

    /// A code of the application, for its own ``Failure``s.
    ///
    /// - Parameters:
    ///   - number: From 1 000 to 9 999, where the protocol has none; anything else ends the program, as does a name that
    ///     is none.
    ///   - name: Up to 64 of `A` to `Z`, `0` to `9` and `_`.
    ///   - isRejection: Whether it says that nothing was begun.
    ///   - isRetryable: Whether sending the same again, under a new id, may help.
    public init(
        application number: Int, _ name: String, isRejection: Bool = false, isRetryable: Bool = false
    ) {
        precondition(Self.applicationNumbers.contains(number), "code \(number) is not in 1000...9999")
        precondition(Self.isName(name), "code \(number): \(name) is not a name like NO_PAPER")
        self.init(number, name, isRejection ? .rejected : .failed, retry: isRetryable)
    }

    /// The same for what came from outside: nil where that initializer would end the program; of what was not begun.
    init?(ofApplication number: Int64, _ name: String) {
        guard let number = Int(exactly: number), Self.applicationNumbers.contains(number), Self.isName(name)
        else {
            return nil
        }
        self.init(number, name, .rejected)
    }

    private static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "_")
            }
    }

    /// The numbers of codes of applications.
    package static let applicationNumbers = 1_000...9_999

    /// The code of that number and name; an ``unknown(number:name:)`` one when this version has none such.
    package init(number: Int, name: String) {
        self =
            Self.all.first { $0.number == number && $0.name == name } ?? .unknown(number: number, name: name)
    }

    /// A code of a newer version of the protocol: it is shown as it came, and is not retried.
    package static func unknown(number: Int, name: String) -> Code { Code(number, name, nil) }

    /// Done.
    public static let ok = Code(0, "OK", .ok)
    /// The payload is not JSON, or not within its limits.
    package static let badJSON = Code(400, "BAD_JSON", .rejected)
    /// A signature is required, and there is none.
    package static let unsigned = Code(401, "UNSIGNED", .rejected)
    /// The signatures do not hold.
    package static let badSignature = Code(401, "BAD_SIGNATURE", .rejected)
    /// Not among what may be opened or called.
    public static let notAllowed = Code(403, "NOT_ALLOWED", .rejected)
    /// Commands are never retained.
    package static let retainedCommand = Code(403, "RETAINED_COMMAND", .rejected)
    /// An interceptor or a hook stopped it.
    public static let intercepted = Code(403, "INTERCEPTED", .rejected)
    /// No route takes the URL.
    public static let noRoute = Code(404, "NO_ROUTE", .rejected)
    /// No service of that name is exposed.
    public static let noService = Code(404, "NO_SERVICE", .rejected)
    /// The service exposes no such method.
    public static let noMethod = Code(404, "NO_METHOD", .rejected)
    /// The program has nothing that shows screens, or it cannot move so.
    public static let noNavigator = Code(404, "NO_NAVIGATOR", .rejected)
    /// No command of that id waits or runs.
    package static let noCommand = Code(404, "NO_COMMAND", .rejected)
    /// There is no command of that type.
    package static let unknownType = Code(404, "UNKNOWN_TYPE", .rejected)
    /// The handler did not end in time.
    public static let deadline = Code(408, "DEADLINE", .failed, retry: true)
    /// The id was used before, for a different command.
    package static let idReused = Code(409, "ID_REUSED", .rejected)
    /// The map's revision is below one that was applied.
    package static let rollback = Code(409, "ROLLBACK", .rejected)
    /// The revision was applied before, with other bytes.
    package static let equivocation = Code(409, "EQUIVOCATION", .rejected)
    /// Its time was over before it could start.
    package static let expired = Code(410, "EXPIRED", .expired)
    /// The command is for other clients: its `when` does not hold here.
    public static let notMeant = Code(412, "NOT_MEANT", .rejected)
    /// Larger than its limit.
    public static let tooLarge = Code(413, "TOO_LARGE", .rejected)
    /// A field is missing, of the wrong type, or out of range.
    public static let badField = Code(422, "BAD_FIELD", .rejected)
    /// Redirects form a cycle.
    public static let cycle = Code(422, "CYCLE", .rejected)
    /// Redirects, or opens within opens, go too deep.
    public static let chain = Code(422, "CHAIN", .rejected)
    /// A map has entries of a kind that this version does not know.
    package static let unknownKind = Code(422, "UNKNOWN_KIND", .rejected)
    /// The sender's clock is too far ahead.
    package static let clockSkew = Code(425, "CLOCK_SKEW", .rejected, retry: true)
    /// More than may come or wait at one time.
    public static let busy = Code(429, "BUSY", .rejected, retry: true)
    /// The sender canceled it.
    public static let canceled = Code(499, "CANCELED", .canceled)
    /// The handler or method failed.
    public static let handlerFailed = Code(500, "HANDLER_FAILED", .failed)
    /// Nothing can be stored.
    package static let disk = Code(503, "DISK", .rejected, retry: true)
    /// The agent's clock can't be trusted now.
    package static let clock = Code(503, "CLOCK", .rejected, retry: true)
    /// The outbox is full.
    package static let outbox = Code(503, "OUTBOX", .rejected, retry: true)
    /// A feature module could not be set up.
    public static let module = Code(503, "MODULE", .rejected, retry: true)
    /// A map has switched it off.
    public static let switchedOff = Code(503, "SWITCHED_OFF", .rejected)
    /// The protocol's version is not supported.
    package static let version = Code(505, "VERSION", .rejected)
    /// The agent ended while it ran.
    package static let interrupted = Code(520, "INTERRUPTED", .interrupted)
    /// The broker refused the connection.
    package static let connectRefused = Code(530, "CONNECT_REFUSED", nil)
    /// The connection could not be secured.
    package static let tls = Code(531, "TLS", nil)
    /// The broker's rules seem to drop messages.
    package static let aclSuspected = Code(532, "ACL_SUSPECTED", nil)
    /// Another client has the same id.
    package static let clientIDConflict = Code(533, "CLIENT_ID_CONFLICT", nil)
    /// The broker has lost the session.
    package static let sessionLost = Code(534, "SESSION_LOST", nil)
    /// The broker refused a subscription.
    package static let subscriptionRefused = Code(535, "SUB_REFUSED", nil)
    /// Commands of a sender are missing.
    package static let sequenceGap = Code(536, "SEQ_GAP", nil)
    /// Reports or messages were dropped.
    package static let dropped = Code(537, "DROPPED", nil)
    /// The map in force is past its time.
    package static let mapExpired = Code(538, "MAP_EXPIRED", nil)
    /// The link's loop stood still.
    package static let loopStalled = Code(539, "LOOP_STALLED", nil)

    /// The agent went back to the map before a roll-out by itself.
    package static let rolloutGuard = Code(540, "ROLLOUT_GUARD", nil)

    /// Every code of the protocol.
    package static let all: [Code] = [
        .ok, .badJSON, .unsigned, .badSignature, .notAllowed, .retainedCommand, .intercepted, .noRoute,
        .noService, .noMethod, .noNavigator, .noCommand, .unknownType, .deadline, .idReused, .rollback,
        .equivocation,
        .expired, .notMeant,
        .tooLarge, .badField, .cycle, .chain, .unknownKind, .clockSkew, .busy, .canceled, .handlerFailed,
        .disk, .clock,
        .outbox, .module, .switchedOff, .version, .interrupted, .connectRefused, .tls, .aclSuspected,
        .clientIDConflict,
        .sessionLost, .subscriptionRefused, .sequenceGap, .dropped, .mapExpired, .loopStalled,
        .rolloutGuard,
    ]
}

extension Code: CustomStringConvertible {
    /// Number and name: `404 NO_ROUTE`.
    public var description: String { "\(number) \(name)" }
}
