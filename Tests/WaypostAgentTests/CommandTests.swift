import Testing
import Waypost

@testable import WaypostMessages

@Suite struct `Reading a command` {
    private func read(_ text: String, arrival: Int64 = 1_000_000) throws -> Command {
        let json = try JSONValue(parsing: text)
        return try Command(id: try Command.id(in: json), fields: json, arrival: arrival)
    }

    @Test func `the examples of the protocol are read as they stand`() throws {
        let open = try read(
            #"{"id":"c-17","type":"open","url":"scheme://router/demo?id=2","params":{"name":"AKyS"}}"#)
        #expect(open.id == "c-17")
        #expect(open.operation == .open(url: "scheme://router/demo?id=2", parameters: ["name": "AKyS"]))
        let call = try read(
            #"{"id":"c-18","type":"call","service":"AppConfigServiceProtocol","method":"openMiniProgram","args":{"info":{"key":"value"}}}"#
        )
        #expect(
            call.operation
                == .call(
                    service: "AppConfigServiceProtocol", method: "openMiniProgram",
                    arguments: .labeled(["info": ["key": "value"]])))
    }

    @Test func `without exp a command lives a minute from at, or from its arrival`() throws {
        #expect(try read(#"{"id":"a","type":"ping"}"#).expires == 1_060_000)
        #expect(try read(#"{"id":"a","type":"ping","at":500000}"#).expires == 560_000)
    }

    @Test func `an exp beyond a day is brought down to a day`() throws {
        #expect(try read(#"{"id":"a","type":"ping","exp":1999999999000}"#).expires == 1_000_000 + 86_400_000)
    }

    @Test(arguments: [
        (#""when":7"#, "when must be an object"), (#""when":{"region":"eu"}"#, "when.region is unknown"),
        (#""when":{"before":1}"#, "when.after and when.before are for maps"),
        (#""when":{"targets":{}}"#, "when.targets"), (#""when":{"build":"new"}"#, "it must be a range"),
        (#""when":{"share":{"percent":10,"salt":"a","by":"id"}}"#, "goes by the agent"),
    ])
    func `a condition that is none is refused`(field: String, detail: String) {
        #expect {
            _ = try read(#"{"id":"c","type":"open","url":"a://b",\#(field)}"#)
        } throws: { error in
            (error as? Failure)?.code == .badField && "\(error)".contains(detail)
        }
        #expect(throws: Failure.self) { _ = try read(#"{"id":"c","type":"ping","when":{}}"#) }
    }

    @Test func `the same for other clients is another command`() throws {
        func content(_ fields: String) throws -> [UInt8] {
            let json = #"{"id":"c","type":"open","url":"a://b"\#(fields)}"#
            return Command.content(of: Fields(of: try JSONValue(parsing: json)), nil)
        }
        let eu = try content(#","when":{"labels":{"region":"eu"}}"#)
        #expect(try eu == content(#","lane":"x","when":{"labels":{"region":"eu"}}"#))
        #expect(try eu != content("") && eu != content(#","when":{"labels":{"region":"us"}}"#))
        #expect(try content("") == content(#","when":null"#))
    }

    private static let doubtful: [(text: String, warnings: [String])] = [
        (
            #"{"id":"a","type":"open","url":"s://h","params":{},"note":1}"#,
            ["the field note is unknown and was ignored"]
        ),
        (
            #"{"id":"a","type":"open","url":"s://h","parms":{}}"#,
            ["the field parms is unknown and was ignored; did you mean params?"]
        ),
        (
            #"{"id":"a","type":"call","service":"S","method":"m","arg":[],"Lane":"x"}"#,
            [
                "the field Lane is unknown and was ignored; did you mean lane?",
                "the field arg is unknown and was ignored; did you mean args?",
            ]
        ),
        // One that is there was not meant.
        (#"{"id":"a","type":"ping","types":"x"}"#, ["the field types is unknown and was ignored"]),
        // Those of another command mean nothing here.
        (#"{"id":"a","type":"ping","urls":"x"}"#, ["the field urls is unknown and was ignored"]),
        // As others call it.
        (
            #"{"id":"a","type":"ping","notBefore":5,"not_after":6,"my own remark":1}"#,
            [
                #"the field "my own remark" is unknown and was ignored"#,
                "the field notBefore is unknown and was ignored; did you mean after?",
                "the field not_after is unknown and was ignored; did you mean exp?",
            ]
        ),
        (
            #"{"id":"a","type":"ping","exp":1795280000}"#,
            ["exp 1795280000 looks like seconds; it is in milliseconds since 1970"]
        ),
        (
            #"{"id":"a","type":"ping","at":1795280000}"#,
            ["at 1795280000 looks like seconds; it is in milliseconds since 1970"]
        ),
        (#"{"id":"a","type":"ping","exp":1000,"at":1795280000000}"#, []),
    ]

    @Test(arguments: doubtful)
    func `what was hardly meant is a warning`(text: String, warnings: [String]) throws {
        #expect(try read(text).warnings == warnings)
        let reply = Reply(id: "a", code: .ok, at: 1, warnings: warnings)
        #expect(try Reply(JSONValue(parsing: reply.encoded())).warnings == warnings)
    }

    @Test func `there are few warnings, whatever is in it`() throws {
        let names = (0..<200).map { #""parm\#($0)":0"# }.joined(separator: ",")
        let command = try read(#"{"id":"a","type":"open","url":"s://h",\#(names)}"#)
        #expect(command.warnings.count <= Command.maximumWarnings && !command.warnings.isEmpty)
    }

    @Test(arguments: [
        (#"[]"#, 422, "BAD_FIELD"), (#"{}"#, 422, "BAD_FIELD"),
        (#"{"id":1,"type":"ping"}"#, 422, "BAD_FIELD"),
        (#"{"id":"","type":"ping"}"#, 422, "BAD_FIELD"), (#"{"id":"a b","type":"ping"}"#, 422, "BAD_FIELD"),
        (#"{"id":"a"}"#, 422, "BAD_FIELD"), (#"{"id":"a","type":7}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"dance"}"#, 404, "UNKNOWN_TYPE"),
        (#"{"id":"a","type":"ping","v":2}"#, 505, "VERSION"),
        (#"{"id":"a","type":"open"}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"open","url":1}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"open","url":"x","params":[]}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"call","service":"S"}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"call","service":"S","method":"m","args":3}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"ping","exp":"soon"}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"ping","exp":1.5}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"ping","at":-1}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"ping","at":99999999999999999}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"ping","lane":"a b"}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"ping","seq":-1}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"cancel"}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"navigate"}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"navigate","action":"up"}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"navigate","action":"showTab"}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"navigate","action":"showTab","tab":-1}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"log","level":"x","for":1}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"log","level":"v","for":3600001}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"log","level":"v"}"#, 422, "BAD_FIELD"),
        (#"{"id":"a","type":"replay","since":0,"max":501}"#, 422, "BAD_FIELD"),
    ])
    func `a field that breaks its rule is refused by name`(text: String, number: Int, name: String) throws {
        let refusal = #expect(throws: Failure.self) { try read(text) }
        #expect(refusal?.code.number == number)
        #expect(refusal?.code.name == name)
        #expect(refusal?.detail.isEmpty == false)
    }

    @Test func `unknown keys are ignored and null counts as absent`() throws {
        #expect(try read(#"{"id":"a","type":"ping","color":"red","lane":null}"#).lane == "main")
    }
}
