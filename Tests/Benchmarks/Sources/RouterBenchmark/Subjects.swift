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
    table.settle()
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

    func lookUp(_ paths: ArraySlice<[UInt8]>) -> Int {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 16) { spans in
            var found = 0
            for path in paths {
                let index = path.withUnsafeBufferPointer {
                    probe_table_find(table, $0.baseAddress, $0.count, spans.baseAddress)
                }
                if index != 0 { found += 1 }
            }
            return found
        }
    }
}

/// The subjects for one set of routes.
func subjects(_ set: RouteSet, table: RouteTable, trie: RouterTrie<Int>) -> [Subject] {
    let hits = set.hits.map { Array($0.utf8) }
    let inC = CTable(set.routes)
    let misses = set.misses.map { Array($0.utf8) }
    let urls = set.hits.map { "myapp:/" + $0 + "?tab=items&source=push" }
    let bytes = urls.map { Array($0.utf8) }
    // A server gets no scheme, and Hummingbird would take the first component for a host: it has less to read.
    let requests = set.hits.map { $0 + "?tab=items&source=push" }
    return [
        Subject(name: "hit", count: hits.count) { lookUp(hits.prefix($0), in: table) },
        Subject(name: "miss", count: misses.count) { lookUp(misses.prefix($0), in: table) },
        Subject(name: "whole URL", count: bytes.count) { lookUp(urls: bytes.prefix($0), in: table) },
        Subject(name: "whole URL as a RouteURL", count: urls.count) { lookUp(urls.prefix($0), in: table) },
        Subject(name: "hit, Hummingbird", count: hits.count) { lookUp(set.hits.prefix($0), in: trie) },
        Subject(name: "miss, Hummingbird", count: misses.count) { lookUp(set.misses.prefix($0), in: trie) },
        Subject(name: "whole URL, Hummingbird", count: urls.count) {
            lookUpParsed(requests.prefix($0), in: trie)
        },
        Subject(name: "hit, C", count: hits.count) { inC.lookUp(hits.prefix($0)) },
        Subject(name: "C, split and hash only", count: hits.count) { readInC(hits.prefix($0)) },
    ]
}

@inline(never)
private func lookUp(_ paths: ArraySlice<[UInt8]>, in table: RouteTable) -> Int {
    var found = 0
    for path in paths where table.firstMatch(path: path.span) != nil { found += 1 }
    return found
}

// The caller's bytes, as the hits are: parsed, looked up, and nothing kept.
@inline(never)
private func lookUp(urls: ArraySlice<[UInt8]>, in table: RouteTable) -> Int {
    var found = 0
    for bytes in urls {
        guard let match = try? table.firstMatch(url: bytes.span) else { continue }
        if match.parameterCount >= 0 { found += 1 }
    }
    return found
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
private func readInC(_ paths: ArraySlice<[UInt8]>) -> Int {
    var found = 0
    for path in paths {
        found += path.withUnsafeBufferPointer { probe_split_and_hash($0.baseAddress, $0.count) == 0 ? 0 : 1 }
    }
    return found
}
