import TestSupport
import Testing

@testable import Waypost

/// What `@Exposed` makes of default values, by hand.
@Suite(.patient) struct `Omit arguments` {
    static func registry() throws -> ServiceRegistry {
        let registry = ServiceRegistry(clock: EndlessClock())
        try registry.expose(
            ExposedService("S", instance: 0) {
                Exposed("count(_:by:)") {
                    (_: Int, from: OmittableArgument<Int>, by: OmittableArgument<Int?>) in
                    [await from.value { 5 }, await by.value { 7 }]
                }
            })
        return registry
    }

    static let calls: [(ServiceArguments, JSONValue)] = [
        (.positional([]), [5, 7]), (.positional([1]), [1, 7]), (.positional([1, 2]), [1, 2]),
        (.labeled(["by": 2]), [5, 2]), (.labeled(["ivar1": 1]), [1, 7]),
        // A null is a value where the type has one, and otherwise as good as nothing.
        (.positional([.null, .null]), [5, .null]), (.labeled(["by": .null]), [5, .null]),
    ]

    @Test(arguments: calls)
    func `what is left out is the default`(arguments: ServiceArguments, result: JSONValue) async throws {
        #expect(try await Self.registry().call("S", "count", arguments: arguments) == result)
    }

    @Test func `what is there has to fit`() async throws {
        let registry = try Self.registry()
        let failure = await #expect(throws: Failure.self) {
            try await registry.call("S", "count", arguments: .positional(["x"]))
        }
        #expect(
            failure?.detail == #"argument "1" of count(_:by:) should be an integer (Int) but is a string"#)
    }

    @Test func `the contract says that they may be left out`() throws {
        let method = try #require(Self.registry().services.first?.methods.first)
        for argument in method.arguments {
            #expect(argument.value.isOptional)
            #expect(argument.type == "Optional<Int>")
            #expect(argument.value.schema == ValueSchema(of: Int.self))
        }
    }

    @Test func `in a URL too`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.services.expose(
            ExposedService("S", instance: 0) {
                Exposed("take(list:)") { (_: Int, list: OmittableArgument<[Int]>) in await list.value { [0] }
                }
            })
        let url = "scheme://services?protocol=S&method=take(list:)"
        #expect(await router.open(url).value == [0])
        #expect(await router.open("\(url)&list=%5B1,2%5D").value == [1, 2])
    }
}
