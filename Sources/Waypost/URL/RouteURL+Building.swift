extension RouteURL {
    /// Builds a URL from decoded parts and encodes what must be.
    ///
    ///     let url = try RouteURL(scheme: "myapp", components: ["files", "a/b"], query: [("page", "2")])
    ///     url.text  // "myapp://files/a%2Fb?page=2"
    ///
    /// - Throws: ``RouteURLError`` when the scheme is not valid, or when a component is empty, `.`, `..` or has a control
    ///   character.
    package init(
        scheme: String = "", components: [String], query: [(key: String, value: String)] = [],
        fragment: String? = nil
    ) throws(RouteURLError) {
        var text =
            switch scheme.lowercased() {
            case "": "/"
            // Its first component is no host, which would lose its case.
            case "file": "file:///"
            default: scheme + "://"
            }
        text += components.map { PercentCoding.encode($0, for: .component) }.joined(separator: "/")
        if !query.isEmpty {
            text += "?"
            text += query.map {
                PercentCoding.encode($0.key, for: .query) + "=" + PercentCoding.encode($0.value, for: .query)
            }.joined(separator: "&")
        }
        if let fragment { text += "#" + PercentCoding.encode(fragment, for: .fragment) }
        try self.init(text)
    }
}
