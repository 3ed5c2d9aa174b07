package import Waypost

/// A command's payload: the object itself, or the object in a signed envelope.
package struct CommandPayload: Sendable {
    package let fields: Fields
    /// The command as one value.
    package var json: JSONValue { fields.json }
    /// Why the signatures are not accepted, or a number of the command is none that can be kept; nil for neither.
    package private(set) var fault: Failure?

    /// Reads a payload that was checked when it arrived, without checking its signatures again.
    ///
    /// - Throws: ``Failure`` for what is no JSON or beyond the limits.
    package init(stored bytes: [UInt8], limits: JSONLimits) throws(Failure) {
        (fields, _, _) = try Self.unwrap(bytes, limits)
    }

    /// Reads a payload for an audience, and checks its signatures and what they must cover.
    ///
    /// - Parameters:
    ///   - arrival: the agent's clock, in milliseconds since 1970; nil when it can't be trusted, and then the command is
    ///     refused anyway, because it has an `exp`.
    ///   - longest: how long the agent keeps a command, in milliseconds.
    /// - Throws: ``Failure`` for what is no JSON or beyond the limits.
    package init(
        _ bytes: [UInt8], limits: JSONLimits, trusted: TrustedKeys, mustBeSigned: Bool,
        for audience: Audience, from sender: String, arrival: Int64?,
        keptFor longest: Int64 = Command.maximumLifetime
    ) throws(Failure) {
        let envelope: SignedEnvelope?
        (fields, envelope, fault) = try Self.unwrap(bytes, limits)
        guard trusted.arePinned else { return }
        do throws(Failure) {
            guard let envelope else {
                if mustBeSigned {
                    throw Failure(.unsigned, "commands must be signed; this one is not")
                }
                return
            }
            try trusted.check(envelope)
            try checkScope(audience, sender, arrival, longest)
        } catch {
            fault = error
        }
    }

    /// Whether a signed command is for this receiver, of this sender and for a limited time: otherwise it could be
    /// used again in another place, under another name, or once its id is forgotten.
    private func checkScope(
        _ audience: Audience, _ sender: String, _ arrival: Int64?, _ longest: Int64
    ) throws(Failure) {
        for (name, wanted) in [("aud", audience.description), ("from", sender)] {
            guard let found = try fields.text(name) else {
                throw Failure(.badField, "\(name) is missing; a signed command contains it")
            }
            guard found == wanted else {
                throw Failure(
                    .notAllowed, "\(name) of the signed command is not \(wanted), as the topic says")
            }
        }
        guard let expires = try fields.integer("exp", in: 0...Fields.latestTime) else {
            // A `ttl` counts from each arrival: who has the command could use it again for ever.
            throw Failure(.badField, "exp is missing; a signed command contains it, and no ttl")
        }
        if let arrival, expires - arrival > longest {
            throw Failure(
                .badField, "exp of a signed command must be at most \(TimeText.span(longest)) ahead")
        }
    }

    private static func unwrap(
        _ bytes: [UInt8], _ limits: JSONLimits
    ) throws(Failure) -> (Fields, SignedEnvelope?, fault: Failure?) {
        let outer: Fields
        let fault: Failure?
        do throws(JSONError) {
            (outer, fault) = try read(bytes, limits)
        } catch {
            guard case .stringTooLong = error.reason else { throw error.rejection }
            // A command in its envelope is one long text.
            var longer = limits
            longer.maximumStringBytes = limits.maximumBytes
            guard let long = try? Fields(parsing: bytes, limits: longer), SignedEnvelope.isOne(long) else {
                throw error.rejection
            }
            return try open(long, limits)
        }
        return SignedEnvelope.isOne(outer) ? try open(outer, limits) : (outer, nil, fault)
    }

    private static func open(
        _ fields: Fields, _ limits: JSONLimits
    ) throws(Failure) -> (Fields, SignedEnvelope?, fault: Failure?) {
        let envelope = try SignedEnvelope(fields)
        guard envelope.payloadType != SignedEnvelope.mapType else {
            throw Failure(.badField, "payloadType is that of a map, not of a command")
        }
        do throws(JSONError) {
            let (fields, fault) = try read(envelope.payload, limits)
            return (fields, envelope, fault)
        } catch {
            throw error.rejection
        }
    }

    /// The members, and why the command is refused anyway: with its id, so that its sender hears of it.
    private static func read(
        _ bytes: [UInt8], _ limits: JSONLimits
    ) throws(JSONError) -> (Fields, fault: Failure?) {
        do throws(JSONError) {
            return (try Fields(parsing: bytes, limits: limits), nil)
        } catch {
            switch error.reason {
            case .integerOutOfRange, .numberOutOfRange: break
            default: throw error
            }
            var rounding = limits
            rounding.roundsNumbers = true
            return (try Fields(parsing: bytes, limits: rounding), error.rejection)
        }
    }
}
