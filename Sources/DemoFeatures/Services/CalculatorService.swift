import Waypost

/// Arithmetic that says so when there is no result.
struct CalculatorService: Sendable {
    enum Failure: Error, CustomStringConvertible {
        case overflow(Int, Int)
        case divisionByZero

        var description: String {
            switch self {
            case .overflow(let a, let b): "\(a) + \(b) does not fit in 64 bits"
            case .divisionByZero: "division by zero"
            }
        }
    }

    func add(a: Int, b: Int) throws(Failure) -> Int {
        let (sum, overflow) = a.addingReportingOverflow(b)
        if overflow { throw .overflow(a, b) }
        return sum
    }

    func divide(a: Double, by divisor: Double) throws(Failure) -> Double {
        if divisor == 0 { throw .divisionByZero }
        return a / divisor
    }
}

extension CalculatorService {
    static let exposed = ExposedService("CalculatorService", make: { CalculatorService() }) {
        Exposed("add(a:b:)", idempotent: true) { (service: CalculatorService, a: Int, b: Int) in
            try service.add(a: a, b: b)
        }
        Exposed("divide(a:by:)", idempotent: true) { (service: CalculatorService, a: Double, by: Double) in
            try service.divide(a: a, by: by)
        }
    }
}
