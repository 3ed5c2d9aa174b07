import TestSupport

/// The tests' own, not that of WaypostBackend.
typealias Backend = TestSupport.Backend
