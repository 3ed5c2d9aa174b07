import Waypost

/// The routes of a list, to name each as its author finds it: with its class and its place.
struct ListedRoutes {
    private let routes: [RouteDescription]
    private let place: (Int) -> String?
    private var indices: [RelocationPath.Key: Int] = [:]

    /// None, for the routes of a router: each is named with its class.
    init() { self.init([]) { _ in nil } }

    init(_ routes: [RouteDescription], place: @escaping (Int) -> String?) {
        self.routes = routes
        self.place = place
    }

    /// Notes the pattern under which a route was registered.
    mutating func note(_ index: Int, _ pattern: String) {
        indices[Self.key(pattern, routes[index].priority)] = index
    }

    /// Where a registered route stands in the list, from 0; nil for one that is not listed.
    func index(_ record: StoredRoute) -> Int? { index(record.pattern.text, record.route.priority) }

    /// The same by pattern and priority, which no two routes share.
    func index(_ pattern: String, _ priority: Int) -> Int? { indices[Self.key(pattern, priority)] }

    /// For example `a://x/:id (class X, line 3)`.
    func name(_ index: Int) -> String {
        Self.name(routes[index].path, class: routes[index].className, place: place(index))
    }

    /// The same of a route that is registered.
    func name(_ record: StoredRoute) -> String {
        index(record).map(name)
            ?? Self.name(record.pattern.text, class: record.route.name ?? "")
    }

    /// The same by pattern and priority; the pattern alone for one that is not listed.
    func name(_ pattern: String, _ priority: Int) -> String {
        index(pattern, priority).map(name) ?? pattern
    }

    /// A pattern, and a class and a place where there are any.
    private static func name(_ pattern: String, class className: String, place: String? = nil) -> String {
        let facts = [className.isEmpty ? nil : "class \(className)", place].compactMap(\.self)
        return facts.isEmpty ? pattern : "\(pattern) (\(facts.joined(separator: ", ")))"
    }

    private static func key(_ pattern: String, _ priority: Int) -> RelocationPath.Key {
        RelocationPath.Key(of: "\(priority) \(pattern)")
    }
}
