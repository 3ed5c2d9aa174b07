// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

let whenMacros: TargetDependencyCondition? = .when(traits: ["Macros"])
// What only the agent, the backend's library and the command line need.
let whenAgent: TargetDependencyCondition? = .when(traits: ["Agent"])
let whenConsole: TargetDependencyCondition? = .when(traits: ["Console"])

let package = Package(
    name: "waypost",
    // Where `Mutex` and `Task.immediate` are; of the products only Waypost and WaypostTools are for these systems. Linux
    // has no such line.
    platforms: [.macOS(.v26), .iOS(.v26), .tvOS(.v26), .watchOS(.v26), .visionOS(.v26)],
    products: [
        .library(name: "Waypost", targets: ["Waypost"]),
        .library(name: "WaypostTools", targets: ["WaypostTools"]),
        .library(name: "MQTTLink", targets: ["MQTTLink"]),
        .library(name: "WaypostAgent", targets: ["WaypostAgent"]),
        .library(name: "WaypostBackend", targets: ["WaypostBackend"]),
        .library(name: "WaypostTesting", targets: ["WaypostTesting"]),
        .executable(name: "waypost", targets: ["WaypostMain"]),
        .executable(name: "waypost-console", targets: ["WaypostConsoleMain"]),
    ],
    traits: [
        .default(enabledTraits: ["Agent"]),
        // Whoever wants only the router leaves it out, and fetches no other package.
        .trait(name: "Agent", description: "The agent, the library for backends, and the command line."),
        // Off by default, so that a first build stays short and a device gets no web server.
        .trait(
            name: "Console", description: "The console: waypost-console, a page for the browser.",
            enabledTraits: ["Agent"]),
        // Off by default: swift-syntax takes minutes to build, and what the macros emit can be written by hand.
        .trait(name: "Macros", description: "Registration by macros: @Routable, #route, @Service, @Exposed."),
    ],
    dependencies: [
        // The macros, and only with the trait `Macros`; without it nothing is fetched or built.
        .package(url: "https://github.com/swiftlang/swift-syntax.git", from: "603.0.1"),
        // The command line: parsing, --help, completions.
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        // Options from arguments, environment and files, in one order of precedence. No traits: those that read files
        // need all of Foundation, 34 MB of tables among it.
        .package(url: "https://github.com/apple/swift-configuration.git", from: "1.4.0", traits: []),
        // The host application's log goes through the agent as events.
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        // Counters and timers that a host application may already collect.
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
        // Spans of commands, for a tracer that the program chooses; there is none in here.
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.3"),
        // Start and graceful stop of services in order, with signals.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        // The console's web server, and only with the trait `Console`; without it nothing is fetched or built. No traits:
        // they are for configuration files, and for what needs all of Foundation.
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: []),
        // Queues that are taken from at the front.
        .package(url: "https://github.com/apple/swift-collections.git", from: "1.6.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
        // SHA-256, Ed25519 and the dates of certificates, by the library that libmosquitto brings along anyway.
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        // Inbox, outbox and maps in one durable file. By its own interface: a package in between would bring all of
        // Foundation along, which makes the executable twice as large.
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        // How memory goes back to the system, which Swift's module of the C library leaves out.
        .target(name: "CFilePlace"),
        .target(name: "CMemory"),
        // Configuration files in YAML; what reads them in Swift needs all of Foundation.
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        // Archives are packed with it.
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        // The day of the build, which no sound clock is before.
        .target(name: "CBuildDate"),
        // These three are headers only: a source in C is compiled after all modules of Swift that can be, and the router
        // and all behind it would wait for that.
        .systemLibrary(name: "CPathScan"),
        .systemLibrary(name: "CRouteRecords"),
        // What Threading needs of Linux and Swift's module of the C library leaves out.
        .systemLibrary(name: "CThreading"),
        // Locks, threads, timers and pools, for all other targets.
        .target(
            name: "Threading", dependencies: ["CThreading"],
            swiftSettings: [.define("FAULT_POINTS", .when(configuration: .debug))]),
        // Sources/WaypostMacros/Pattern and its neighbours are links into Waypost: one reader of patterns for both.
        .macro(
            name: "WaypostMacros",
            dependencies: [
                "CPathScan",
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax", condition: whenMacros),
                .product(name: "SwiftDiagnostics", package: "swift-syntax", condition: whenMacros),
                .product(name: "SwiftParser", package: "swift-syntax", condition: whenMacros),
                // Under the plug-in's own main: what says where in a literal a fault is.
                .product(
                    name: "_SwiftCompilerPluginMessageHandling", package: "swift-syntax",
                    condition: whenMacros),
            ]),
        .target(
            name: "Waypost",
            dependencies: [
                "CPathScan", "CRouteRecords", "Threading",
                .target(name: "WaypostMacros", condition: whenMacros),
            ]),
        // What tools and CI need and no running app: the check, the contract, lists of routes.
        .target(name: "WaypostTools", dependencies: ["Waypost"]),
        .target(name: "MQTTLink", dependencies: ["CMosquitto", "COpenSSL", "Threading"]),
        .target(name: "WaypostMessages", dependencies: ["COpenSSL", "Threading", "Waypost"]),
        // What is known of a fleet, as values: without a connection, a clock and a file.
        .target(name: "WaypostFleet", dependencies: ["Waypost", "WaypostMessages"]),
        // A place in a trace as it travels, and the words of spans, for both sides.
        .target(
            name: "WaypostSpans",
            dependencies: [
                "Waypost", "WaypostMessages",
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: whenAgent),
            ]),
        .target(
            name: "WaypostAgent",
            dependencies: [
                "CBuildDate", "CFilePlace", "CMemory", "CSQLite", "Threading", "Waypost", "MQTTLink",
                "WaypostFleet", "WaypostMessages", "WaypostSpans", "WaypostTools",
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: whenAgent),
                .product(name: "CoreMetrics", package: "swift-metrics", condition: whenAgent),
                .product(name: "DequeModule", package: "swift-collections", condition: whenAgent),
                .product(name: "Logging", package: "swift-log", condition: whenAgent),
                .product(name: "Metrics", package: "swift-metrics", condition: whenAgent),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: whenAgent),
            ],
            swiftSettings: [.define("FAULT_POINTS", .when(configuration: .debug))]),
        .target(
            name: "WaypostBackend",
            dependencies: [
                "CMemory", "CZlib", "Threading", "WaypostSpans",
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: whenAgent),
                "Waypost", "WaypostTools", "MQTTLink", "WaypostFleet",
                "WaypostMessages",
                .product(name: "Logging", package: "swift-log", condition: whenAgent),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: whenAgent),
            ]),
        // Whether a filter matches a topic, which a broker asks more often than all else.
        .target(name: "CTopicMatch"),
        // A broker and agents in memory, for the tests of backends.
        .target(
            name: "WaypostTesting",
            dependencies: [
                "CTopicMatch", "Threading", "Waypost", "MQTTLink", "WaypostMessages", "WaypostAgent",
                "WaypostBackend",
                .product(name: "Logging", package: "swift-log", condition: whenAgent),
            ]),
        .target(name: "DemoFeatures", dependencies: ["Threading", "Waypost"]),
        // Simulated agents and load on real ones, for `waypost simulate` and `waypost bench`.
        .target(
            name: "WaypostLab",
            dependencies: [
                "Threading", "Waypost", "MQTTLink", "WaypostMessages", "WaypostFleet", "WaypostAgent",
                "WaypostBackend", "DemoFeatures",
            ]),
        .target(
            name: "WaypostCLI",
            dependencies: [
                "CYAML", "Threading", "Waypost", "WaypostTools", "MQTTLink", "WaypostMessages",
                "WaypostAgent", "WaypostBackend", "WaypostLab", "DemoFeatures",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: whenAgent),
                .product(name: "Configuration", package: "swift-configuration", condition: whenAgent),
                .product(name: "CoreMetrics", package: "swift-metrics", condition: whenAgent),
                .product(name: "Logging", package: "swift-log", condition: whenAgent),
                .product(name: "Metrics", package: "swift-metrics", condition: whenAgent),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: whenAgent),
                .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: whenAgent),
            ]),
        // The programs are apart: what depends on a program is compiled again each time that it is linked.
        .executableTarget(name: "WaypostMain", dependencies: ["WaypostCLI"]),
        // Sources/WaypostConsole/Settings and Output are links into WaypostCLI: one set of options for both programs.
        .target(
            name: "WaypostConsole",
            dependencies: [
                "CYAML", "Threading", "Waypost", "MQTTLink", "WaypostMessages", "WaypostAgent",
                "WaypostBackend",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: whenAgent),
                .product(name: "Configuration", package: "swift-configuration", condition: whenAgent),
                .product(name: "Hummingbird", package: "hummingbird", condition: whenConsole),
                .product(name: "HummingbirdCore", package: "hummingbird", condition: whenConsole),
                .product(name: "Logging", package: "swift-log", condition: whenAgent),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: whenAgent),
                .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: whenAgent),
            ],
            resources: [.copy("Page")]),
        .executableTarget(name: "WaypostConsoleMain", dependencies: ["WaypostConsole"]),
        .target(
            name: "TestSupport", dependencies: ["Threading", "Waypost", "MQTTLink", "WaypostMessages"],
            path: "Tests/TestSupport"),
        // Apart from the above, so that suites that need no command line do not wait for it.
        .target(
            name: "CommandSupport", dependencies: ["TestSupport", "WaypostCLI"], path: "Tests/CommandSupport"),
        // The programs that suites start.
        .target(
            name: "TestPrograms", dependencies: ["SenderProbe", "WaypostMain"], path: "Tests/TestPrograms"),
        .testTarget(
            name: "WaypostTests", dependencies: ["TestSupport", "Threading", "Waypost", "WaypostTools"],
            exclude: ["Vectors"]),
        .testTarget(name: "ThreadingTests", dependencies: ["TestSupport", "Threading"]),
        // Compiled as an app is: what does not say otherwise belongs to the main actor.
        .testTarget(
            name: "MainActorTests", dependencies: ["Waypost"],
            swiftSettings: [.defaultIsolation(MainActor.self)]),
        // A process of its own, so that what it declares is in no other test's routers.
        .executableTarget(name: "LinkedProbe", dependencies: ["Waypost"], path: "Tests/LinkedProbe"),
        // A process that can be killed while it sends.
        .executableTarget(
            name: "SenderProbe", dependencies: ["Waypost", "WaypostBackend"], path: "Tests/SenderProbe"),
        // Empty without the trait.
        .testTarget(
            name: "WaypostMacrosTests",
            dependencies: [
                "Waypost", .target(name: "WaypostMacros", condition: whenMacros),
                .product(name: "SwiftDiagnostics", package: "swift-syntax", condition: whenMacros),
                .product(name: "SwiftParser", package: "swift-syntax", condition: whenMacros),
                .product(name: "SwiftSyntaxBuilder", package: "swift-syntax", condition: whenMacros),
                .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax", condition: whenMacros),
            ]),
        .testTarget(
            name: "MQTTLinkTests", dependencies: ["COpenSSL", "MQTTLink", "TestSupport", "Threading"]),
        .testTarget(
            name: "WaypostAgentTests",
            dependencies: [
                "CSQLite", "Waypost", "MQTTLink", "WaypostFleet", "WaypostMessages", "WaypostAgent",
                "TestSupport",
                .product(name: "Logging", package: "swift-log", condition: whenAgent),
            ],
            exclude: ["States"]),
        .testTarget(
            name: "WaypostBackendTests",
            dependencies: [
                "Waypost", "WaypostTools", "MQTTLink", "WaypostMessages", "WaypostFleet", "WaypostAgent",
                "WaypostBackend", "WaypostSpans", "TestSupport",
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing", condition: whenAgent),
                .product(name: "Logging", package: "swift-log", condition: whenAgent),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: whenAgent),
            ]),
        .testTarget(
            name: "WaypostTestingTests",
            dependencies: [
                "TestSupport", "Waypost", "WaypostBackend", "WaypostTesting", "WaypostTools",
            ]),
        // The whole in simulated time: a process is one history of it. Tests/World/Broker is a link into WaypostTesting.
        .target(name: "CWorld", dependencies: ["CSQLite"], path: "Tests/CWorld"),
        .target(
            name: "World",
            dependencies: [
                "CTopicMatch", "CWorld", "Threading", "Waypost", "MQTTLink", "WaypostMessages",
                "WaypostFleet",
                "WaypostAgent", "WaypostBackend",
                .product(name: "Logging", package: "swift-log", condition: whenAgent),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: whenAgent),
            ],
            path: "Tests/World"),
        .executableTarget(name: "WorldProgram", dependencies: ["World"], path: "Tests/WorldProgram"),
        // The broker of the world is held against a real one.
        .testTarget(
            name: "WorldTests",
            dependencies: [
                "CWorld", "TestSupport", "WaypostAgent", "WaypostMessages", "World",
            ],
            exclude: ["Seeds.jsonl"]),
        // Without its web server, which is there only with the trait; the page is tested by scripts/test --console.
        .testTarget(
            name: "WaypostConsoleTests",
            dependencies: [
                "Waypost", "MQTTLink", "WaypostMessages", "WaypostBackend", "WaypostConsole", "TestSupport",
            ]),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "Waypost", "MQTTLink", "WaypostMessages", "WaypostCLI", "CommandSupport", "TestPrograms",
                "TestSupport",
            ],
            exclude: ["Vectors"]),
        // The Swift in the README and the documentation, compiled.
        .testTarget(
            name: "SnippetTests",
            dependencies: [
                "TestSupport", "Threading", "Waypost", "WaypostTools", "MQTTLink", "WaypostAgent",
                "WaypostBackend", "WaypostTesting",
                .product(name: "Logging", package: "swift-log", condition: whenAgent),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: whenAgent),
                .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: whenAgent),
            ]),
        .testTarget(
            name: "FaultTests",
            dependencies: [
                "Waypost", "MQTTLink", "WaypostMessages", "WaypostCLI", "CommandSupport", "TestPrograms",
                "TestSupport",
            ],
            exclude: ["Catalogue.md", "FaultLibrary"]),
        // What holds for every input, and the inputs that scripts/test --fuzz has found.
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "Threading", "Waypost", "WaypostTools", "MQTTLink", "WaypostMessages", "WaypostAgent",
                "WaypostBackend",
                "WaypostLab", "WaypostCLI", "WaypostConsole",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: whenAgent),
            ],
            path: "Tests/FuzzTargets", exclude: ["Corpus", "Dictionaries", "LibFuzzer", "Timing"]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "Threading", "Waypost", "WaypostTools", "MQTTLink", "WaypostMessages", "WaypostFleet",
                "WaypostAgent", "WaypostBackend",
                "WaypostLab", "DemoFeatures", "WaypostCLI", "CommandSupport", "TestPrograms", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: whenAgent),
                .product(name: "Configuration", package: "swift-configuration", condition: whenAgent),
            ],
            exclude: ["Vectors"]),
    ],
    swiftLanguageModes: [.v6]
)

// Only for scripts/test --macros: tests of macros are built for the host, and with them all others, but no program, which
// these need.
if Context.environment["WAYPOST_MACROS"] != nil {
    package.targets.removeAll {
        [
            "CommandSupport", "FuzzTests", "EndToEndTests", "FaultTests", "IntegrationTests",
            "WaypostConsoleTests",
        ].contains($0.name)
    }
} else {
    // The program that its tests start is built with them.
    package.targets.first { $0.name == "WorldTests" }?.dependencies.append("WorldProgram")
}

// Only these suites, so that a change is tried without building all others: WAYPOST_SUITES=WaypostTests,ThreadingTests.
if let suites = Context.environment["WAYPOST_SUITES"] {
    let named = suites.split(separator: ",").map(String.init)
    package.targets.removeAll { $0.type == .test && !named.contains($0.name) }
}

// Only for scripts/test --fuzz: an executable, of libFuzzer or the one that measures, in the place of the tests.
if let fuzzing = Context.environment["WAYPOST_FUZZ"] {
    package.products = []
    package.targets = package.targets.compactMap { target in
        switch target.name {
        case "FuzzTests":
            .executableTarget(
                name: target.name, dependencies: target.dependencies, path: target.path,
                exclude: ["Corpus", "Dictionaries", "Tests", fuzzing == "timing" ? "LibFuzzer" : "Timing"],
                // Without libFuzzer's instructions in the product the same inputs take a fifth of the time.
                swiftSettings: fuzzing == "fast"
                    ? [.unsafeFlags(["-sanitize=fuzzer"]), .define("FAST")] : [],
                linkerSettings: fuzzing == "fast" ? [.unsafeFlags(["-sanitize=fuzzer"])] : [])
        default: target.type == .test ? nil : target
        }
    }
}

// Only for scripts/benchmark router: the table is no public interface, and its peer is fetched for the console anyway.
if Context.environment["WAYPOST_BENCHMARK"] != nil {
    package.targets += [
        .target(
            name: "CProbe", path: "Tests/Benchmarks/Sources/CProbe", cSettings: [.unsafeFlags(["-O2"])]),
        .executableTarget(
            name: "RouterBenchmark",
            dependencies: [
                "CProbe", "Waypost",
                .product(name: "Hummingbird", package: "hummingbird", condition: whenConsole),
                .product(name: "HummingbirdCore", package: "hummingbird", condition: whenConsole),
            ],
            path: "Tests/Benchmarks/Sources/RouterBenchmark"),
        .executableTarget(
            name: "TraceBenchmark",
            dependencies: [
                "Waypost", "WaypostBackend", "WaypostTesting",
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing", condition: whenAgent),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: whenAgent),
            ],
            path: "Tests/Benchmarks/Sources/TraceBenchmark"),
    ]
}

for target in package.targets where target.type != .system && target.type != .plugin {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            .enableUpcomingFeature("ExistentialAny"),
            .enableUpcomingFeature("InternalImportsByDefault"),
        ]
    // Not beside SwiftNIO, which has modules of its own of the C library: which of them a member comes from is not to be
    // said in a source that another program shares.
    if target.name != "WaypostConsole" {
        target.swiftSettings?.append(.enableUpcomingFeature("MemberImportVisibility"))
    }
    // Not in the library that apps implement protocols of: a type of the main actor could then not implement an async
    // requirement as one of its own methods. There it is written where it is meant.
    if target.name != "Waypost" {
        target.swiftSettings?.append(.enableUpcomingFeature("NonisolatedNonsendingByDefault"))
    }
    // Only for scripts/check: a newer compiler may have new warnings, and they must not break a user's build.
    if Context.environment["WAYPOST_STRICT"] != nil {
        target.swiftSettings?.append(.treatAllWarnings(as: .error))
    }
}
