import Foundation
import Testing

@testable import MQTTLink
@testable import Waypost
@testable import WaypostAgent
@testable import WaypostBackend
@testable import WaypostCLI
@testable import WaypostMessages
@testable import WaypostTools

/// Every type of error, found in the sources, printed: a person reads no value of the language, and a program that uses
/// a library reads of no option of the command line.
@Suite struct `Texts of errors` {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources").standardizedFileURL

    /// Those that no one prints, since they never leave the file or the function that throws them, or their reader makes
    /// a sentence of them; named by their files.
    private static let unseen: Set<String> = [
        "CommandExecutor StepNotCommitted", "PropertyReader NotKnown", "PropertyReader NoValue",
        "FormReader Enough", "TableStorage+Changing HashCollision", "PatternReader PatternFault",
        "RouteURLError RouteURLFault", "JSONValueDecoder JSONMismatch", "CommandError Exit",
        "CommandError CommandError",
        "ViewError ViewError",
        "Gatekeeper Refusal", "BrokerURL Fault", "Bench Stop", "Simulation SimulationError",
        "RouterSetup Fault", "RegularExpression Fault", "YAMLReader Fault",
        "RelocationConditionReader Fault", "Resolver Failure", "Plugin UnknownMacro",
    ]

    /// The parts that an app would write itself.
    private static let examples: Set<String> = ["DemoFeatures"]

    private static func faults(_ attempts: [() throws -> Void]) -> [any Error] {
        attempts.compactMap { attempt in
            do {
                try attempt()
                return nil
            } catch {
                return error
            }
        }
    }

    private static func read(_ texts: [String], _ read: @escaping (String) throws -> Void) -> [any Error] {
        faults(texts.map { text in { try read(text) } })
    }

    /// Errors of each type, of all their cases or reasons, made as they are made.
    private static func errors() -> [String: [any Error]] {
        let reasons: [StoreError.Reason] = [
            .locked, .newerSchema(found: 9, supported: 8), .olderSchema(found: 1, supported: 2), .corrupt,
            .lost,
            .foreign, .busy, .gone, .writableByOthers, .full, .system(code: 13),
        ]
        let ends = ends()
        var all: [String: [any Error]] = [:]
        func add<Fault: Error>(_ type: String, _ errors: [Fault]) { all[type] = errors }
        add("BackendError BackendError", [BackendError(.denied, "k1 may not")])
        add("CertificateDisk CertificateFault", [CertificateFault(text: "others may write /c.pem")])
        add("StoreError StoreError", reasons.map { StoreError($0, path: "/s", detail: "it was so") })
        add("Failure Failure", Code.all.map { Failure($0, "k1 was so", nearest: ["k2"]) })
        all["DisconnectReason DisconnectReason"] = ends
        let sessions: [MQTTSessionError] = [
            .notConnected(ends[0]), .ended(ends[1]), .noAnswer, .closed,
            .deadline(.seconds(10), broker: BrokerURL(host: "h", port: 1883)),
        ]
        add("MQTTSession MQTTSessionError", sessions)
        add("LibraryError LibraryError", (1...31).map { LibraryError(code: $0, doing: "publish") })
        all["BrokerURL BrokerURLError"] = read(
            [
                "", "x", "mqtt://h:0", "mqtt://h:x", "mqtt://h:1883/path", "ftp://h", "mqtt://u:p@h",
                "mqtt://h?q",
            ]
        ) { _ = try BrokerURL($0) }
        all["ProxyURL ProxyURLError"] = read(
            ["", "http://h:1", "socks5://h", "socks5://u@h:1", "socks5://:p@h:1", "socks5://h:0"]
        ) { _ = try ProxyURL($0) }
        all["Topic TopicError"] = read(["", "a\u{0}b", "a/#", "a\u{1}"]) { try Topic.check(name: $0) }
        all["RouteURLError RouteURLError"] = read(["", "1:", "a://b:x", "a://\u{1}", "a://b/..", "a://b\\c"])
        {
            _ = try RouteURL($0)
        }
        all["RoutePatternError RoutePatternError"] = read(
            [
                "", "1://b", "a://:", "a://:b/:b", "a://<x", "a://<no:x>", "a://:a:b", "a://**/b",
                "a://b/..",
            ]
        ) { _ = try RoutePattern($0) }
        add(
            "RegistrationError RegistrationError",
            [
                RegistrationError.badPattern("a", offset: 1, detail: "it is so"),
                .conflict(pattern: "a", heldBy: "b"),
                .unknownDestination("A", pattern: "a", nearest: ["B"]), .destinationTaken("A"),
                .mismatch(pattern: "a", detail: "it is so"), .badService("S", detail: "it is so"),
            ])
        add(
            "RouteDescriptor RouteGenerationError",
            [
                RouteGenerationError.badPattern("a", detail: "it is so"), .missing("id", pattern: "a"),
                .count(expected: 1, found: 2, pattern: "a"), .unfit(name: "id", value: "x", pattern: "a"),
                .unencodable("T", detail: "it is so"),
            ])
        add("RouteTable RouteConflict", [RouteConflict(pattern: "a", rival: "b")])
        add(
            "LinkedRecordFault LinkedRecordFault",
            [
                LinkedRecordFault.Reason.noRecord(1), .unknownVersion(2), .reservedFieldInUse, .noAccessor,
                .cutOff(bytes: 3),
            ].map { LinkedRecordFault(offset: 4, reason: $0) })
        add("LinkedRecordFault LinkedFailure", [LinkedFailure(subject: "a", detail: "it is so")])
        add(
            "ParameterError ParameterError",
            [
                ParameterError(key: "id", found: ["a": 1], type: "Int", reason: "is an object"),
                ParameterError(key: "id", found: nil, type: "Int", reason: "is missing"),
            ])
        all["RelocationError RelocationError"] = read(
            [
                #"[{"routerType":9}]"#, #"[{"routerType":1,"path":"a://b"}]"#, "7",
                #"[{"routerType":1,"x":1}]"#,
            ]
        ) { _ = try RelocationEntry.list(JSONValue(parsing: $0)) }
        all["JSONError JSONError"] = read(
            [
                "", "{", "[1e999]", "1e-400", #"{"a":1,"a":2}"#, String(repeating: "[", count: 40),
                "\"\\ud800\"",
                "[1] 2", "\u{FEFF}1", "nul", "\"\u{1}\"", "01",
            ]
        ) { _ = try JSONValue(parsing: $0) }
        all["RouteImport RouteImportError"] = read(["7", "[{}]", #"[{"path":1}]"#]) {
            _ = try RouteDescription.list(JSONValue(parsing: $0))
        }
        add("Ed25519 KeyError", [KeyError(detail: "no key")])
        all["MapTrust KeyError"] = read(["x", ""]) {
            var trust = MapTrust()
            try trust.pin("a", key: $0)
        }
        add(
            "AgentConfiguration AgentConfigurationError",
            [
                AgentConfigurationError(description: "agent: is empty")
            ])
        add("Database SQLiteError", [SQLiteError(code: 13, message: "full")])
        add("WrittenTime TimeFault", [TimeFault(description: "no time")])
        add("RouteFile Fault", [RouteFile.Fault(description: "no routes")])
        add("JSONFile Fault", [JSONFile.Fault(place: FilePlace(file: "a.json", line: 1), detail: "no list")])
        return all
    }

    private static func ends() -> [DisconnectReason] {
        let causes: [DisconnectReason.Cause] = [
            .refused(ReasonCode(rawValue: 0x87), detail: "no"), .unknownHost("none"),
            .network(code: 111, text: "refused"), .closedByBroker, .timedOut, .keepAlive,
            .unacknowledged(after: .seconds(3)), .tls("expired"),
            .serverDisconnect(ReasonCode(rawValue: 0x8B)),
            .sessionTakenOver, .clientIDConflict(shortSessions: 3), .protocolViolation("no MQTT"),
            .packetTooLarge(bytes: 9, limit: 8), .batchRefused, .library(code: 3, text: "no"), .renewing,
            .returning, .stopped,
        ]
        return causes.map {
            DisconnectReason(
                cause: $0, stage: .online, broker: BrokerURL(host: "h", port: 1883), retryIn: .seconds(1))
        }
    }

    /// The files of the libraries and programs.
    private static func files() throws -> [(target: String, name: String, text: String)] {
        try FileManager.default.subpathsOfDirectory(atPath: sources.path).sorted()
            .filter { $0.hasSuffix(".swift") }
            .map { path in
                let name = URL(filePath: path).deletingPathExtension().lastPathComponent
                let target = String(path.split(separator: "/")[0])
                return (
                    target, name, try String(contentsOf: sources.appending(path: path), encoding: .utf8)
                )
            }
    }

    @Test func `an error of Foundation's coders has no value and no type`() {
        let context = EncodingError.Context(codingPath: [], debugDescription: "it is too large")
        let texts = [
            (EncodingError.invalidValue("hunter2", context) as any Error).words,
            (DecodingError.typeMismatch(Int.self, .init(codingPath: [], debugDescription: "it is no number"))
                as any Error).words,
        ]
        for text in texts {
            #expect(["hunter2", "Error", "(", "Swift."].allSatisfy { !text.contains($0) }, "\(text)")
        }
    }

    @Test func `each type of error is printed here, or never leaves`() throws {
        let declaration = #/(?:struct|enum|class|actor) (\w+)[^{\n]*: (?:[\w. ]+, )*Error\b/#
        var found: Set<String> = []
        for file in try Self.files() where !Self.examples.contains(file.target) {
            for match in file.text.matches(of: declaration) { found.insert("\(file.name) \(match.1)") }
        }
        #expect(found.subtracting(Self.unseen).symmetricDifference(Self.errors().keys) == [])
        #expect(Self.unseen.subtracting(found) == [], "these are gone")
    }

    @Test(arguments: errors().keys.sorted())
    func `a person reads a sentence`(_ type: String) throws {
        let errors = try #require(Self.errors()[type])
        #expect(!errors.isEmpty)
        // `name(label: …)`, `Module.Type`, `Optional(…)`, a raw list of bytes, an option.
        let raw =
            #/Optional\(|\w\(\w+: |\b(?:Waypost|MQTTLink|Swift|Foundation)\w*\.[A-Z]|\[\d+, \d+|rawValue/#
        for error in errors {
            let text = "\(error)"
            #expect(text.firstMatch(of: raw) == nil, "\(text)")
            #expect(
                text.firstMatch(of: #/(?:^|[^\w-])--[a-z]|\bwaypost [a-z]+\b/#) == nil, "\(text)")
            #expect(text.contains(" "), "\(text)")
        }
    }

    /// What a library or an app throws that has no text of ours.
    @Test func `an error of anybody else is words, without the value`() throws {
        struct Order: Codable { var id: Int }
        enum Tab: String, Codable { case home }
        let faults = Self.faults([
            { _ = try JSONValueDecoder().decode(Order.self, from: ["id": "secret"]) },
            { _ = try JSONValueDecoder().decode([Tab].self, from: ["secret"]) },
            { _ = try JSONValueDecoder().decode(Order.self, from: [:]) },
            { _ = try JSONValueEncoder().encode(["a": Double.nan]) },
            { throw CancellationError() },
            { throw CocoaError(.fileNoSuchFile) },
        ])
        #expect(faults.count == 6)
        for fault in faults {
            let text = fault.words
            #expect(
                text.firstMatch(of: #/Context\(|Swift\.|Optional\(|[a-z]Error\b|secret|\w\(\w+: /#) == nil,
                "\(text)")
            #expect(text.contains(" "), "\(text)")
        }
        for reason in [
            PublishReceipt.SendError.overflow, .tooLarge,
            .topic(TopicError(topic: "a/#/b", reason: .misplacedWildcard)),
            .library(code: 24, text: "Requested QoS not supported on server."),
        ] {
            #expect(
                "\(reason)".firstMatch(of: #/\w\(\w+: |MQTTLink|\.$/#) == nil && "\(reason)".contains(" "),
                "\(reason)")
        }
    }

    /// What speaks of options in the files of libraries: the table of the settings, which is that of the options, and
    /// what tools show beside a code.
    private static let tables: Set<String> = ["AgentSetting", "CodeExplanation", "HealthCheckGuide"]
    private static let libraries: Set<String> = [
        "Threading", "Waypost", "WaypostTools", "MQTTLink", "WaypostMessages", "WaypostFleet", "WaypostAgent",
        "WaypostBackend",
    ]

    @Test func `no text of a library names an option or a verb but in the words for the shell`() throws {
        for file in try Self.files()
        where Self.libraries.contains(file.target) && !Self.tables.contains(file.name) {
            for (number, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false)
                .enumerated()
            {
                guard line.contains("--") || line.contains("waypost "), !line.contains("//"),
                    !line.contains("shell: ")
                else { continue }
                let names = line.contains(#/["\s](?:see: )?waypost (?:[a-z]+ )?[a-z]+/#)
                #expect(
                    !line.contains(#/"[^"]*(?:^|[^\w-])--[a-z][^"]*"/#) && !(names && line.contains("\"")),
                    "\(file.target)/\(file.name):\(number + 1)")
            }
        }
    }
}
