import Waypost
import WaypostMessages

/// A package to begin with: an agent with two routes and a service, a test of its contract, and an image.
struct NewPackage {
    /// Where the package gets Waypost from.
    enum Origin {
        case address(String)
        /// A folder, by its whole path.
        case folder(String)
    }

    /// Its name: that of the folder, the program, the agent and the scheme of its URLs.
    let name: String
    let origin: Origin

    /// The beginning of its modules' names: `FrontDoor` of `front-door`.
    private var module: String {
        name.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// The files by their paths, in the order in which they are read.
    var files: [(path: String, text: String)] {
        [
            ("README.md", readme), ("Package.swift", manifest),
            ("Sources/\(module)Features/Features.swift", features),
            ("Sources/\(module)Features/VolumeService.swift", service),
            ("Sources/\(module)Agent/\(module)Agent.swift", agent),
            ("Tests/\(module)FeaturesTests/FeaturesTests.swift", tests),
            ("Tests/\(module)FeaturesTests/contract.json", contract),
            ("Dockerfile", image), (".dockerignore", ".build\n"), (".gitignore", ".build\n"),
        ]
    }

    // MARK: The package

    private var manifest: String {
        let waypost =
            switch origin {
            case .address(let address):
                ".package(url: \(address.debugDescription), from: \(Version.current.debugDescription))"
            case .folder(let path): ".package(name: \"waypost\", path: \(path.debugDescription))"
            }
        let identity = identity.debugDescription
        return """
            // swift-tools-version: 6.2
            import PackageDescription

            let package = Package(
                name: "\(name)",
                products: [.executable(name: "\(name)", targets: ["\(module)Agent"])],
                dependencies: [
                    \(waypost),
                    .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
                    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
                ],
                targets: [
                    // What a backend can open and call; it needs no broker.
                    .target(
                        name: "\(module)Features",
                        dependencies: [.product(name: "Waypost", package: \(identity))]),
                    // The program: the features with an agent around them.
                    .executableTarget(
                        name: "\(module)Agent",
                        dependencies: [
                            "\(module)Features",
                            .product(name: "MQTTLink", package: \(identity)),
                            .product(name: "Waypost", package: \(identity)),
                            .product(name: "WaypostAgent", package: \(identity)),
                            .product(name: "WaypostTools", package: \(identity)),
                            .product(name: "Logging", package: "swift-log"),
                            .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                        ]),
                    .testTarget(
                        name: "\(module)FeaturesTests",
                        dependencies: [
                            "\(module)Features",
                            .product(name: "Waypost", package: \(identity)),
                            .product(name: "WaypostTools", package: \(identity)),
                        ],
                        exclude: ["contract.json"]),
                ]
            )

            """
    }

    /// By which the package manager knows Waypost: the end of its address.
    private var identity: String {
        guard case .address(let address) = origin else { return "waypost" }
        let end = address.split { $0 == "/" || $0 == ":" }.last.map(String.init) ?? "waypost"
        return end.hasSuffix(".git") ? String(end.dropLast(4)) : end
    }

    private var features: String {
        """
        import Waypost

        /// What a backend can open and call.
        public func makeRouter() throws -> Router {
            let router = Router()
            // May run twice when the power fails in between; what may not says nothing.
            try router.register(
                "\(name)://orders/<int:id>", name: "OrderScreen", idempotent: true,
                parameters: [RouteParameter("highlight", as: Bool?.self, summary: "Whether it blinks.")]
            ) { request in
                let id = try request.parameters.value("id", as: Int.self)
                // Here the screen is shown.
                return .opened(["order": JSONValue(id)])
            }
            try router.register(
                "\(name)://message", name: "MessageBanner", kind: .action,
                parameters: [RouteParameter("text", as: String.self, summary: "What is shown.")]
            ) { request in
                let text = try request.parameters.value("text", as: String.self)
                guard !text.isEmpty else { throw Failure(.badField, "text is empty") }
                return .opened()
            }
            let volume = VolumeService()
            try router.services.expose(
                ExposedService("VolumeService", make: { volume }) {
                    Exposed("percent()", idempotent: true) { (service: VolumeService) in await service.percent }
                    Exposed("set(percent:)", idempotent: true) { (service: VolumeService, percent: Int) in
                        try await service.set(percent: percent)
                    }
                })
            return router
        }

        """
    }

    private var service: String {
        """
        import Waypost

        /// How loud it is.
        actor VolumeService {
            private(set) var percent = 50

            /// - Throws: 422 `BAD_FIELD` for what is not from 0 to 100.
            func set(percent: Int) throws {
                guard 0...100 ~= percent else {
                    throw Failure(.badField, "percent is \\(percent); it must be 0 to 100")
                }
                self.percent = percent
            }
        }

        """
    }

    private var agent: String {
        """
        import FoundationEssentials
        import \(module)Features
        import Logging
        import MQTTLink
        import ServiceLifecycle
        import Waypost
        import WaypostAgent
        import WaypostTools

        @main
        struct \(module)Agent {
            static func main() async throws {
                let router = try makeRouter()
                // What the test of the contract holds it against.
                guard !CommandLine.arguments.contains("--contract") else {
                    print(router.contract.text, terminator: "")
                    return
                }
                let environment = ProcessInfo.processInfo.environment
                let name = environment["WAYPOST_AGENT"] ?? "\(name)"
                let broker = try BrokerURL(environment["WAYPOST_BROKER"] ?? "mqtt://127.0.0.1:1883")
                let configuration = AgentConfiguration(
                    agent: name, stateDirectory: environment["WAYPOST_STATE"] ?? "state",
                    link: MQTTLinkConfiguration(brokers: [broker], clientID: name))
                let logger = Logger(label: "\(name)")
                let agent = try Agent(configuration, router: router, logger: logger)
                let group = ServiceGroup(
                    services: [agent], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
                try await group.run()
            }
        }

        """
    }

    // MARK: Its test

    private var tests: String {
        """
        import Foundation
        import \(module)Features
        import Testing
        import Waypost
        import WaypostTools

        @Suite struct FeaturesTests {
            /// What backends depend on; who changes it on purpose writes the file anew, as the README says.
            @Test func `the contract is as it was`() throws {
                let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                    .appendingPathComponent("contract.json")
                let kept = try RouterContract(JSONValue(parsing: Data(contentsOf: file)))
                let report = try makeRouter().check(against: kept)
                #expect(report.findings.isEmpty, "\\(report.text)")
            }

            @Test func `an order is shown by its number`() async throws {
                let opening = try await makeRouter().open("\(name)://orders/17?highlight=true")
                #expect(opening.value == ["order": 17])
                let wrong = try await makeRouter().open("\(name)://orders/first")
                #expect(wrong.code == .noRoute)
            }

            @Test func `a message has a text`() async throws {
                #expect(try await makeRouter().open("\(name)://message?text=Hello").code == .ok)
                #expect(try await makeRouter().open("\(name)://message").code == .badField)
            }

            @Test func `the volume is from 0 to 100`() async throws {
                let services = try makeRouter().services
                try await services.call("VolumeService", "set(percent:)", with: 20)
                #expect(try await services.call("VolumeService", "percent()", as: Int.self) == 20)
                await #expect(throws: Failure.self) {
                    try await services.call("VolumeService", "set(percent:)", with: 101)
                }
            }
        }

        """
    }

    /// What `--contract` of the program prints.
    private var contract: String {
        """
        {
          "mapKinds": [
            "off",
            "on",
            "answer",
            "replace",
            "gate"
          ],
          "redirects": [],
          "router": {
            "dialect": "waypost",
            "service": "scheme://services"
          },
          "routes": [
            {
              "class": "MessageBanner",
              "kind": "action",
              "parameters": [
                {
                  "description": "What is shown.",
                  "in": "query",
                  "name": "text",
                  "required": true,
                  "type": "string"
                }
              ],
              "path": "\(name)://message",
              "priority": 0
            },
            {
              "class": "OrderScreen",
              "idempotent": true,
              "kind": "page",
              "parameters": [
                {
                  "in": "path",
                  "name": "id",
                  "required": true,
                  "type": "integer"
                },
                {
                  "description": "Whether it blinks.",
                  "in": "query",
                  "name": "highlight",
                  "type": "boolean"
                }
              ],
              "path": "\(name)://orders/<int:id>",
              "priority": 0
            }
          ],
          "services": [
            {
              "methods": [
                {
                  "arguments": [],
                  "idempotent": true,
                  "name": "percent()",
                  "result": {
                    "swiftType": "Int",
                    "type": "integer"
                  },
                  "selector": "percent"
                },
                {
                  "arguments": [
                    {
                      "label": "percent",
                      "swiftType": "Int",
                      "type": "integer"
                    }
                  ],
                  "idempotent": true,
                  "name": "set(percent:)",
                  "result": {
                    "swiftType": "()"
                  },
                  "selector": "setWithPercent:"
                }
              ],
              "name": "VolumeService"
            }
          ]
        }

        """
    }

    // MARK: Its image

    private var image: String {
        let source =
            switch origin {
            case .address: ""
            case .folder(let path): "COPY --from=waypost \(JSONValue.array([".", .string(path)]).text)\n"
            }
        return """
            # The agent in a small image; the README has the command.
            FROM swift:6.3-bookworm AS build
            RUN apt-get update -q \\
                && apt-get install -y -q --no-install-recommends libmosquitto-dev libsqlite3-dev libssl-dev pkg-config \\
                && rm -rf /var/lib/apt/lists/*
            WORKDIR /build
            \(source)COPY . .
            RUN swift build --configuration release --static-swift-stdlib --product \(name) \\
                && install --strip "$(swift build --configuration release --static-swift-stdlib --show-bin-path)/\(name)" /\(name)

            FROM debian:bookworm-slim
            RUN apt-get update -q \\
                && apt-get install -y -q --no-install-recommends ca-certificates libmosquitto1 libsqlite3-0 libssl3 libstdc++6 \\
                && rm -rf /var/lib/apt/lists/* \\
                && useradd --system --no-create-home --shell /usr/sbin/nologin \(name) \\
                && install --directory --owner \(name) --mode 700 /var/lib/\(name)
            COPY --from=build /\(name) /usr/bin/\(name)
            USER \(name)
            ENV WAYPOST_STATE=/var/lib/\(name)
            VOLUME /var/lib/\(name)
            ENTRYPOINT ["\(name)"]

            """
    }

    private var readme: String {
        let context =
            switch origin {
            case .address: ""
            case .folder(let path): " --build-context waypost='\(path.replacing("'", with: #"'\''"#))'"
            }
        return """
            # \(name)

            An agent of Waypost: a backend opens its screens and calls its services over MQTT.

            | | |
            |---|---|
            | `Sources/\(module)Features` | the routes and the services: what a backend can open and call |
            | `Sources/\(module)Agent` | the program, with the agent in it |
            | `Tests/\(module)FeaturesTests` | what they do, and `contract.json`: what backends know of them |

            Build and test it, with Swift 6.2 or newer, `libmosquitto-dev`, `libsqlite3-dev`, `libssl-dev` and `pkg-config`:

                swift test

            Run it, with a broker on this machine, and control it from another terminal:

                mosquitto -p 1883
                swift run \(name)
                waypost open '\(name)://orders/17' --agent \(name)
                waypost call VolumeService set --args '[20]' --agent \(name)

            `WAYPOST_BROKER` names another broker, `WAYPOST_AGENT` another name, `WAYPOST_STATE` another folder than `state`.

            The test of the contract fails with what has changed, and whether that breaks callers. When it is meant:

                swift run \(name) --contract > Tests/\(module)FeaturesTests/contract.json

            As an image:

                docker build -t \(name)\(context) .
                docker run --network host -v \(name)-state:/var/lib/\(name) \(name)

            """
    }
}
