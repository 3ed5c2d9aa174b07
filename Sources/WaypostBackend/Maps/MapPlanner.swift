import Waypost
import WaypostFleet
import WaypostMessages

/// Finds out what a document would change.
struct MapPlanner {
    /// How long retained documents are waited for.
    private static let limit = Duration.seconds(30)

    private let settings: BackendConfiguration
    private let audience: Audience

    init(_ settings: BackendConfiguration, for audience: Audience) {
        (self.settings, self.audience) = (settings, audience)
    }

    /// Reads what the broker keeps, and asks agents for what it does not.
    ///
    /// - Throws: ``BackendError`` when there is no broker.
    func plan(_ relocation: Relocation) async throws -> MapPlan {
        let survey = try await MapSurvey.read(
            of: audience, settings, within: Self.limit, byteLimit: BackendSession.fleetByteLimit)
        var plan = MapPlan(relocation, for: audience)
        plan.seesMembers = survey.seesMembers
        plan.unread = survey.notices
        plan.members = survey.members
        if plan.members.isEmpty, plan.seesMembers, plan.unread.isEmpty { plan.nearest = try await nearest() }
        plan.fill(survey)
        return plan
    }

    /// Names like the one that no agent has.
    private func nearest() async throws -> [String] {
        let roster = try await settings.roster(within: Self.limit)
        return switch audience {
        case .agent(let agent): NearestNames.find(agent, among: roster.members.keys.sorted())
        case .group(let group): NearestNames.find(group, among: roster.groups.subtracting(["all"]).sorted())
        }
    }
}

extension MapPlan {
    fileprivate mutating func fill(_ survey: MapSurvey) {
        let isPatch = relocation.kind == .patch
        guard let document = relocation.document else { return }
        hasNoRevision = !isPatch && document.revision == nil
        if !isPatch, let kept = survey.keptMap {
            let known = Relocation(document: kept, .map)
            if known.digest != relocation.digest {
                let old = known.document
                retained = Retained(revision: old?.revision, digest: known.digest)
                retainedRemovals =
                    old.map { RelocationChanges(from: $0.entries, to: document.entries).removed } ?? 0
            }
        }
        for build in survey.builds {
            guard let diff = build.diff(of: relocation, to: relocation.layer(of: audience)) else {
                if let unknown = build.unknown { unknowns.append(unknown) }
                continue
            }
            if let place = diffs.firstIndex(where: { $0.isSame(as: diff) }) {
                diffs[place].agents = (diffs[place].agents + diff.agents).sorted()
            } else {
                diffs.append(diff)
            }
        }
        objections = found(document)
    }

    /// What speaks against sending it.
    private func found(_ document: MapDocument) -> [MapObjection] {
        var found = MapObjection.found(in: diffs, unknown: unknowns)
        if let absence {
            found.insert(MapObjection(kind: .unknownReceiver, text: absence), at: 0)
        } else if !seesMembers {
            found.insert(
                MapObjection(kind: .unchecked, text: "the broker does not list its agents"), at: 0)
        }
        found += unread.map { MapObjection(kind: .unchecked, text: $0) }
        if let older = RetainedMap.objection(to: document.revision, over: retained, of: audience),
            !found.contains(where: { $0.kind == .older })
        {
            found.append(older)
        }
        if disappearing > 0 {
            found.append(
                MapObjection(
                    kind: .loss, text: disappearing.counted("entry disappears", "entries disappear")))
        }
        return found
    }
}

extension Audience {
    /// The level of a topic that stands for these agents.
    var agentFilter: String { if case .agent(let agent) = self { agent } else { "+" } }
}
