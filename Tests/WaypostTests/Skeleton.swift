import Testing

@testable import Waypost
