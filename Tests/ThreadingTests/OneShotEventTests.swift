import TestSupport
import Testing
import Threading

@Suite(.patient) struct `An event that happens once` {
    @Test func `lets all go on that wait for it, and all that come later`() async {
        let event = OneShotEvent()
        await withTaskGroup { group in
            for _ in 0..<50 { group.addTask { await event.wait() } }
            for _ in 0..<50 { group.addTask { await event.waitUnlessCancelled() } }
            group.addTask { event.fire() }
        }
        await event.wait()
        await event.waitUnlessCancelled()
    }

    @Test func `is waited for in a task that is cancelled, unless that is not wanted`() async {
        let event = OneShotEvent()
        let (patient, impatient) = (Race<Bool>(), Race<Void>())
        let waiting = Task {
            await event.wait()
            patient.finish(Task.isCancelled)
        }
        let other = Task {
            await event.waitUnlessCancelled()
            impatient.finish(())
        }
        waiting.cancel()
        other.cancel()
        await impatient.outcome()
        #expect(patient.first == nil)
        event.fire()
        #expect(await patient.outcome())
    }
}
