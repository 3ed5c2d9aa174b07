import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) struct `Fetch a service` {
    protocol Clocklike: Sendable {
        var number: Int { get }
    }

    struct Fixed: Clocklike {
        var number: Int
    }

    final class Counter: Sendable {
        let made = Guarded(0)
        func next() -> Int {
            made.withLock {
                $0 += 1
                return $0
            }
        }
    }

    @Test func `a protocol's service is fetched by type and by name`() throws {
        let registry = ServiceRegistry()
        registry.register((any Clocklike).self) { Fixed(number: 7) }
        #expect(try registry.fetch((any Clocklike).self).number == 7)
        #expect((try registry.fetch(named: "Clocklike") as? any Clocklike)?.number == 7)
        #expect((try? registry.fetch(Fixed.self)) == nil)
        registry.unregister((any Clocklike).self)
        #expect((try? registry.fetch((any Clocklike).self)) == nil)
        #expect((try? registry.fetch(named: "Clocklike")) == nil)
    }

    @Test func `a shared service is made at the first need and once, also by many threads`() async throws {
        let registry = ServiceRegistry()
        let counter = Counter()
        registry.register(Fixed.self) { Fixed(number: counter.next()) }
        #expect(counter.made.withLock { $0 } == 0)
        let numbers = await withTaskGroup { group in
            for _ in 0..<64 { group.addTask { try? registry.fetch(Fixed.self).number } }
            return await group.reduce(into: Set<Int?>()) { $0.insert($1) }
        }
        #expect(numbers == [1])
        registry.forgetInstances()
        #expect(try registry.fetch(Fixed.self).number == 2)
    }

    @Test func `a service per call is made each time`() throws {
        let registry = ServiceRegistry()
        let counter = Counter()
        registry.register(Fixed.self, lifetime: .perCall) { Fixed(number: counter.next()) }
        #expect(try registry.fetch(Fixed.self).number == 1)
        #expect(try registry.fetch(Fixed.self).number == 2)
    }

    @Test func `a factory may fetch other services and one that needs itself fails`() throws {
        struct Inner: Sendable {}
        struct Outer: Sendable {}
        let registry = ServiceRegistry()
        registry.register(Inner.self) { Inner() }
        registry.register(Outer.self) {
            _ = try registry.fetch(Inner.self)
            return Outer()
        }
        #expect(throws: Never.self) { try registry.fetch(Outer.self) }
        registry.register(Inner.self) {
            _ = try registry.fetch(Outer.self)
            return Inner()
        }
        registry.forgetInstances()
        registry.register(Outer.self) {
            _ = try registry.fetch(Inner.self)
            return Outer()
        }
        #expect(throws: Failure.self) { try registry.fetch(Outer.self) }
    }

    @Test func `a factory that fails is tried again`() throws {
        struct NotYet: Error {}
        let registry = ServiceRegistry()
        let counter = Counter()
        registry.register(Fixed.self) {
            let number = counter.next()
            if number == 1 { throw NotYet() }
            return Fixed(number: number)
        }
        #expect(throws: NotYet.self) { try registry.fetch(Fixed.self) }
        #expect(try registry.fetch(Fixed.self).number == 2)
    }

    @Test func `several services are registered in one step`() throws {
        let registry = ServiceRegistry()
        registry.register([
            ServiceProvider((any Clocklike).self, make: { Fixed(number: 1) }),
            ServiceProvider(Fixed.self, name: "second", lifetime: .perCall, make: { Fixed(number: 2) }),
        ])
        #expect(try registry.fetch((any Clocklike).self).number == 1)
        #expect((try registry.fetch(named: "second") as? Fixed)?.number == 2)
    }
}
