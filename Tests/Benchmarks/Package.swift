// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that users of Waypost never fetch what it is compared with.
let package = Package(
    name: "waypost-benchmarks",
    dependencies: [
        // Named, for the folder may have any name.
        .package(name: "waypost", path: "../.."),
        // The router most Swift servers use; its trie is what we are measured against.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    ],
    targets: [
        .target(name: "CProbe", cSettings: [.unsafeFlags(["-O2"])]),
        .executableTarget(
            name: "RouterBenchmark",
            dependencies: [
                "CProbe",
                .product(name: "Waypost", package: "waypost"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
