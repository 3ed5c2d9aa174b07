#if Macros
import Waypost

@Routable("probe://struct/:id", "probe://struktur/<int:id>", priority: 5)
struct StructPage {
    let id: Int

    init(from request: RouteRequest) throws {
        id = try request.parameters.value("id")
    }

    func opened() async throws -> JSONValue? { .int(Int64(id)) }
}

@Routable("probe://class", name: "Named", kind: .web, takesDeeper: true, idempotent: true)
class ClassPage {
    class func open(_ request: RouteRequest) async throws -> RouteAnswer {
        .opened(.string(request.url.text))
    }
}

/// Inherits the conformance and has a route of its own.
@Routable("probe://class/sub")
final class SubclassPage: ClassPage {}

@MainActor @Routable("probe://main")
final class MainActorPage {
    static func open(_ request: RouteRequest) async throws -> RouteAnswer {
        MainActor.assertIsolated()
        return .opened(.string("main actor"))
    }
}

@Routable("probe://actor/:count")
actor ActorPage: RoutablePage {
    private let count: Int

    init(from request: RouteRequest) throws { count = try request.parameters.value("count") }

    func opened() -> JSONValue? { .int(Int64(count + 1)) }
}

extension RouteKey {
    static let probeKey: RouteKey = "probe://key/:id"
    static let probeAction: RouteKey = "probe://key/action"
    static let probeHandler: RouteKey = "probe://key/handler"
    static let guardedPage: RouteKey = "probe://guarded/key/page"
    static let guardedHandler: RouteKey = "probe://guarded/key/handler"
    static let guardedAction: RouteKey = "probe://guarded/key/action"
}

@Routable(.probeKey)
struct KeyPage: RoutablePage, Decodable {
    let id: String

    func opened() -> JSONValue? { .string(id) }
}

struct Foo {
    #route(
        key: .probeAction,
        action: { params in
            _ = params.merged
        })
    #route(key: .probeHandler) { _ in .opened(.string("handler")) }
}

enum Outer {
    @Routable("probe://nested") @Routable("probe://nested/again", priority: -1)
    enum Inner: Routable {
        static func open(_ request: RouteRequest) -> RouteAnswer { .opened(.string("nested")) }
    }

    static let greeting = "hello"

    #route("probe://in/type") { _ in .opened(.string(greeting)) }
}

@Routable("probe://private/:name")
private struct PrivatePage: RoutablePage, Decodable {
    let name: String

    func opened() async -> JSONValue? { .string(name) }
}

enum Paths {
    static let constant: RouteKey = "probe://constant"
}

#route(Paths.constant) { _ in .opened() }

#route(
    "probe://closure/<year:y>", "probe://verschluss", name: "Closure", priority: 2, kind: .page,
    converters: ["year"]
) {
    request in
    guard request.parameters.path["y"] == nil else { return .pass }
    return .opened(.string("closure"))
}

#route("probe://redirect") { request in
    request.url.query["to"]
} handler: { _ in
    .opened(.string("stayed"))
}

// Each form of each macro, with metadata that an interceptor of the probe sees.

@Routable("probe://guarded/page", metadata: ["auth": true])
enum GuardedPage {
    static func open(_ request: RouteRequest) -> RouteAnswer { .opened() }
}

@Routable(.guardedPage, metadata: ["auth": true])
enum GuardedKeyPage {
    static func open(_ request: RouteRequest) -> RouteAnswer { .opened() }
}

@Routable("probe://guarded/static")
enum GuardedByItself: Routable {
    static var metadata: [String: JSONValue] { ["auth": true] }
    static func open(_ request: RouteRequest) -> RouteAnswer { .opened() }
}

#route("probe://guarded/route", metadata: ["auth": true]) { _ in .opened() }
#route(key: .guardedHandler, metadata: ["auth": true]) { _ in .opened() }
#route(key: .guardedAction, metadata: ["auth": true], action: { _ in })

@Service
actor Counter {
    private var count = 0

    @Exposed
    func add(_ amount: Int, times: Int?) -> Int {
        count += amount * (times ?? 1)
        return count
    }

    @Exposed(idempotent: true)
    nonisolated func add(a: Int, b: Int) throws -> Int { a + b }

    /// Asks who calls, between its arguments.
    @Exposed
    func who(greeting: String, context: OpenContext, mark: String?) -> String {
        "\(greeting) \(context.caller ?? "-") \(context.ref ?? "-")\(mark ?? "")"
    }

    @Exposed
    nonisolated func caller(_ asking: OpenContext) throws -> String? { asking.caller }

    func hidden() {}
}

protocol Greeting: Sendable {
    func greet(_ name: String) -> String
}

@Service(as: (any Greeting).self, lifetime: .shared)
final class Greeter: Greeting {
    let salutation: String

    init(salutation: String = "hello") throws { self.salutation = salutation }

    @Exposed(selector: "greetName:", idempotent: true)
    func greet(_ name: String) -> String { "\(salutation) \(name)" }

    @Exposed func wait(for duration: Double, in place: [String: Int]) async throws -> [String: Int] {
        await Task.yield()
        return place
    }

    @Exposed func forget() {}
}

@MainActor @Service("Screen")
final class ScreenService {
    nonisolated init() {}

    @Exposed func title() -> String { "screen" }
}

@MainActor @Service
final class Shelf {
    static var step = 3

    nonisolated init() {}

    @Exposed func count(_ from: Int = 5, by step: Int? = Shelf.step, context: OpenContext = .init()) -> [Int?]
    {
        [from, step]
    }

    @Exposed nonisolated func names(of kinds: [String] = ["all"], marked mark: String) -> String {
        kinds.joined() + mark
    }
}

/// Made of another.
@Service(as: (any Report).self)
final class CounterReport: Report {
    private let counter: Counter

    init(services: ServiceRegistry) throws { counter = try services.fetch(Counter.self) }

    @Exposed func total() async -> Int { await counter.add(1, times: nil) }
}

protocol Report: Sendable {
    func total() async -> Int
}
#endif
