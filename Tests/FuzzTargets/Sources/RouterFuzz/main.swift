import Foundation
import Waypost

// usage: RouterFuzz [RUNS [SEED]]
// Feeds mutated bytes to the URL parser, the pattern parser and a search; a trap or a broken law ends the run.
// Before that, crafted inputs of 64 KiB: one that takes longer than 5 ms ends it too.

let arguments = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
let runs = arguments.first ?? 10_000_000
let seed = arguments.dropFirst().first ?? 1
var mutator = Mutator(
    seed: seed,
    corpus: [
        "myapp://orders/42?tab=items&x=%20y#top", "scheme://router/demo",
        "https://u:p@example.com:8080/a//b/?u=s://x?y=z",
        "/a/b%2Fc/%E4%B8%AD/中", "s://:id/<int:n>/v:major.html/*/**", "<path:rest>",
        "a/<uuid:u>/<double:d>/<bool:b>",
        "scheme://services?protocol=P&method=m:&resultType=0", "://", "s://", "/", "%41%zz%", "a:b@c:1/d",
        "route/:x/y",
    ])
var table = RouteTable()
var patterns: [RoutePattern] = []
// Literals and plain placeholders of one priority, which are searched in another way.
var plainTable = RouteTable()
var plainPatterns: [RoutePattern] = []
var accepted = (urls: 0, patterns: 0, hits: 0)

func check(_ condition: Bool, _ law: String, _ input: [UInt8], _ run: UInt64) {
    if condition { return }
    // Release builds drop a precondition's message, and the input is what matters.
    print("BROKEN: \(law): run \(run) of seed \(seed): \(String(decoding: input, as: UTF8.self)) \(input)")
    exit(1)
}

if let violation = TimeBound.violation() {
    print("BROKEN: too slow: \(violation)")
    exit(1)
}
for run in 0..<runs {
    let input = mutator.input()
    let text = String(decoding: input, as: UTF8.self)
    let isUTF8 = text.utf8.elementsEqual(input)
    let match = Result { () throws(RouteURLError) in try table.firstMatch(url: input.span) }
    _ = table.firstMatch(path: input.span)
    do throws(RouteURLError) {
        let url = try RouteURL(text)
        accepted.urls += 1
        mutator.keep(input)
        let components = url.components
        check(!components.contains { $0.isEmpty || $0 == "." || $0 == ".." }, "components", input, run)
        check(
            !components.contains { $0.utf8.contains { $0 < 0x20 || $0 == 0x7f } }, "no controls", input, run)
        if run % 4 == 0 {
            let again = try RouteURL(
                scheme: url.scheme, components: components, query: url.query.pairs.map { ($0.key, $0.value) },
                fragment: url.fragment)
            check(
                again.components == components && again.query.pairs == url.query.pairs, "print, parse", input,
                run)
            check(again.fragment == url.fragment && again.scheme == url.scheme, "print, parse", input, run)
        }
        let found = table.firstMatch(url)
        if isUTF8 {
            let same = try match.get()
            check(same?.index == found?.index, "bytes and text find the same", input, run)
        }
        let plain = plainTable.firstMatch(url)
        check(plain?.index == plainTable.match(url).first?.index, "both searches find the same", input, run)
        if let plain {
            accepted.hits += 1
            check(
                plainTable.parameters(of: plain, in: url).count == plain.parameterCount, "parameters", input,
                run)
            for number in 0..<plain.parameterCount {
                let range = plain.range(ofParameter: number) ?? 0..<0
                check(range.upperBound <= input.count || !isUTF8, "range", input, run)
            }
        }
        if let found {
            accepted.hits += 1
            check(
                table.parameters(of: found, in: url).count == found.parameterCount, "parameters", input, run)
        }
    } catch {
        check(error.offset >= 0 && error.offset <= text.utf8.count, "offset", input, run)
        if isUTF8, case .success = match { check(false, "bytes are refused as text is", input, run) }
    }
    do throws(RoutePatternError) {
        let pattern = try RoutePattern(text)
        accepted.patterns += 1
        mutator.keep(input)
        check(Set(pattern.placeholderNames).count == pattern.placeholderNames.count, "names", input, run)
        let isPlain = pattern.segments.allSatisfy {
            switch $0 {
            case .literal, .placeholder: true
            default: false
            }
        }
        if isPlain {
            _ = try? plainTable.add(pattern, index: UInt32(run & 0xffff), replacing: true)
            plainPatterns.append(pattern)
        }
        if plainPatterns.count > 300 { plainTable.remove(plainPatterns.remove(at: Int(run % 300))) }
        // The table changes all the time, and stays at some hundred routes.
        if case .success = Result(catching: {
            try table.add(pattern, priority: Int(run % 3 / 2), index: UInt32(run & 0xffff))
        }) {
            patterns.append(pattern)
        }
        if patterns.count > 300 {
            let old = patterns.remove(at: Int(run % 300))
            check(table.index(of: old) != nil, "held", input, run)
            check(!table.remove(old).isEmpty, "removed", input, run)
            patterns.removeAll { $0 == old }
        }
    } catch {
        check(error.offset >= 0 && error.offset <= text.utf8.count, "offset", input, run)
    }
}
print(
    "\(runs) runs of seed \(seed): \(accepted.urls) URLs, \(accepted.patterns) patterns, \(accepted.hits) hits"
)
