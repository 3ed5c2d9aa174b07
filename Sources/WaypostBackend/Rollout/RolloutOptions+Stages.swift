import Waypost
public import WaypostFleet
import WaypostMessages

extension RolloutOptions {
    /// Sets the stages.
    ///
    /// - Parameter words: Each a share (`10%`) or a count (`5`) of agents.
    /// - Throws: ``BackendError`` of kind `invalid` naming the first that is none, or that is not above the one before.
    public mutating func setStages(_ words: [String]) throws(BackendError) {
        var stages: [RolloutStage] = []
        for word in words {
            guard let stage = RolloutStage(word) else {
                throw BackendError(
                    .invalid,
                    "a stage is a share such as 10% or a count such as 5; found \(word.debugDescription)")
            }
            stages.append(stage)
        }
        guard (1...RolloutStage.maximumStages).contains(stages.count) else {
            throw BackendError(.invalid, "a roll-out has 1 to \(RolloutStage.maximumStages) stages")
        }
        for (before, after) in zip(stages, stages.dropFirst()) where !before.isBelow(after) {
            throw BackendError(
                .invalid, "each stage has more agents than the one before; found \(after) after \(before)")
        }
        self.stages = stages
    }
}
