import ArgumentParser
import Waypost
import WaypostBackend
import WaypostLab
import WaypostMessages

/// The options of `waypost simulate` that are more than a word or a number.
enum FleetOptions {
    /// `2.3.0=1,2.4.0=3`: versions, each with its weight, 1 unless given.
    static func versions(_ text: String) throws -> [FleetPlan.Share] {
        let shares = try text.split(separator: ",").map { part in
            let words = part.split(separator: "=", omittingEmptySubsequences: false)
            let weight = words.count == 1 ? 1 : Int(words[1])
            guard words.count <= 2, !words[0].isEmpty, words[0].utf8.count <= 64, let weight,
                (1...1_000_000).contains(weight)
            else {
                throw ValidationError(
                    "--versions must be like 2.3.0=1,2.4.0=3; found \(String(part).debugDescription)")
            }
            return FleetPlan.Share(version: String(words[0]), weight: weight)
        }
        guard !shares.isEmpty, Set(shares.map(\.version)).count == shares.count else {
            throw ValidationError("--versions must name each version once, and at least one")
        }
        return shares
    }

    /// `5%` or `0.05`.
    static func share(_ text: String) throws -> Double {
        let isPercent = text.hasSuffix("%")
        guard let number = Double(isPercent ? String(text.dropLast()) : text),
            case let share = isPercent ? number / 100 : number, (0...1).contains(share)
        else {
            throw ValidationError("--problems must be like 5% or 0.05; found \(text.debugDescription)")
        }
        return share
    }

    static func faults(_ text: String) throws -> [SimulatedFault] {
        let known = SimulatedFault.allCases.map(\.rawValue)
        return try text.split(separator: ",").map { word in
            guard let fault = SimulatedFault(rawValue: String(word)) else {
                let near = NearestNames.find(String(word), among: known, limit: 1, slips: 2)
                throw ValidationError(
                    "--faults: there is no \(word)\(NearestNames.question(near)) (known: \(known.joined(separator: ", ")))"
                )
            }
            return fault
        }
    }

    /// Reads `42:fail=5%`, `42:die=10%`, `42:refuse=2.3.0`.
    static func mapFault(_ text: String) throws -> MapFault {
        func mistake() -> ValidationError {
            ValidationError(
                "--map-fault must be like 42:fail=5%, 42:die=10%, 42:refuse=2.3.0; found \(text.debugDescription)"
            )
        }
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let revision = Int64(parts[0]), revision > 0 else { throw mistake() }
        let words = parts[1].split(separator: "=", maxSplits: 1).map(String.init)
        guard words.count == 2 else { throw mistake() }
        func share() throws -> Double {
            guard let share = try? Self.share(words[1]) else { throw mistake() }
            return share
        }
        switch words[0] {
        case "fail": return MapFault(revision, .failures(try share()))
        case "die": return MapFault(revision, .deaths(try share()))
        case "refuse": return MapFault(revision, .refusal(words[1]))
        default: throw mistake()
        }
    }

    /// The map of a file, with those for whom it is.
    ///
    /// - Throws: ``CommandError`` 64 when it can't be read or names no group and no agent.
    static func map(_ file: String) throws(CommandError) -> FleetPlan.StandingMap {
        let payload = try InputFile.read(file, purpose: "map file")
        do {
            let json = try JSONFile(payload, of: file).json
            let named = try MapFile.document(json)["aud"]?.stringValue
            guard let audience = named.map(Audience.init) ?? .all else {
                throw CommandError(.usage, "map file \(file): aud names no agent and no @group")
            }
            return FleetPlan.StandingMap(payload: payload, audience: audience)
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError(.usage, "map file \(error.words)")
        }
    }
}
