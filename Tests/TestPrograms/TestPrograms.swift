// Nothing but the programs that suites start, built before them. A suite that depended on the programs themselves would be
// compiled again each time that one of them is linked.
