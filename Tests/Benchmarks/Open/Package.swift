// swift-tools-version: 6.2
import PackageDescription

// A package of its own, without the peers of the other one: it is built for two versions each time.
let package = Package(
    name: "waypost-open-benchmark",
    dependencies: [.package(name: "waypost", path: "../../..")],
    targets: [
        .target(name: "CProbe", cSettings: [.unsafeFlags(["-O2"])]),
        .executableTarget(
            name: "OpenBenchmark",
            dependencies: ["CProbe", .product(name: "Waypost", package: "waypost")],
            // So that what is measured on the main actor stays there.
            swiftSettings: [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    ],
    swiftLanguageModes: [.v6]
)
