import Waypost
import WaypostMessages

/// A document that the broker keeps, and that a change begins with.
///
/// Whoever may write the topic has written it, and an agent that is away has not said what it makes of it: what is
/// changed and signed again would be vouched for by the key, all of it.
struct KeptDocument<Content> {
    /// What it is, in a sentence: `the map of @lobby`.
    let subject: String
    let payload: [UInt8]
    /// Reads it as an agent does that trusts these keys.
    let read: (TrustedKeys) throws(Failure) -> Content

    /// What a change begins with; nil when it is no such document.
    ///
    /// - Parameter remedy: What to do where it must not be signed again.
    /// - Throws: ``BackendError`` of kind `notSent` when it is signed and the change is not, or when an agent that trusts
    ///   the signer's keys would refuse it.
    func content(for signer: Signer?, orElse remedy: Wording) throws(BackendError) -> Content? {
        guard let content = try? read(.none) else { return nil }
        guard let signer else {
            guard !isSigned else {
                throw BackendError(
                    .notSent,
                    "not sent: \(subject) is signed; \(library: "give the backend a signer", shell: "sign the change with --sign-key")"
                )
            }
            return content
        }
        guard let refusal = refusal(by: signer) else { return content }
        throw BackendError(
            .notSent,
            "not sent: the broker keeps \(subject) in a form that \(signer.id) must not sign again, \(refusal.code): \(refusal.detail); \(remedy)"
        )
    }

    /// Why its content must not be signed again; nil where it may be.
    func refusal(by signer: Signer) -> Failure? {
        do throws(Failure) {
            _ = try read(signer.trusted)
            return nil
        } catch {
            return error
        }
    }

    private var isSigned: Bool {
        (try? JSONValue(parsing: payload, limits: .trustedFile)).map { SignedEnvelope.isOne($0) } ?? false
    }
}

extension KeptDocument<MapDocument> {
    /// The whole map of an agent or a group.
    init(map payload: [UInt8], of audience: Audience) {
        self.init(subject: "the map of \(audience)", payload: payload) { (trusted) throws(Failure) in
            let map = try MapDocument(
                payload, isPatch: false,
                MapDocument.Rules(maximumBytes: payload.count, limits: .trustedFile, trusted: trusted))
            guard map.audience == nil || map.audience == audience.description else {
                throw Failure(
                    .badField, "aud is \(map.audience?.quoted ?? ""), the topic is that of \(audience)")
            }
            return map
        }
    }
}

extension KeptDocument<GroupsDocument> {
    /// The groups of an agent.
    init(groups payload: [UInt8], of agent: String) {
        self.init(subject: "the document of the groups of \(agent)", payload: payload) {
            (trusted) throws(Failure) in
            try GroupsDocument(payload, for: agent, trusted: trusted, limits: .trustedFile)
        }
    }
}
