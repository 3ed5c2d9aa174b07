// What this library says of agents, maps and roll-outs are values of WaypostFleet: who imports this one has them.
@_exported public import WaypostFleet
