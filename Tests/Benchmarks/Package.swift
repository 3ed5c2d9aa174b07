// swift-tools-version: 6.2
import PackageDescription

// The table is no public interface: this is compiled as a part of the package that it measures, which has the name of
// its folder.
let measured = String(
    (Context.packageDirectory.split(separator: "/").dropLast(2).last ?? "").lowercased()
        .map { $0.isLetter || $0.isNumber ? $0 : "_" })

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
            ],
            swiftSettings: [.unsafeFlags(["-package-name", measured])]),
    ],
    swiftLanguageModes: [.v6]
)
