import Dispatch

// A Swift program that waits, after one task: from then on libdispatch looks at its threads every second.
DispatchQueue.global().async {}
dispatchMain()
