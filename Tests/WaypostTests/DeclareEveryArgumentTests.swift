#if Macros
import TestSupport
import Testing

@testable import Waypost

extension RouteKey {
    fileprivate static let declaredByKey: RouteKey = "declared://key/:id"
    fileprivate static let declaredAction: RouteKey = "declared://action/:id"
    fileprivate static let declaredPage: RouteKey = "declared://page/:id"
}

private enum Given {
    static let metadata: [String: JSONValue] = ["declared": true]
    static let defaults: [String: JSONValue] = ["page": 1]
    static let parameters = [RouteParameter("page", as: Int?.self, summary: "The page.")]
    static let redirect: Route.Redirect = { _ in nil }
}

#route(
    "declared://closure/:id", name: "Closure", priority: 3, kind: .web, takesDeeper: true, idempotent: true,
    jumpType: .modal, metadata: Given.metadata, defaults: Given.defaults, parameters: Given.parameters,
    redirect: Given.redirect
) { _ in .opened() }

#route(
    "declared://argument/:id", name: "Argument", priority: 3, kind: .web, takesDeeper: true, idempotent: true,
    jumpType: .modal, metadata: Given.metadata, defaults: Given.defaults, parameters: Given.parameters,
    redirect: Given.redirect, handler: { _ in .opened() })

#route(
    key: .declaredByKey, name: "Key", priority: 3, kind: .web, takesDeeper: true, idempotent: true,
    jumpType: .modal, metadata: Given.metadata, defaults: Given.defaults, parameters: Given.parameters,
    redirect: Given.redirect
) { _ in .opened() }

#route(
    key: .declaredAction, name: "Action", priority: 3, kind: .web, takesDeeper: true, idempotent: true,
    jumpType: .modal, metadata: Given.metadata, defaults: Given.defaults, parameters: Given.parameters,
    redirect: Given.redirect, action: { _ in })

@Routable(
    .declaredPage, "declared://side/<int:id>", name: "Page", priority: 3, kind: .web, takesDeeper: true,
    idempotent: true, jumpType: .modal, metadata: Given.metadata, defaults: Given.defaults,
    parameters: Given.parameters, redirect: Given.redirect)
private enum DeclaredPage {
    static func open(_ request: RouteRequest) -> RouteAnswer { .opened() }
}

/// What a macro left out was a route that an interceptor missed; see `Register every form`.
@Suite(.patient) struct `Declare every argument` {
    static let forms: [(String, String)] = [
        ("declared://closure", "Closure"), ("declared://argument", "Argument"), ("declared://key", "Key"),
        ("declared://action", "Action"), ("declared://page", "Page"), ("declared://side", "Page"),
    ]

    @Test(arguments: forms) func `each reaches the route`(place: String, name: String) async throws {
        let router = Router()
        let route = try #require(router.routes.first { $0.path.hasPrefix("\(place)/") })
        #expect(route.className == name)
        #expect(route.priority == 3)
        #expect(route.kind == .web)
        #expect(route.takesDeeper)
        #expect(route.idempotent)
        #expect(route.redirects)
        #expect(route.metadata == Given.metadata)
        #expect(route.defaults == Given.defaults)
        #expect(route.parameters.contains { $0.name == "page" && $0.summary == "The page." })
        let opening = await router.open("\(place)/7/deeper")
        #expect(opening.outcome == .opened)
        #expect(opening.route == route.path)
        #expect(opening.parameters["page"] == 1)
        #expect(opening.presentation.jumpType == .modal)
    }

    @Test(arguments: forms) func `a login guards each by its metadata`(place: String, name: String)
        async throws
    {
        let router = Router()
        try router.intercept("login", scope: .metadata("declared", true)) { _ in
            .stop(reason: "log in first")
        }
        #expect(
            await router.open("\(place)/7").outcome == .intercepted(by: "login", reason: "log in first"))
    }
}
#endif
