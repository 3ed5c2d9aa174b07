package import Waypost

/// What a code means and what to do about it, in the words of the guide to operating.
package struct CodeExplanation {
    package let code: Code
    package let meaning: String
    package let advice: String

    /// The explanation of a code, by its number or its name in any case; several have the same number.
    package static func find(_ text: String) -> [CodeExplanation] {
        if let number = Int(text), Code.applicationNumbers.contains(number) {
            return [
                CodeExplanation(
                    number, "of the application",
                    "the program that runs in the agent has this code, and not Waypost",
                    "read the detail and the payload of the reply; ask who wrote the program")
            ]
        }
        return all.filter { text == "\($0.code.number)" || text.uppercased() == $0.code.name }
    }

    /// All codes, in the order of their numbers.
    package static let all: [CodeExplanation] = [
        .init(
            0, "OK",
            "the command succeeded",
            "nothing"),
        .init(
            400, "BAD_JSON",
            "the payload is not strict JSON: the detail names the byte",
            "correct the sender; look for trailing commas, duplicate keys, a byte order mark"),
        .init(
            401, "UNSIGNED",
            "a trusted key is configured, and this has no signature",
            "sign it with a trusted key: waypost relocate --sign-key FILE; a bare array of entries must be signed too"
        ),
        .init(
            401, "BAD_SIGNATURE",
            "too few valid signatures of trusted keys",
            "compare the key ids; sign the exact bytes"),
        .init(
            403, "NOT_ALLOWED",
            "this scheme, host, method or target is not open to the outside, the command to cancel is another sender's, or a signed command is for another receiver or of another sender",
            "if it is meant to be open, allow it in the host application"),
        .init(
            403, "RETAINED_COMMAND",
            "the command was published as a retained message",
            "clear it with an empty retained message on that topic; publish commands without the retain flag"),
        .init(
            403, "INTERCEPTED",
            "an interceptor or a hook stopped it; the detail says why",
            "do what the reason asks for, such as signing in"),
        .init(
            404, "NO_ROUTE",
            "no route matches this URL",
            "check the similar routes in the reply; if installed clients use a wrong URL, redirect it: waypost relocate"
        ),
        .init(
            404, "NO_SERVICE",
            "no service of this name is exposed",
            "check the similar names in the reply; does this build have it?"),
        .init(
            404, "NO_METHOD",
            "the service exposes no such method, or the short name is ambiguous",
            "check the similar names in the reply; give the full name, labels included"),
        .init(
            404, "NO_NAVIGATOR",
            "this program has no navigator, or it does not support this action",
            "Router.use(_:) sets the navigator"),
        .init(
            404, "NO_COMMAND",
            "the command to cancel is not waiting or running: it has ended or was never received",
            "to get its reply, send it again with the same id"),
        .init(
            404, "UNKNOWN_TYPE",
            "no command of this type",
            "correct the sender"),
        .init(
            408, "DEADLINE",
            "the handler did not end in time, or no thread was free for it",
            "find out what it waits for; raise handler-deadline if it may take longer"),
        .init(
            409, "ID_REUSED",
            "this id was already used for a different command",
            "generate a new id for each command"),
        .init(
            409, "ROLLBACK",
            "a map with a lower revision than one before, or a patch that does not build on what is in force",
            "raise the revision, or read nextPatch in map/applied; perhaps two release pipelines send maps"),
        .init(
            409, "EQUIVOCATION",
            "a map with a revision that was already used, but with different content",
            "raise the revision with every change, also of white space"),
        .init(
            410, "EXPIRED",
            "it expired before it could start, or a map came after its exp",
            "allow more time; check whether the agent was offline, the lane busy, or the agent's clock ahead (waypost ping): then send commands with --ttl, and maps without exp"
        ),
        .init(
            412, "NOT_MEANT",
            "the command is for other clients of the group: its when does not hold here",
            "nothing, if that is so; the detail says what the client is"),
        .init(
            413, "TOO_LARGE",
            "over a limit of size, depth, keys or entries; or the command has run, and its reply is larger than the agent or the broker allows: the detail then says how it ended",
            "make smaller what the detail names: a map by fewer entries, a command by fewer parameters, a reply by what the handler returns; the limits are in health"
        ),
        .init(
            422, "BAD_FIELD",
            "a field is missing or does not fit; the detail names it",
            "correct the sender"),
        .init(
            422, "CYCLE",
            "redirects form a cycle; the detail shows it",
            "remove one of them"),
        .init(
            422, "CHAIN",
            "more than 8 redirects in a row, opens within opens too deep, or redirects that take too many of the same URLs to be checked",
            "redirect the first directly to the last; make the origins narrower"),
        .init(
            422, "UNKNOWN_KIND",
            "a map has an entry of a kind that this version does not know; the whole map is refused",
            "update the agent, or send it a map without that kind; waypost map diff names such agents before"),
        .init(
            425, "CLOCK_SKEW",
            "at is more than 30 s ahead of the agent's clock",
            "synchronise both clocks with NTP; until then send commands with --ttl"),
        .init(
            429, "BUSY",
            "one sender sends too fast, or holds its share of the ids, of the queue or of the store; or too many commands wait, too many ids are remembered, or maps come faster than map-rate",
            "slow down and send it again, with the same id if you like: it was not stored. Nor is this reply, so a crash may lose it"
        ),
        .init(
            499, "CANCELED",
            "its sender canceled it",
            "nothing"),
        .init(
            500, "HANDLER_FAILED",
            "the handler or the method threw; the detail says what",
            "check the host application"),
        .init(
            503, "DISK",
            "the agent cannot write its state (disk full, or store-bytes reached); in a failure report also: stored data is damaged",
            "free disk space, or raise store-bytes; the agent goes on by itself. After damage, check the disk"
        ),
        .init(
            503, "CLOCK",
            "the agent's clock is wrong or was stepped",
            "set the clock of the agent's machine: timedatectl set-ntp true; until then send commands with --ttl, and maps without exp"
        ),
        .init(
            503, "OUTBOX",
            "too many messages wait for the broker",
            "restore the connection to the broker; raise the outbox limits"),
        .init(
            503, "SWITCHED_OFF",
            "a map has switched this URL, service or method off; the detail has the reason",
            "read the reason; waypost map shows the entry, waypost relocate --on or waypost map undo takes it back"
        ),
        .init(
            503, "MODULE",
            "the feature module behind the route or service could not be set up",
            "fix the reason, which is in the reply and in health, and restart the agent"),
        .init(
            505, "VERSION",
            "another major version of the protocol",
            "use one that the detail lists"),
        .init(
            520, "INTERRUPTED",
            "the agent ended while the command ran, and it is not declared idempotent; or it is, and the agent ended during it three times",
            "find out whether it took effect; send it again under a new id if not"),
        .init(
            530, "CONNECT_REFUSED",
            "the broker refused the connection; the detail has its reason",
            "check the user name, the password and the broker's rules"),
        .init(
            531, "TLS",
            "the TLS handshake failed",
            "check the certificate's dates, the name in it, and the authority, on both sides"),
        .init(
            532, "ACL_SUSPECTED",
            "a message of the agent to itself did not come back",
            "allow the agent to read and write this topic in the broker's rules"),
        .init(
            533, "CLIENT_ID_CONFLICT",
            "another client with the same client id takes over the session",
            "find the second agent of this name; the client id is the agent's name"),
        .init(
            534, "SESSION_LOST",
            "the broker no longer had the session, and what it kept for the agent is gone",
            "switch on the broker's persistence; send commands without a reply again"),
        .init(
            535, "SUB_REFUSED",
            "the broker refused a subscription",
            "allow the agent to read and write this topic in the broker's rules"),
        .init(
            536, "SEQ_GAP",
            "a sender's seq jumped: a command was lost or came twice, or two senders share a name",
            "compare with the sender's log"),
        .init(
            537, "DROPPED",
            "reports were dropped, because the outbox was full",
            "restore the connection to the broker; raise the outbox limits"),
        .init(
            538, "MAP_EXPIRED",
            "the map in force is past its exp",
            "send a newer one"),
        .init(
            539, "LOOP_STALLED",
            "the network thread did not respond",
            "check for a hanging disk or an overloaded machine"),
        .init(
            540, "ROLLOUT_GUARD",
            "opens of URLs that the map of a roll-out changes failed too often, and the agent went back to the map before by itself",
            "look at these failures before you go on: waypost rollout status, waypost failures --agent ID"),
    ]

    private init(_ number: Int, _ name: String, _ meaning: String, _ advice: String) {
        code = Code(number: number, name: name)
        self.meaning = meaning
        self.advice = advice
    }

    /// `{"code","name","status","retryable","means","do"}`.
    package var json: JSONValue {
        [
            "code": .int(Int64(code.number)), "name": .string(code.name),
            "status": code.status.map { .string($0.rawValue) } ?? .null,
            // Of a code of the application only the program knows it.
            "retryable": Code.applicationNumbers.contains(code.number) ? .null : .bool(code.isRetryable),
            "means": .string(meaning), "do": .string(advice),
        ]
    }
}
