import MQTTLink
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend

/// What is said of agents that gave no result: never against what they said, and in the words of who shows it.
@Suite struct `Words about a missing reply` {
    private static let topics = Topics.standard

    private static func reply(_ agent: String, _ status: String, to id: String = "c1") -> MQTTMessage {
        let json: JSONValue = ["id": .string(id), "status": .string(status), "code": 0, "name": "OK"]
        return .json(topics.reply(of: agent, to: "ops"), json.serialized())
    }

    private static func state(_ agent: String, isOnline: Bool) -> MQTTMessage {
        let state = AgentState(
            isOnline: isOnline, epoch: 1, boot: "b1", reason: isOnline ? .birth : .will, agent: agent,
            version: "1", mqtt: 5)
        return .json(topics.state(of: agent), state.encoded(), retain: true)
    }

    /// What was seen of one agent, in each order, and what must and must not be said.
    @Test(arguments: [true, false, nil] as [Bool?])
    func `an agent that accepted a command is not said to be silent`(_ isOnline: Bool?) {
        for isFirst in [true, false] {
            var diagnosis = NoReplyDiagnosis(.agent("k1"), topics: Self.topics)
            diagnosis.command = "c1"
            if isFirst { diagnosis.saw(Self.reply("k1", "accepted")) }
            if let isOnline { diagnosis.saw(Self.state("k1", isOnline: isOnline)) }
            if !isFirst { diagnosis.saw(Self.reply("k1", "accepted")) }
            for wording in [diagnosis.explanation(after: "1 s"), diagnosis.explanation(after: nil)] {
                for text in [wording.library, wording.shell] {
                    #expect(text.hasPrefix("k1 accepted it, and gave no result"), "\(text)")
                    for wrong in ["does not answer", "no reply", "never received", "there is no agent"] {
                        #expect(!text.contains(wrong), "\(text)")
                    }
                }
            }
        }
    }

    @Test func `a reply to another command is no evidence`() {
        var diagnosis = NoReplyDiagnosis(.agent("k1"), topics: Self.topics)
        diagnosis.command = "c1"
        diagnosis.saw(Self.reply("k1", "accepted", to: "c2"))
        #expect(diagnosis.explanation(after: "1 s").library.hasPrefix("no reply from k1 within 1 s"))
    }

    @Test func `of a group it is said who took it on`() {
        var diagnosis = NoReplyDiagnosis(.all, topics: Self.topics)
        diagnosis.command = "c1"
        for agent in ["k1", "k2"] { diagnosis.saw(Self.state(agent, isOnline: true)) }
        #expect(diagnosis.silence(besides: [], after: "1 s")?.library.contains("did not reply") == true)
        diagnosis.saw(Self.reply("k1", "accepted"))
        #expect(
            diagnosis.silence(besides: [], after: "1 s")?.shell
                == "2 of 2 agents gave no result within 1 s: k1 (accepted it), k2; see: waypost doctor --agent k2"
        )
    }

    @Test func `a library says what a program can do, and the shell what a person can type`() {
        let wording: Wording =
            "the map is signed\(library: "; give a signer", shell: "; use --sign-key") and \(1)"
        #expect(wording.library == "the map is signed; give a signer and 1")
        #expect(wording.shell == "the map is signed; use --sign-key and 1")
        let diagnosis = NoReplyDiagnosis(.agent("k1"), topics: Self.topics)
        // A text with a part that is worded twice was read as a String, which shows both as Swift writes them.
        for part in [wording, diagnosis.explanation(after: "1 s")] {
            let error = BackendError(.noReply, "\(part) (c1)")
            #expect(
                error.description == "\(part.library) (c1)" && error.wording.shell == "\(part.shell) (c1)")
        }
        #expect(!diagnosis.explanation(after: nil).library.contains("waypost "))
        #expect(diagnosis.explanation(after: nil).shell.contains("--wait"))
    }
}
