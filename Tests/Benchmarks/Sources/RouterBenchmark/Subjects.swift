import CProbe
import Foundation
@_spi(Internal) import Hummingbird
import HummingbirdCore
import Waypost

/// What is measured: a round looks up the first so many paths and says how many were found.
struct Subject {
    var name: String
    var count: Int
    var round: (_ count: Int) -> Int
}

/// Texts one behind the other, as they lie in the buffer of whoever received them.
struct Texts {
    private var bytes: [UInt8] = []
    private var ends: [Int] = [0]

    init(_ texts: [String]) {
        for text in texts {
            bytes += Array(text.utf8)
            ends.append(bytes.count)
        }
    }

    var count: Int { ends.count - 1 }

    /// The bytes, and where each text begins and the last one ends, for a peer that reads them itself.
    func withUnsafePointers<Result>(_ body: (UnsafePointer<UInt8>?, UnsafePointer<Int>?) -> Result) -> Result
    {
        bytes.withUnsafeBufferPointer { bytes in
            ends.withUnsafeBufferPointer { ends in body(bytes.baseAddress, ends.baseAddress) }
        }
    }

    /// How many of the first `count` fulfil the condition.
    @inline(__always)
    func count(ofFirst count: Int, where isFound: (Span<UInt8>) -> Bool) -> Int {
        var found = 0
        let span = bytes.span
        for index in 0..<count where isFound(span.extracting(ends[index]..<ends[index + 1])) { found += 1 }
        return found
    }
}

/// Builds our table from the patterns' text.
func makeTable(_ routes: [String]) -> RouteTable {
    var table = RouteTable()
    for (index, route) in routes.enumerated() {
        do {
            try table.add(RoutePattern(route), index: UInt32(index))
        } catch {
            print("not added:", error)
        }
    }
    table.compact()
    return table
}

/// Builds Hummingbird's trie from the same patterns.
func makeTrie(_ routes: [String]) -> RouterTrie<Int> {
    let builder = RouterPathTrieBuilder<Int>()
    for (index, route) in routes.enumerated() { builder.addEntry(RouterPath(route), value: index) }
    return builder.build()
}

/// The same patterns in a table in C.
final class CTable {
    private let table = probe_table_make()

    init(_ routes: [String]) {
        for (index, route) in routes.enumerated() {
            Array(route.utf8).withUnsafeBufferPointer {
                probe_table_add(table, $0.baseAddress, $0.count, UInt32(index))
            }
        }
    }

    deinit { probe_table_free(table) }

    func lookUp(_ paths: Texts, _ count: Int) -> Int {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 16) { spans in
            paths.count(ofFirst: count) { path in
                path.withUnsafeBufferPointer {
                    probe_table_find(table, $0.baseAddress, $0.count, spans.baseAddress) != 0
                }
            }
        }
    }
}

/// The same patterns in matchit, a router in Rust, out of the library that scripts/benchmark builds.
struct Matchit {
    private typealias Make = @convention(c) (UnsafePointer<UInt8>?, Int) -> OpaquePointer?
    private typealias Round =
        @convention(c) (OpaquePointer?, UnsafePointer<UInt8>?, UnsafePointer<Int>?, Int) -> Int

    private let table: OpaquePointer?
    private let round: Round

    init?(_ routes: [String], library: String) {
        guard let handle = dlopen(library, RTLD_NOW), let make = dlsym(handle, "matchit_make"),
            let round = dlsym(handle, "matchit_round")
        else {
            print("not measured beside matchit:", dlerror().map { String(cString: $0) } ?? library)
            return nil
        }
        self.round = unsafeBitCast(round, to: Round.self)
        // Its placeholders are written {id}.
        let patterns = routes.map { route in
            route.split(separator: "/").map { $0.hasPrefix(":") ? "/{\($0.dropFirst())}" : "/\($0)" }.joined()
        }
        let text = Array(patterns.joined(separator: "\n").utf8)
        table = text.withUnsafeBufferPointer { unsafeBitCast(make, to: Make.self)($0.baseAddress, $0.count) }
    }

    func lookUp(_ paths: Texts, _ count: Int) -> Int {
        paths.withUnsafePointers { round(table, $0, $1, count) }
    }
}

/// The subjects for one set of routes; `library` is that of matchit, nil when it is not measured.
func subjects(_ set: RouteSet, table: RouteTable, trie: RouterTrie<Int>, library: String?) -> [Subject] {
    let hits = Texts(set.hits)
    let inC = CTable(set.routes)
    let misses = Texts(set.misses)
    let urls = set.hits.map { "myapp:/" + $0 + "?tab=items&source=push" }
    let bytes = Texts(urls)
    // A server gets no scheme, and Hummingbird would take the first component for a host: it has less to read.
    let requests = set.hits.map { $0 + "?tab=items&source=push" }
    let matchit = library.flatMap { Matchit(set.routes, library: $0) }
    let inRust = matchit.map { matchit in
        [
            Subject(name: "hit, matchit", count: hits.count) { matchit.lookUp(hits, $0) },
            Subject(name: "miss, matchit", count: misses.count) { matchit.lookUp(misses, $0) },
        ]
    }
    return [
        Subject(name: "hit", count: hits.count) { lookUp(hits, $0, in: table) },
        Subject(name: "miss", count: misses.count) { lookUp(misses, $0, in: table) },
        Subject(name: "whole URL", count: bytes.count) { lookUp(urls: bytes, $0, in: table) },
        Subject(name: "whole URL as a RouteURL", count: urls.count) { lookUp(urls.prefix($0), in: table) },
        Subject(name: "hit, Hummingbird", count: hits.count) { lookUp(set.hits.prefix($0), in: trie) },
        Subject(name: "miss, Hummingbird", count: misses.count) { lookUp(set.misses.prefix($0), in: trie) },
        Subject(name: "whole URL, Hummingbird", count: urls.count) {
            lookUpParsed(requests.prefix($0), in: trie)
        },
        Subject(name: "hit, C", count: hits.count) { inC.lookUp(hits, $0) },
        Subject(name: "C, split and hash only", count: hits.count) { readInC(hits, $0) },
    ] + (inRust ?? [])
}

@inline(never)
private func lookUp(_ paths: Texts, _ count: Int, in table: RouteTable) -> Int {
    paths.count(ofFirst: count) { table.firstMatch(path: $0) != nil }
}

// The caller's bytes, as the hits are: parsed, looked up, and nothing kept.
@inline(never)
private func lookUp(urls: Texts, _ count: Int, in table: RouteTable) -> Int {
    urls.count(ofFirst: count) { url in
        do {
            return try table.firstMatch(url: url) != nil
        } catch {
            return false
        }
    }
}

// A value that keeps its text: what the router hands on to destinations.
@inline(never)
private func lookUp(_ urls: ArraySlice<String>, in table: RouteTable) -> Int {
    var found = 0
    for text in urls {
        guard let url = try? RouteURL(text) else { continue }
        if table.firstMatch(url) != nil { found += 1 }
    }
    return found
}

@inline(never)
private func lookUp(_ paths: ArraySlice<String>, in trie: RouterTrie<Int>) -> Int {
    var found = 0
    for path in paths where trie.resolve(path) != nil { found += 1 }
    return found
}

// Hummingbird's own URI type, as its server uses it for every request.
@inline(never)
private func lookUpParsed(_ urls: ArraySlice<String>, in trie: RouterTrie<Int>) -> Int {
    var found = 0
    for text in urls where trie.resolve(URI(text).path) != nil { found += 1 }
    return found
}

@inline(never)
private func readInC(_ paths: Texts, _ count: Int) -> Int {
    paths.count(ofFirst: count) { path in
        path.withUnsafeBufferPointer { probe_split_and_hash($0.baseAddress, $0.count) != 0 }
    }
}
