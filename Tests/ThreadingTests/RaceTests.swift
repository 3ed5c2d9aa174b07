import TestSupport
import Testing
import Threading

@Suite(.patient) struct `A race` {
    @Test func `has the result that comes first, and drops later ones`() async {
        let race = Race<Int>()
        #expect(race.first == nil)
        race.finish(1)
        race.finish(2)
        #expect(race.first == 1)
        #expect(await race.outcome() == 1)
    }

    @Test func `wakes the one who waits for it`() async {
        let race = Race<String>()
        async let outcome = race.outcome()
        race.finish("first")
        #expect(await outcome == "first")
    }

    @Test func `ends with the value of its time, unless that is taken back`() async {
        let race = Race<Int>()
        let takeBack = race.finish(1, after: .seconds(600), on: ContinuousClock())
        takeBack()
        let late = race.finish(2, after: .zero, on: ContinuousClock())
        #expect(await race.outcome() == 2)
        late()
    }
}
