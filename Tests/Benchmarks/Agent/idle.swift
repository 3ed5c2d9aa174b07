import Dispatch

// A Swift program that waits: the least that an idle agent can wake, since libdispatch looks at its threads.
DispatchQueue.global().async {}
dispatchMain()
