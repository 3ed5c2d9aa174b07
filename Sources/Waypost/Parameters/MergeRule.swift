/// Which source wins when the same key comes from several sources of an open's parameters.
///
/// Parameters of a relocation entry count as the caller's, and win over them.
public enum MergeRule: String, Sendable, Hashable, CaseIterable {
    /// The caller over the path's placeholders over the query: Waypost's own rule.
    case callerOverPathOverQuery
    /// The query over the caller, as in ReerRouter.
    case queryOverCaller
    /// The query over the path's placeholders, and both over the caller, as in KYRouter.
    case queryOverPath
    /// None: a key in several sources becomes an array, the URL's value first, as in TheRouter.
    case collect

    /// The sources, the one that wins first.
    var order: [RouteParameters.Source] {
        switch self {
        case .callerOverPathOverQuery: [.relocation, .caller, .path, .query]
        case .queryOverCaller: [.query, .relocation, .caller, .path]
        case .queryOverPath: [.query, .path, .relocation, .caller]
        case .collect: [.query, .path, .caller, .relocation]
        }
    }
}
