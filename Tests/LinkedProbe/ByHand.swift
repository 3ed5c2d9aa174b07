#if compiler(>=6.3)  // SE-0492
import Waypost

// Records as somebody writes them who does without the macros.

@section("waypost_records") @used
private let atFileScope: LinkedRecord = (
    0x7761_7970, 1,
    { sink in
        LinkedRecordSink(sink).add(
            Route("probe://hand/:id", name: "ByHand", priority: 3) { request in
                .opened(.string(try request.parameters.value("id")))
            })
    },
    0, 0
)

@section("waypost_records") @used
private let guarded: LinkedRecord = (
    0x7761_7970, 1,
    { sink in
        LinkedRecordSink(sink).add(
            Route("probe://guarded/hand", metadata: ["auth": true]) { _ in .opened() },
            Route("probe://guarded/type", to: HandPage.self, metadata: ["auth": true]))
    },
    0, 0
)

enum HandPage: Routable {
    @section("waypost_records") @used
    private static let routes: LinkedRecord = (
        0x7761_7970, 1,
        { sink in
            LinkedRecordSink(sink).add(
                Route("probe://page", to: HandPage.self), Route("probe://seite", to: HandPage.self))
        },
        0, 0
    )

    static func open(_ request: RouteRequest) -> RouteAnswer { .opened(.string("by hand")) }

    static func redirect(_ request: RouteRequest) -> String? {
        request.url.query["moved"].map { "probe://hand/\($0)" }
    }
}

struct HandService {
    func twice(_ number: Int) -> Int { number * 2 }
}

@section("waypost_records") @used
private let service: LinkedRecord = (
    0x7761_7970, 1,
    { sink in
        LinkedRecordSink(sink).add(
            ExposedService("HandService", make: HandService.init) {
                Exposed("twice(_:)", idempotent: true) { (service: HandService, number: Int) in
                    service.twice(number)
                }
            })
    },
    0, 0
)

// What others may put into the section: none of it may be called, and none may keep the good ones out.

@section("waypost_records") @used
private let ofAnotherVersion: LinkedRecord = (
    0x7761_7970, 99, { _ in preconditionFailure("a record of another version was called") }, 0, 0
)

@section("waypost_records") @used
private let ofSomebodyElse: LinkedRecord = (
    0x1234_5678, 1, { _ in preconditionFailure("a record of somebody else was called") }, 0, 0
)

@section("waypost_records") @used
private let withAConflict: LinkedRecord = (
    0x7761_7970, 1,
    { sink in LinkedRecordSink(sink).add(Route("probe://hand/:id", name: "Rival", priority: 3) { _ in .pass })
    }, 0, 0
)
#endif
