// What the server answers, as types. Times are milliseconds since 1970 by the console's clock; null is "not known".

/** @typedef {'lost' | 'failing' | 'mapRefused' | 'unclear' | 'unknown' | 'stopped' | 'healthy'} Condition */
/** @typedef {'ok' | 'warn' | 'bad' | 'plain'} Tone */
/**
 * @typedef {{ now: number, asOf: number, started: number, connected: boolean, since: number, broker: string, root: string,
 *   sender: string, commands: boolean, version: string, reason: string | null, agents: number, problems: number,
 *   rate: number, dropped: number, lost: number }} Status
 */
/**
 * @typedef {{ n: number, t: number, level: string, tag: string, agent: string, message: string, url: string | null,
 *   ref: string | null, trace: string | null, code: number | null, name: string | null, failure: boolean }} Line
 */
/**
 * @typedef {{ agent: string, condition: Condition, state: string, since: number | null, sinceAtLeast: boolean,
 *   version: string, map: string, heard: number | null, groups: string[], problem: string, failures: (number | null)[]
 * }} AgentRow
 */
/** @typedef {{ text: string, condition: Condition, count: number, agents: string[], since: number | null }} Problem */
/**
 * @typedef {{ revision: number, asOf: number, complete: boolean, gap: string | null, total: number, matched: number,
 *   counts: Record<Condition, number>, problems: Problem[],
 *   versions: { version: string, count: number, problems: number }[], groups: { group: string, count: number }[],
 *   rows: AgentRow[] }} Fleet
 */
/** @typedef {{ name: string, state: string, since?: number | null, detail: string, advice: string }} Check */
/** @typedef {{ layer: string, revision: number | null, code: string | number, name: string, detail: string, at: number }} RefusedMap */
/** @typedef {{ level: string, tag: string | null, until: number, from: string | null }} LogLevel */
/**
 * @typedef {{ asOf: number, found: boolean, nearest: string[], row: AgentRow, waiting: string | null,
 *   client: { app: string | null, locale: string | null, labels: string[] } | null,
 *   health: { asOf: number, status: string, checks: Check[], limits: { name: string, value: unknown, text: string }[],
 *     uptime: number, mqtt: string, epoch: number } | null,
 *   log: LogLevel | null, refused: RefusedMap | null, held: unknown[], membership: Membership | null,
 *   maps: { layer: string, revision: number | null, inactive: number | null, state: string | null }[] }} Agent
 */
/**
 * @typedef {{ revision: number | null, added: string[], removed: string[] }} GroupsDocument
 * @typedef {GroupsDocument & { own: string[], waiting: GroupsDocument | null,
 *   refused: { code: number, name: string, detail: string } | null }} Membership
 */
/**
 * @typedef {{ t: number, kind: string, title: string, detail: string, tone: Tone, ref: string | null,
 *   code: number | null, url: string | null, count: number }} Event
 */
/**
 * @typedef {{ path: string, class: string, name: string, priority: number, jumpType: number | string | null,
 *   parameters: { name: string, type: string }[], summary: string }} Route
 */
/** @typedef {{ from: string, to: string, layer: string, entry: number, active: boolean, reason: string | null }} Redirect */
/**
 * @typedef {{ name: string, parameters: { label: string, type: string, optional: boolean }[], result: string,
 *   summary: string, idempotent: boolean }} Method
 */
/** @typedef {{ name: string, methods: Method[] }} Service */
/** @typedef {{ asOf: number, routes: Route[], redirects: Redirect[], services: Service[], build: string }} Routes */
/**
 * @typedef {{ number: number, type: string, origin: string, target: string | null, path: string | null,
 *   className: string | null, when: unknown, text?: string }} Entry
 */
/** @typedef {Entry & { state: 'active' | 'inactive' | 'expired', reason: string | null }} HeldEntry */
/**
 * @typedef {{ layer: string, revision: number | null, digest: string, by: string | null, since: number | null,
 *   expires: number | null, state: string, entries: HeldEntry[], refused?: RefusedMap | null }} Layer
 */
/**
 * @typedef {{ layer: string, revision: number, digest: string, by: string | null, from: number | null,
 *   until: number | null, bytes: number, added: number, removed: number, changed: number }} Version
 */
/**
 * @typedef {{ layer: string, revisions: { revision: number, agents: number, inactive: number | null, sample: string[] }[],
 *   refused: { revision: number, code: number | string, name: string, detail: string, agents: number,
 *     sample: string[] }[] }} FleetLayer
 */
/** @typedef {{ code: number | string, name: string, detail: string, nearest?: string[] }} Fault */
/**
 * @typedef {{ agents: string[], added: Entry[], removed: Entry[], changed: { before: Entry, after: Entry }[],
 *   destinations: { subject: string, before: string | null, after: string | null }[] | null,
 *   inactive: { number: number, entry: Entry, reason: string }[] | null, refusal: Fault | null }} Diff
 */
/** @typedef {{ kind: string, text: string }} Objection */
/**
 * @typedef {{ asOf: number, diffs: Diff[], silent: string[], offline: string[], document: unknown,
 *   objections: Objection[], command: string }} DiffAnswer
 */
/** @typedef {{ from: string, to: string, layer: string, entry: number | null, route: string | null }} Hop */
/**
 * @typedef {{ agents: string[], count: number, build: string, url: string, final: string | null, route: string | null, hops: Hop[],
 *   interceptors: string[], screen: string | null, failure: Fault | null, silent: boolean }} Resolution
 */
/**
 * @typedef {{ code: number | null, name: string, subject: string, url: boolean,
 *   map: { layer: string, rev: number } | null, detail: string, count: number, first: number, last: number,
 *   agents: string[], agentCount: number, moreAgents: boolean, minutes: (number | null)[], advice: string }} FailureGroup
 */
/**
 * @typedef {{ id: string, agent: string, type: string | null, what: string | null, from: string | null,
 *   sent: number | null, received: number | null, running: number | null, ended: number | null,
 *   attempt: number | null, code: number | null, name: string | null, detail: string | null,
 *   progress: string | null, due: number | null,
 *   state: 'scheduled' | 'waiting' | 'held' | 'running' | 'ended' | 'unknown' }} Command
 */
/**
 * @typedef {{ asOf: number, uptime: number, connected: boolean, since: number, tabs: number, maximumTabs: number,
 *   memory: number, cpu: number, lines: { kept: number, perSecond: number, dropped: number }, agents: number,
 *   lag: { p50: number | null, p99: number | null }, lost: number, checks: Check[] }} Health
 */
/**
 * @typedef {{ status: string, code: number | null, name: string | null, detail: string | null, nearest?: string[],
 *   result?: unknown, ms?: number | null, attempt?: number | null, begins?: number }} Reply
 */
/**
 * @typedef {{ group: string, id: string, state: string, by: string | null, why: string | null, changed: number,
 *   base: number | null, next: number | null, stages: { name: string, agents: number | null }[], stage: number,
 *   holder: string | null, online: number, chosen: number, onNext: number, notOnNext: Record<string, number>,
 *   missing: Record<string, string[]>,
 *   remaining: number | null, standstill: string | null,
 *   gates: { name: string, verdict: string, found: string, limit: string, breach: string }[], notices: string[],
 *   log: { at: number, event: string, why: string | null, by: string }[] }} Rollout
 */
/**
 * @typedef {{ routes: { path: string, parameters: { name: string, type: string, required: boolean,
 *   values: string[] | null }[] }[], services: Service[] }} Contract
 */

export {};
