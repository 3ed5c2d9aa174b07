import Waypost

/// Appends a line to the ledger by URL: `scheme://router/append/LINE`.
///
/// Nothing in the URL says that it must not be repeated: a number is first offered to an idempotent route, which passes,
/// and `scheme://router/old-append/LINE` is idempotent itself, until an interceptor redirects it here.
enum AppendActions {
    private static let path: RouteKey = "scheme://router/append/:line"
    private static let oldPath: RouteKey = "scheme://router/old-append/:line"

    static func register(in router: Router, _ ledger: LedgerService) throws(RegistrationError) {
        try router.register([
            Route("scheme://router/append/<int:line>", kind: .action, idempotent: true) { _ in .pass },
            Route(path, name: "AppendAction", kind: .action) { request in
                .opened(.int(Int64(try ledger.append(entry: request.parameters.value("line")))))
            },
            Route(oldPath, kind: .action, idempotent: true) { _ in .pass },
        ])
        try router.intercept("moved", scope: .patterns([oldPath])) { request in
            let line = try? request.parameters.value("line", as: String.self)
            guard let url = try? RouteDescriptor.generateURL(path, [line ?? ""]) else { return .proceed }
            return .redirect(to: url)
        }
    }
}
