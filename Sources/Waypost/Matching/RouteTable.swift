/// The routes a URL is looked up in: an immutable value once it is shared, cheap to copy and to change.
///
///     var table = RouteTable()
///     try table.add(RoutePattern("myapp://orders/:id"), index: 0)
///     let url = try RouteURL("myapp://orders/42")
///     for candidate in table.match(url) { candidate.index }   // 0
///
/// The table knows no handlers: a match gives the index that the route was added with.
///
/// # The order
/// Candidates come in one total order, whatever the order in which they were added:
///
/// 1. higher priority, before anything else;
/// 2. patterns that take the whole URL, then parents that take deeper URLs (the nearest first), then the fallback
///    of the scheme (`scheme://`), then the fallback of all (`://`);
/// 3. component by component from the left: literal, partial, typed, plain placeholder, `*`, rest. Among partial
///    ones more literal bytes come first, then a longer fixed beginning, then more placeholders, then the literals by
///    text, then the converters; among typed ones custom converters and constraints by name, then
///    `uuid`, `int`, `double`, `bool`;
/// 4. a pattern with a scheme before the same pattern without.
///
/// A pattern with optional parts is one route: it comes where that of the patterns it stands for comes that takes the URL.
///
/// A table that matches without case compares literals in lower case; the order is that of its patterns so written.
///
/// # Changing
/// A copy shares its memory with the original page by page, so that adding one route to 100 000 copies a few pages. A
/// copy that is changed leaves the original as it was; readers never wait.
package struct RouteTable: Sendable {
    /// How patterns are read; ``PatternSyntax/parentsTakeDeeper`` holds for every route added.
    package let syntax: PatternSyntax
    var storage: TableStorage

    /// An empty table.
    ///
    /// - Parameter converters: converters by the name that stands before the colon in `<name:parameter>`. One named like
    ///   a built-in one takes its place.
    package init(converters: [String: RouteConverter] = [:]) {
        self.init(syntax: PatternSyntax(), converters: converters)
    }

    /// An empty table of a dialect; the names of `converters` are added to those that the syntax knows.
    init(syntax: PatternSyntax, converters: [String: RouteConverter] = [:]) {
        self.init(syntax: syntax, converters: converters, seed: TableSeed())
    }

    // With a secret seed, no one can choose patterns and URLs that collide; tests choose their own.
    init(syntax: PatternSyntax = PatternSyntax(), converters: [String: RouteConverter] = [:], seed: TableSeed)
    {
        var syntax = syntax
        syntax.converterNames.formUnion(converters.keys)
        self.syntax = syntax
        storage = TableStorage(
            converters: ConverterList(converters), seed: seed, ignoresCase: syntax.ignoresCase)
    }

    /// How many routes there are.
    package var count: Int { storage.count }
    /// Whether there is none.
    package var isEmpty: Bool { storage.count == 0 }
    /// How many routes were passed to find the places of those that were added: most have a place of their own.
    var passed: Int { storage.passed }
    /// The bytes that records and texts take, those shared with copies included.
    package var byteCount: Int { storage.byteCount }

    // MARK: Changes

    /// Reads a pattern by this table's syntax.
    func pattern(_ text: String) throws(RoutePatternError) -> RoutePattern {
        try RoutePattern(text, syntax: syntax)
    }

    /// Adds a route.
    ///
    /// - Parameters:
    ///   - pattern: the URLs it takes.
    ///   - priority: a higher one goes before everything lower, whatever the patterns.
    ///   - takesDeeper: whether it also takes URLs with further components, when nothing takes them whole.
    ///   - index: what a match gives.
    ///   - replacing: whether it takes the place of a route that no URL could tell from it; names of placeholders
    ///     make no difference, priorities do. Two patterns of which only some optional parts are the same stay in
    ///     conflict.
    /// - Returns: the index of the route that was replaced.
    /// - Throws: ``RouteConflict`` when its place is held and `replacing` is false; the table stays as it was.
    @discardableResult
    package mutating func add(
        _ pattern: RoutePattern, priority: Int = 0, takesDeeper: Bool = false, index: UInt32,
        replacing: Bool = false
    ) throws(RouteConflict) -> UInt32? {
        let takesDeeper = takesDeeper || syntax.parentsTakeDeeper
        return try change { (storage) throws(RouteConflict) in
            try storage.insert(
                pattern, priority: Int64(priority), takesDeeper: takesDeeper, index: index,
                replacing: replacing)
        }
    }

    /// Removes the routes that have exactly this pattern, names of placeholders included, with any priority or with
    /// the one given, and returns their indices.
    @discardableResult
    mutating func remove(_ pattern: RoutePattern, priority: Int? = nil) -> [UInt32] {
        change { $0.remove(pattern, priority: priority.map { Int64($0) }) }
    }

    /// Frees the space that a table has for growing, and what was removed; worth it after many changes.
    mutating func compact() { change { $0.compact() } }

    private mutating func change<Result, Failure: Error>(
        _ body: (TableStorage) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if !isKnownUniquelyReferenced(&storage) { storage = TableStorage(copying: storage) }
        defer { storage.publish() }
        return try body(storage)
    }

    // MARK: Listing

    /// A route as the table holds it.
    package struct Listing: Sendable, Hashable {
        /// The pattern as it was written.
        package var pattern: String
        /// Its priority.
        package var priority: Int
        /// Whether it takes deeper URLs.
        package var takesDeeper: Bool
        /// What a match gives.
        package var index: UInt32
    }

    /// All routes, sorted by pattern and priority.
    package var routes: [Listing] {
        let all = storage.records.routes.filter { !$0.header.pointee.isShorter }.map { record in
            let header = record.header.pointee
            return Listing(
                pattern: record.pattern, priority: Int(header.priority), takesDeeper: header.takesDeeper,
                index: header.index)
        }
        return all.sorted { ($0.pattern, -$0.priority, $0.index) < ($1.pattern, -$1.priority, $1.index) }
    }
}

/// Two patterns that no URL can tell apart, with one priority: `/orders/:id` and `/orders/:number`.
package struct RouteConflict: Error, Hashable, Sendable, CustomStringConvertible {
    /// The pattern that should have been added.
    package var pattern: String
    /// The pattern that is there already.
    var rival: String
    /// The priority that both have.
    package var priority: Int
    /// The index that the rival was inserted with.
    var rivalIndex: UInt32

    /// Names both patterns.
    init(pattern: String, rival: String, priority: Int = 0, rivalIndex: UInt32 = 0) {
        self.pattern = pattern
        self.rival = rival
        self.priority = priority
        self.rivalIndex = rivalIndex
    }

    /// For example `insert /orders/:id: already held by /orders/:number`.
    package var description: String {
        "insert \(pattern): already held by \(rival)"
    }
}
