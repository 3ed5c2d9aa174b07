// swift-tools-version: 6.2
import PackageDescription

// A package of its own: it is built in release with checks on, and run for millions of inputs.
let package = Package(
    name: "waypost-fuzz",
    dependencies: [.package(name: "waypost", path: "../..")],
    targets: [
        .executableTarget(name: "RouterFuzz", dependencies: [.product(name: "Waypost", package: "waypost")])
    ],
    swiftLanguageModes: [.v6]
)
