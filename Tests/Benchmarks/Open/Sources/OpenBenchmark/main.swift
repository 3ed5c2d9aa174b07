import CProbe
import Dispatch
import Glibc
import Waypost

// usage: OpenBenchmark [ROUNDS [NAME]] | OpenBenchmark growth | OpenBenchmark count [NAME]
// Prints a line for each measure whose name begins with NAME: its name, the median and the least of ns, and how many
// allocations and changes of thread there were for each. With growth: lines of routes, measure and value. With count,
// for scripts/checks/instructions under callgrind: how often each ran between probe_begin and probe_end, and its name.
let isCounting = CommandLine.arguments.dropFirst().first == "count"
let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 15
let wanted = CommandLine.arguments.dropFirst(2).first ?? ""

func measure(_ name: String, _ count: Int = 5_000, _ body: () async -> Bool) async {
    guard name.hasPrefix(wanted) else { return }
    guard !isCounting else { return await callOften(name, min(count, 500), body) }
    var times: [Double] = []
    var allocations: UInt64 = 0
    var switches = 0
    for round in 0...rounds {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let (allocationsBefore, switchesBefore) = (probe_allocation_count(), usage.ru_nvcsw)
        let start = ContinuousClock.now
        for _ in 0..<count where await !body() { print("failed:", name) }
        let duration = ContinuousClock.now - start
        // The first round warms up.
        guard round > 0 else { continue }
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        allocations += probe_allocation_count() - allocationsBefore
        switches += usage.ru_nvcsw - switchesBefore
        times.append(
            Double(duration.components.attoseconds) / 1e9 / Double(count)
                + Double(duration.components.seconds) * 1e9 / Double(count))
    }
    let total = Double(rounds * count)
    let sorted = times.sorted()
    print(
        "\(name)\t\(Int(sorted[sorted.count / 2]))\t\(Int(sorted[0]))\t\(tenths(Double(allocations) / total))\t\(tenths(Double(switches) / total))"
    )
}

/// What is made once for all, and memory that grows with the first, is not between the marks.
func callOften(_ name: String, _ count: Int, _ body: () async -> Bool) async {
    for _ in 0..<min(count, 200) where await !body() { print("failed:", name) }
    probe_begin()
    for _ in 0..<count where await !body() { print("failed:", name) }
    probe_end()
    print("\(count)\t\(name)")
}

func tenths(_ value: Double) -> Double { (value * 10).rounded() / 10 }

func makeRouter(_ count: Int) throws -> Router {
    let router = Router()
    try router.register(
        (0..<count).map { number in
            Route("myapp://service\(number % 97)/module\(number / 97)/action\(number % 7)") { _ in .opened() }
        })
    try router.register("myapp://home") { _ in .opened() }
    try router.register("myapp://orders/:id") { request in .opened(request.parameters["id"]) }
    try router.register("myapp://slow") { _ in
        await Task.yield()
        return .opened()
    }
    try router.relocate([
        RelocationLayer(
            name: "agent", entries: [RelocationEntry(.replace(origin: "myapp://old", target: "myapp://home"))]
        )
    ])
    try router.services.expose(
        ExposedService("Calculator", instance: 1) {
            Exposed("add(a:b:)", idempotent: true) { (_: Int, a: Int, b: Int) in a + b }
        })
    return router
}

func common(_ router: Router, _ place: String) async {
    await measure("open, literal, \(place)") { await router.open("myapp://home").isSuccess }
    await measure("open, placeholder and two query parameters, \(place)") {
        await router.open("myapp://orders/42?tab=items&source=push").isSuccess
    }
}

/// How look-up, open, miss and memory grow with the routes.
func growth() async throws {
    func residentKiB() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var (size, resident) = (0, 0)
        withUnsafeMutablePointer(to: &size) { size in
            withUnsafeMutablePointer(to: &resident) { resident in
                _ = withVaList([size, resident]) { vfscanf(file, "%ld %ld", $0) }
            }
        }
        return resident * sysconf(Int32(_SC_PAGESIZE)) / 1_024
    }
    func least(_ count: Int, _ body: () async -> Bool) async -> Double {
        var best = Double.infinity
        for _ in 0..<7 {
            let start = ContinuousClock.now
            for _ in 0..<count where await !body() { print("failed") }
            let time = (ContinuousClock.now - start).components
            best = min(best, (Double(time.seconds) * 1e9 + Double(time.attoseconds) / 1e9) / Double(count))
        }
        return best
    }
    // What is made once for all is not counted.
    let first = try makeRouter(10)
    _ = await first.open("myapp://home")
    for count in [10, 100, 1_000, 10_000, 100_000] {
        let before = residentKiB()
        let router = try makeRouter(count)
        let memory = max(1, residentKiB() - before)
        var number = 0
        func next() -> String {
            number = (number + 7) % count
            return "myapp://service\(number % 97)/module\(number / 97)/action\(number % 7)"
        }
        let text = await least(5_000) { !next().isEmpty }
        let resolve = await least(5_000) { router.resolve(next()).error == nil }
        let open = await least(5_000) { await router.open(next()).isSuccess }
        let miss = await least(5_000) { await !router.open("\(next())/more").isSuccess }
        let nearest = await least(max(10, 100_000 / count)) {
            await router.open("\(next())/more").nearest.count <= 3
        }
        for (name, value) in [
            ("resolve, ns", resolve - text), ("open, ns", open - text), ("miss, ns", miss - text),
            ("miss, nearest read, ns", nearest - text), ("memory, KiB", Double(memory)),
        ] { print("\(count)\t\(name)\t\(Int(value))") }
    }
}

if CommandLine.arguments.dropFirst().first == "growth" {
    try await Task.detached { try await growth() }.value
    exit(0)
}

/// What a task pays.
func measureTask() async throws {
    let router = try makeRouter(200)
    await common(router, "task")
    await measure("open, one redirect, task") { await router.open("myapp://old").isSuccess }
    // It changes the thread or not, as it comes.
    if !isCounting {
        await measure("open, handler that yields, task") { await router.open("myapp://slow").isSuccess }
    }
    await measure("resolve, literal") { router.resolve("myapp://home").error == nil }
    await measure("resolve, placeholder and two query parameters") {
        router.resolve("myapp://orders/42?tab=items&source=push").error == nil
    }
    await measure("resolve, placeholder and two query parameters, all read") {
        router.resolve("myapp://orders/42?tab=items&source=push").parameters.path["id"] == "42"
    }
    await measure("call, two integers") {
        let sum = try? await router.services.call(
            "Calculator", "add(a:b:)", arguments: .positional([2, 40]))
        return sum == 42
    }
    for count in isCounting ? [200] : [200, 10_000, 100_000] {
        let name = "open that finds nothing, \(count) routes"
        guard name.hasPrefix(wanted) else { continue }
        let router = try makeRouter(count)
        var number = 0
        func miss() async -> Opening {
            number += 1
            return await router.open("myapp://service\(number % 97)/module1/acton\(number % 7)")
        }
        await measure(name, 1_000) { await !miss().isSuccess }
        await measure("\(name), its nearest read", isCounting ? 20 : max(20, 200_000 / count)) {
            let opening = await miss()
            return !opening.isSuccess && opening.nearest.count <= 3
        }
    }
}

/// Not awaited: the main thread of a program that does so ends, and valgrind 3.19 with it.
func countInTask() {
    let ended = DispatchSemaphore(value: 0)
    Task.detached {
        try await measureTask()
        ended.signal()
    }
    ended.wait()
}

if isCounting {
    countInTask()
    exit(0)
}
await common(try makeRouter(200), "main actor")
try await Task.detached { try await measureTask() }.value
