extension RouteTable {
    /// The pattern that would take a URL if the Unicode form of letters made no difference: `é` is one character in NFC
    /// and two in NFD, and a URL is compared byte by byte.
    ///
    /// At most 20 000 routes are looked at, and none for a URL of ASCII.
    package func lookAlike(of url: RouteURL) -> String? {
        let wanted = url.components.map { component in
            storage.ignoresCase
                ? String(decoding: component.utf8.map { RouteScheme.lowercased($0) }, as: UTF8.self)
                : component
        }
        guard wanted.contains(where: { $0.utf8.contains { $0 >= 0x80 } }) else { return nil }
        return storage.records.routes.prefix(Self.nearestRoutesLookedAt)
            .first { $0.looksLike(wanted, scheme: url.scheme) }?.pattern
    }
}

extension RouteRecordPointer {
    /// Whether some of its literals are these components in another Unicode form, and all others equal.
    fileprivate func looksLike(_ wanted: [String], scheme other: String) -> Bool {
        guard !header.pointee.isFallback, scheme.isEmpty || scheme.elementsEqual(other.utf8) else {
            return false
        }
        var count = 0
        var differs = false
        for step in steps {
            guard count < wanted.count else { return false }
            if step.isLiteral, !step.literal.elementsEqual(wanted[count].utf8) {
                guard String(decoding: step.literal, as: UTF8.self) == wanted[count] else { return false }
                differs = true
            }
            count += 1
        }
        return differs
            && (count == wanted.count || header.pointee.endsWithRest || header.pointee.takesDeeper)
    }
}
