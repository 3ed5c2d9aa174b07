import Waypost
import WaypostTools

extension CheckFinding {
    /// What is wrong, or doubtful, about routes and the maps that are laid over them.
    static func all(
        in routes: RouteFile, _ maps: [MapSource], _ configuration: RouterConfiguration,
        since earlier: RouterContract? = nil
    ) -> [CheckFinding] {
        let report = Router.check(
            routes.contract, maps: maps.map(\.map), configuration: configuration,
            since: earlier, place: routes.place)
        return routes.notes.map { CheckFinding($0.finding, at: $0.place) } + maps.flatMap(\.findings)
            + report.findings.map { located($0, routes, maps) }
    }

    private static func located(
        _ finding: CheckReport.Finding, _ routes: RouteFile, _ maps: [MapSource]
    ) -> CheckFinding {
        func source(_ place: CheckReport.Finding.Place) -> MapSource? {
            switch place {
            case .route: nil
            case .map(let layer, _), .entry(let layer, _, _): maps.first { $0.map.name == layer }
            }
        }
        func filePlace(_ place: CheckReport.Finding.Place) -> FilePlace? {
            if case .route(let index) = place {
                routes.filePlace(index)
            } else {
                source(place)?.place(of: place)
            }
        }
        return CheckFinding(
            finding, at: finding.place.flatMap(filePlace), others: finding.others.compactMap(filePlace),
            entries: finding.place.flatMap(source)?.count ?? 0)
    }
}
