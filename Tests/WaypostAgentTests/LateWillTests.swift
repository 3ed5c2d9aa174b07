import Testing
import WaypostMessages

@Suite struct `A late will` {
    private func state(_ epoch: Int64, online: Bool, _ reason: AgentState.Reason) -> AgentState {
        AgentState(
            isOnline: online, epoch: epoch, boot: "b", reason: reason, agent: "k1", version: "1", mqtt: 5)
    }

    @Test func `is no news after a newer birth, and an end of the same connection is`() {
        let birth = state(7, online: true, .birth)
        #expect(!state(6, online: false, .will).isNews(after: birth))
        #expect(state(7, online: false, .will).isNews(after: birth))
        #expect(state(7, online: false, .shutdown).isNews(after: birth))
        #expect(state(8, online: false, .will).isNews(after: birth))
        #expect(state(6, online: false, .will).isNews(after: nil))
        // An agent whose state directory was removed begins with 1 again.
        #expect(state(1, online: true, .birth).isNews(after: birth))
    }

    @Test func `that replaced the birth is given away by the health of the later connection`() {
        let will = state(6, online: false, .will)
        #expect(will.isOnline(withHealthOf: 7))
        #expect(!will.isOnline(withHealthOf: 6))
        #expect(!will.isOnline(withHealthOf: nil))
        #expect(state(7, online: true, .birth).isOnline(withHealthOf: 6))
    }
}
