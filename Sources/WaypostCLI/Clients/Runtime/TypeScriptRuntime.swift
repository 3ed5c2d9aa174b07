extension TypeScriptClient {
    /// What each client in TypeScript begins with.
    ///
    /// A literal: a resource that is embedded in code becomes an array of numbers, and checking their types takes seconds.
    // swift-format-ignore
    static let runtime = #"""
import * as mqtt from "mqtt";

/** A JSON value. Integers beyond 2^53 lose digits in JavaScript: send such identifiers as strings. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

const levels = "vdiwef";
/** The most values of a stream that wait to be read; older ones are dropped and counted. */
const streamLimit = 10_000;
/** How long after the last retained message the broker is taken to have sent all, in milliseconds. */
const quiet = 500;
/** A command is sent again after so many milliseconds without a reply. */
const repeatAfter = 30_000;

/**
 * What went wrong: at the agent with its code and name, or here with code 0.
 *
 * Names with code 0: `NO_REPLY` (it may have run), `NO_BROKER`, `NO_MEMBERS`, `UNREADABLE` (it has run), `CLOSED`.
 */
export class Failure extends Error {
  constructor(
    readonly code: number,
    readonly codeName: string,
    readonly detail: string,
    /** Names close to the one that was not found. */
    readonly nearest: string[] = [],
    /** What the application says beside the detail, for programs. */
    readonly payload: Json = null,
    readonly agent?: string,
    readonly id?: string,
  ) {
    super(`${agent ? `${agent}: ` : ""}${code} ${codeName}: ${detail}`);
    this.name = "Failure";
    Object.setPrototypeOf(this, Failure.prototype);
  }
}

/** How a command is sent. */
export interface Options {
  /** The handler begins within so many milliseconds, or not at all; at most a day, and a minute unless given. */
  expires?: number;
  /** How long the reply is awaited, in milliseconds; 15 s longer than `expires` unless given. */
  timeout?: number;
  /** Commands of one lane run one after another. */
  lane?: string;
  /** A W3C `traceparent`. */
  trace?: string;
  /** The command's id, 1 to 64 letters, digits, `_`, `-`: the same id runs once. A new one unless given. */
  id?: string;
}

/** How a command ended at an agent. */
export interface Reply {
  agent: string;
  id: string;
  status: string;
  code: number;
  name: string;
  result: Json;
  detail?: string;
  nearest: string[];
  payload: Json;
  warnings: string[];
  /** How often it was started: more than 1 when the agent was interrupted. */
  attempt: number;
  /** Whether the agent had replied before, and repeats it. */
  dup: boolean;
  /** How long the work took, in milliseconds. */
  ms: number;
  trace?: string;
}

/** What an open came to: the URL after all redirects, its route, the redirects, and what the handler returned. */
export interface OpenResult {
  url: string;
  route?: string;
  redirects: string[];
  value: Json;
}

/** A line of an agent's log: `time` by its clock, in milliseconds since 1970; `level` one of V D I W E F. */
export interface LogEvent {
  agent: string;
  time: number;
  level: string;
  tag: string;
  message: string;
  url?: string;
  ref?: string;
  trace?: string;
  boot: string;
  sequence: number;
}

/** What failed at an agent, where and why; `time` is that of the last time, in milliseconds since 1970. */
export interface FailureReport {
  agent: string;
  id: string;
  code: number;
  name: string;
  where: string;
  detail: string;
  url?: string;
  ref?: string;
  trace?: string;
  nearest: string[];
  count: number;
  time: number;
}

/** What the broker keeps of an agent: whether it is online, since when (by its clock, ms since 1970), and why. */
export interface AgentState {
  agent: string;
  online: boolean;
  why: string;
  version?: string;
  at?: number;
}

/** What a group answered: a reply of each agent that did, and the names of known members that did not. */
export interface Answers {
  replies: Reply[];
  silent: string[];
}

/** The fields of an object from outside; null is as good as absent, and SyntaxError means another type. */
class Fields {
  constructor(readonly json: JsonObject) {}

  text(name: string): string | undefined {
    const value = this.json[name] ?? undefined;
    if (value === undefined || typeof value === "string") return value;
    throw new SyntaxError(`${name} is no text`);
  }

  integer(name: string): number | undefined {
    const value = this.json[name] ?? undefined;
    if (value === undefined || (typeof value === "number" && Number.isInteger(value))) return value;
    throw new SyntaxError(`${name} is no integer`);
  }

  texts(name: string): string[] {
    const value = this.json[name];
    return Array.isArray(value) ? value.filter((text): text is string => typeof text === "string") : [];
  }

  need<T>(name: string, value: T | undefined): T {
    if (value === undefined) throw new SyntaxError(`${name} is missing`);
    return value;
  }
}

/** One JSON object; throws SyntaxError for anything else. @internal */
export function parse(payload: string): JsonObject {
  const value: unknown = JSON.parse(payload);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new SyntaxError("no object");
  return value as JsonObject;
}

/** @internal */
export function readReply(agent: string, json: JsonObject): Reply {
  const fields = new Fields(json);
  return {
    agent,
    id: fields.need("id", fields.text("id")),
    status: fields.need("status", fields.text("status")),
    code: fields.need("code", fields.integer("code")),
    name: fields.need("name", fields.text("name")),
    result: json["result"] ?? null,
    detail: fields.text("detail"),
    nearest: fields.texts("nearest"),
    payload: json["payload"] ?? null,
    warnings: fields.texts("warnings"),
    attempt: fields.integer("attempt") ?? 1,
    dup: json["dup"] === true,
    ms: fields.integer("ms") ?? 0,
    trace: fields.text("trace"),
  };
}

/** @internal */
export function readEvent(agent: string, json: JsonObject): LogEvent {
  const fields = new Fields(json);
  return {
    agent,
    time: fields.need("t", fields.integer("t")),
    level: fields.need("l", fields.text("l")),
    tag: fields.need("tag", fields.text("tag")),
    message: fields.need("msg", fields.text("msg")),
    url: fields.text("url"),
    ref: fields.text("ref"),
    trace: fields.text("trace"),
    boot: fields.text("boot") ?? "",
    sequence: fields.integer("seq") ?? 0,
  };
}

/** @internal */
export function readFailure(agent: string, json: JsonObject): FailureReport {
  const fields = new Fields(json);
  return {
    agent,
    id: fields.text("id") ?? "",
    code: fields.need("code", fields.integer("code")),
    name: fields.need("name", fields.text("name")),
    where: fields.text("where") ?? "agent",
    detail: fields.text("detail") ?? "",
    url: fields.text("url"),
    ref: fields.text("ref"),
    trace: fields.text("trace"),
    nearest: fields.texts("nearest"),
    count: fields.integer("count") ?? 1,
    time: fields.integer("last") ?? 0,
  };
}

/** @internal */
export function readState(agent: string, json: JsonObject): AgentState {
  const fields = new Fields(json);
  return {
    agent,
    online: fields.need("state", fields.text("state")) === "online",
    why: fields.text("why") ?? "",
    version: fields.text("version"),
    at: fields.integer("at"),
  };
}

function readOpen(reply: Reply, url: string): OpenResult {
  const result = reply.result;
  const isObject = typeof result === "object" && result !== null && !Array.isArray(result);
  const fields = new Fields(isObject ? result : {});
  try {
    return {
      url: fields.text("url") ?? url,
      route: fields.text("route"),
      redirects: fields.texts("hops"),
      value: fields.json["value"] ?? null,
    };
  } catch (error) {
    throw error instanceof SyntaxError ? wrong(result, "that of an open") : error;
  }
}

function good(reply: Reply): Reply {
  if (reply.status === "ok") return reply;
  const detail = reply.detail ?? "no detail given";
  throw new Failure(reply.code, reply.name, detail, reply.nearest, reply.payload, reply.agent, reply.id);
}

function checkName(text: string, what: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(text)) {
    throw new RangeError(`${what} is 1 to 64 letters, digits, _ or -; found ${JSON.stringify(text)}`);
  }
  return text;
}

function makeId(): string {
  const random = () => Math.random().toString(36).slice(2, 12).padEnd(10, "0");
  return `${Date.now().toString(36)}-${random()}${random()}`;
}

/** A command as it goes over the wire; `now` in milliseconds since 1970. */
export function makeCommand(type: string, fields: JsonObject, options: Options, now: number): JsonObject {
  const expires = options.expires ?? 60_000;
  if (!(expires > 0 && expires <= 86_400_000)) {
    throw new RangeError(`expires is more than 0 and at most 86400000 ms; found ${expires}`);
  }
  const at = Math.floor(now);
  const command: JsonObject = { id: checkName(options.id ?? makeId(), "an id"), type, ...fields };
  command["at"] = at;
  command["exp"] = at + Math.floor(expires);
  if (options.lane !== undefined) command["lane"] = checkName(options.lane, "a lane");
  if (options.trace !== undefined) {
    if (!/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(options.trace)) {
      throw new RangeError(`${JSON.stringify(options.trace)} is no W3C traceparent`);
    }
    command["trace"] = options.trace;
  }
  return command;
}

/** A promise with its ends outside. */
class Deferred<T> {
  readonly promise: Promise<T>;
  resolve!: (value: T) => void;
  reject!: (error: Error) => void;

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Who does not ask for it is not told of it.
    this.promise.catch(() => undefined);
  }
}

/** A command that was sent: after each lost connection it is sent again, the same bytes, until there is a reply. */
export class Pending {
  readonly id: string;
  /** @internal */ readonly payload: string;
  /** @internal */ readonly expires: number;
  /** @internal */ readonly replies = new Map<string, Reply>();
  /** @internal */ repeat?: ReturnType<typeof setTimeout>;
  private readonly isAccepted = new Deferred<boolean>();
  private readonly isAnswered = new Deferred<Answers>();
  private readonly deadline: ReturnType<typeof setTimeout>;

  /** @internal */
  constructor(
    private readonly backend: Backend,
    /** @internal */ readonly audience: string,
    command: JsonObject,
    /** @internal */ readonly options: Options,
    whenOver: () => void,
  ) {
    this.id = String(command["id"]);
    this.payload = JSON.stringify(command);
    const expires = options.expires ?? 60_000;
    this.expires = Date.now() + expires;
    this.deadline = setTimeout(whenOver, options.timeout ?? expires + 15_000);
  }

  /** Whether an agent took it and says that it takes a while; false once it has ended. */
  accepted(): Promise<boolean> {
    return this.isAccepted.promise;
  }

  /** The replies, good and bad, and who is silent. */
  answers(): Promise<Answers> {
    return this.isAnswered.promise;
  }

  /** The reply of the agent, good or bad. Throws Failure when there is none in time. */
  async reply(): Promise<Reply> {
    const reply = (await this.answers()).replies[0];
    if (reply) return reply;
    const detail = "no reply came in time; the command may have run";
    throw new Failure(0, "NO_REPLY", detail, [], null, this.audience, this.id);
  }

  /** The result. Throws Failure, also when the agent refused the command or it failed there. */
  async result(): Promise<Json> {
    return good(await this.reply()).result;
  }

  /** Asks the agent, or all of the group, to end it; it then ends with 499 CANCELED unless it has ended before. */
  async cancel(): Promise<void> {
    await this.backend.send(this.audience, "cancel", { target: this.id });
  }

  /** @internal */
  noteAccepted(): void {
    this.isAccepted.resolve(true);
  }

  /** @internal */
  end(known: Iterable<string>, error?: Error): void {
    clearTimeout(this.deadline);
    clearTimeout(this.repeat);
    this.isAccepted.resolve(false);
    if (error) this.isAnswered.reject(error);
    const silent = [...known].filter((agent) => !this.replies.has(agent)).sort();
    this.isAnswered.resolve({ replies: [...this.replies.values()], silent });
  }
}

/** What agents publish, as it comes. `missed` counts what was dropped because it was not read fast enough. */
export class Stream<T> implements AsyncIterable<T> {
  missed = 0;
  private waiting: T[] = [];
  private isClosed = false;
  private wake = new Deferred<void>();

  /** @internal */
  constructor(
    /** @internal */ readonly filters: string[],
    private readonly read: (agent: string, payload: string) => T[],
    private readonly onClose: (stream: Stream<T>) => void,
  ) {}

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for (;;) {
      const next = this.waiting.splice(0);
      for (const value of next) yield value;
      if (next.length > 0) continue;
      if (this.isClosed) return;
      await this.wake.promise;
      this.wake = new Deferred<void>();
    }
  }

  /** The next, or undefined when there is none within so many milliseconds, or the stream was closed. */
  async next(timeout: number): Promise<T | undefined> {
    if (this.waiting.length === 0 && !this.isClosed) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeout)));
      await Promise.race([this.wake.promise, late]);
      clearTimeout(timer);
    }
    const value = this.waiting.shift();
    if (this.waiting.length === 0) this.wake = new Deferred<void>();
    return value;
  }

  /** Ends it; who iterates is done. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.onClose(this);
    this.wake.resolve();
  }

  /** @internal */
  came(agent: string, payload: string): void {
    for (const value of this.read(agent, payload)) {
      if (this.waiting.length >= streamLimit) {
        this.missed += 1;
        this.waiting.shift();
      }
      this.waiting.push(value);
    }
    this.wake.resolve();
  }
}

export interface BackendOptions {
  /** This backend's name in the topics; the user's in the URL unless given. */
  sender?: string;
  /** The first levels of all topics; `waypost/v1` unless given. */
  root?: string;
  /** 5 is tried first and then 3.1.1 (4), unless given. */
  protocol?: 4 | 5;
  /** How long the first connection may take, in milliseconds; 10 000 unless given. */
  timeout?: number;
  /** Further options of the package mqtt, such as certificates. */
  client?: mqtt.IClientOptions;
}

/**
 * A connection to the broker: sends commands to agents and follows what they publish.
 *
 *     const backend = await Backend.connect("mqtt://ops:secret@broker.example");
 *     console.log(await backend.agent("kiosk-7").call("Calculator", "add", [2, 40]));
 *     await backend.close();
 */
export class Backend {
  /** This backend's name in the topics. */
  readonly sender: string;
  readonly root: string;
  /** Messages that made no sense, and were skipped. */
  unreadable = 0;
  private client?: mqtt.MqttClient;
  private protocol: 4 | 5;
  private mayFallBack: boolean;
  private isOnline = false;
  private isClosed = false;
  private problem = "no connection yet";
  private readonly online = new Deferred<void>();
  private readonly pending = new Map<string, Pending>();
  private readonly streams = new Set<Stream<unknown>>();
  private readonly filters = new Map<string, number>();
  private readonly presence = new Map<string, AgentState>();
  private readonly groups = new Map<string, string[]>();
  private readonly seen = new Set<string>();
  private isLooking = false;
  private lookedAt = 0;

  private constructor(
    private readonly url: string,
    private readonly options: BackendOptions,
  ) {
    const user = decodeURIComponent(new URL(url.replace(/^mqtts?:/, "http:")).username);
    this.sender = checkName(options.sender ?? user, "a sender");
    this.root = options.root ?? "waypost/v1";
    this.protocol = options.protocol ?? 5;
    this.mayFallBack = options.protocol === undefined;
  }

  /** Connects. Throws Failure `NO_BROKER` when that takes longer than `timeout`. */
  static async connect(url: string, options: BackendOptions = {}): Promise<Backend> {
    const backend = new Backend(url, options);
    backend.start();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, options.timeout ?? 10_000)));
    await Promise.race([backend.online.promise, late]);
    clearTimeout(timer);
    if (backend.isOnline) return backend;
    await backend.close();
    throw new Failure(0, "NO_BROKER", `${new URL(url).host}: ${backend.problem}`);
  }

  agent(name: string): Agent {
    return new Agent(this, checkName(name, "an agent"));
  }

  /** All agents of a group; every agent is in `all`. */
  group(name: string): Group {
    return new Group(this, checkName(name, "a group"));
  }

  /** The log lines of an agent, or of all, of this level and higher. */
  events(agent?: string, level: "v" | "d" | "i" | "w" | "e" | "f" = "i"): Stream<LogEvent> {
    const names = [...levels.slice(levels.indexOf(level))].map((each) => `log/${each}`);
    return this.follow(agent, names, (from, payload) =>
      payload
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => readEvent(from, parse(line)))
        .filter((event) => this.isNew(`${from} ${event.boot} ${event.sequence}`)),
    );
  }

  /** The failure reports of an agent, or of all; each once. */
  failures(agent?: string): Stream<FailureReport> {
    return this.follow(agent, ["fail"], (from, payload) =>
      [readFailure(from, parse(payload))].filter((report) => this.isNew(`${from} ${report.id} ${report.count}`)),
    );
  }

  /** Whether an agent, or each, is online: what the broker keeps first, then each change. */
  states(agent?: string): Stream<AgentState> {
    return this.follow(agent, ["state"], (from, payload) => (payload ? [readState(from, parse(payload))] : []));
  }

  /** The agents that the broker knows. */
  async agents(): Promise<Map<string, AgentState>> {
    await this.look();
    return new Map(this.presence);
  }

  /** Ends the connection; what is still awaited ends with Failure `CLOSED`, and streams end. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.isOnline = false;
    for (const command of this.pending.values()) {
      command.end([], new Failure(0, "CLOSED", "the backend was closed", [], null, undefined, command.id));
    }
    this.pending.clear();
    for (const stream of [...this.streams]) stream.close();
    const client = this.client;
    if (client) await new Promise<void>((resolve) => client.end(true, {}, () => resolve()));
  }

  /** Sends any command, to an agent or an `@group`; the promise holds once it is under way. */
  async send(audience: string, type: string, fields: JsonObject, options: Options = {}): Promise<Pending> {
    const json = makeCommand(type, fields, options, Date.now());
    if (audience.startsWith("@")) {
      await this.look();
      if (this.members(audience).size === 0) {
        throw new Failure(0, "NO_MEMBERS", `the broker knows no agent in ${audience}`);
      }
    }
    if (this.isClosed) throw new Failure(0, "CLOSED", "the backend is not connected");
    if (this.pending.has(String(json["id"]))) throw new RangeError(`the command ${String(json["id"])} is under way`);
    const command: Pending = new Pending(this, audience, json, options, () => {
      this.pending.delete(command.id);
      command.end(this.members(audience).keys());
    });
    this.pending.set(command.id, command);
    if (this.isOnline) this.publish(command);
    return command;
  }

  /** What the broker keeps of an agent; undefined when there is nothing. @internal */
  async document(agent: string, name: string): Promise<JsonObject | undefined> {
    const stream = this.follow(agent, [name], (_, payload) => (payload ? [parse(payload)] : []));
    const found = await stream.next(2_000);
    stream.close();
    return found;
  }

  private start(): void {
    const client = mqtt.connect(this.url, {
      ...this.options.client,
      protocolVersion: this.protocol,
      clientId: `waypost-${this.sender}-${makeId()}`,
      clean: true,
      resubscribe: false,
      reconnectPeriod: 1_000,
      keepalive: 30,
    });
    this.client = client;
    let hasError = false;
    client.on("connect", () => {
      if (client !== this.client) return;
      this.mayFallBack = false;
      this.subscribe([`${this.root}/+/reply/${this.sender}`, ...this.filters.keys()], () => this.cameOnline());
    });
    client.on("error", (error: Error) => {
      hasError = true;
      this.problem = error.message || String((error as { code?: string }).code);
      const code = (error as { code?: number | string }).code;
      if (code === 1 || code === 132) this.fallBack(client);
    });
    client.on("close", () => {
      if (client !== this.client) return;
      this.isOnline = false;
      // Some brokers that know 3.1.1 alone end the connection without an answer.
      if (!hasError) this.fallBack(client);
      hasError = false;
    });
    client.on("message", (topic: string, payload: Uint8Array) => this.came(topic, payload));
  }

  /** A broker that does not speak MQTT 5 gets 3.1.1. */
  private fallBack(client: mqtt.MqttClient): void {
    if (!this.mayFallBack || this.isClosed || client !== this.client) return;
    this.mayFallBack = false;
    this.protocol = 4;
    client.end(true);
    this.start();
  }

  private cameOnline(): void {
    this.isOnline = true;
    // The replies arrive from now on: all that is awaited is sent, again where it was sent before.
    for (const command of this.pending.values()) this.publish(command);
    this.online.resolve();
  }

  private publish(command: Pending): void {
    const left = command.expires - Date.now();
    const client = this.client;
    if (left <= 0 || !client) return;
    const replyTopic = `${this.root}/${command.audience}/reply/${this.sender}`;
    const trace = command.options.trace;
    const properties = {
      messageExpiryInterval: Math.ceil(left / 1_000),
      payloadFormatIndicator: true,
      contentType: "application/json",
      ...(command.audience.startsWith("@") ? {} : { responseTopic: replyTopic }),
      ...(trace === undefined ? {} : { userProperties: { traceparent: trace } }),
    };
    const topic = `${this.root}/${command.audience}/cmd/${this.sender}`;
    client.publish(topic, command.payload, { qos: 1, ...(this.protocol === 5 ? { properties } : {}) });
    clearTimeout(command.repeat);
    command.repeat = setTimeout(() => {
      if (this.isOnline) this.publish(command);
    }, repeatAfter);
  }

  private came(topic: string, bytes: Uint8Array): void {
    if (!topic.startsWith(`${this.root}/`)) return;
    const [agent = "", ...levels] = topic.slice(this.root.length + 1).split("/");
    const rest = levels.join("/");
    try {
      const payload = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      if (rest === `reply/${this.sender}`) {
        this.replied(readReply(agent, parse(payload)));
        return;
      }
      if (rest === "state") this.note(agent, this.presence, payload, (json) => readState(agent, json));
      if (rest === "health") this.note(agent, this.groups, payload, (json) => new Fields(json).texts("groups"));
      for (const stream of [...this.streams]) {
        const fits = [`${this.root}/${agent}/${rest}`, `${this.root}/+/${rest}`];
        if (stream.filters.some((filter) => fits.includes(filter))) stream.came(agent, payload);
      }
    } catch (error) {
      // Bytes that are no text are a TypeError.
      if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
      this.unreadable += 1;
    }
  }

  private note<T>(agent: string, known: Map<string, T>, payload: string, read: (json: JsonObject) => T): void {
    this.lookedAt = Date.now();
    if (payload) known.set(agent, read(parse(payload)));
    else known.delete(agent);
  }

  private replied(reply: Reply): void {
    const command = this.pending.get(reply.id);
    if (!command) return;
    const isGroup = command.audience.startsWith("@");
    if (!isGroup && command.audience !== reply.agent) return;
    if (reply.status === "accepted") {
      command.noteAccepted();
      return;
    }
    if (!command.replies.has(reply.agent)) command.replies.set(reply.agent, reply);
    const members = isGroup ? this.members(command.audience) : new Map<string, boolean>();
    if ([...members].some(([agent, isOnline]) => isOnline && !command.replies.has(agent))) return;
    this.pending.delete(reply.id);
    command.end(members.keys());
  }

  /** Whether this came for the first time: what is sent at QoS 1 may come again. */
  private isNew(key: string): boolean {
    if (this.seen.has(key)) return false;
    this.seen.add(key);
    for (const oldest of this.seen) {
      if (this.seen.size <= streamLimit) break;
      this.seen.delete(oldest);
    }
    return true;
  }

  /** The known members of a group, and whether each is online. */
  private members(audience: string): Map<string, boolean> {
    const members = new Map<string, boolean>();
    if (!audience.startsWith("@")) return members;
    const name = audience.slice(1);
    for (const [agent, state] of this.presence) {
      if (name === "all" || this.groups.get(agent)?.includes(name)) members.set(agent, state.online);
    }
    return members;
  }

  /** Waits until the broker has sent what it keeps of the agents; it is kept up to date from then on. */
  private async look(): Promise<void> {
    if (!this.isLooking) {
      this.isLooking = true;
      this.lookedAt = Date.now();
      this.want([`${this.root}/+/state`, `${this.root}/+/health`]);
    }
    for (;;) {
      const left = this.lookedAt + quiet - Date.now();
      if (left <= 0) return;
      await new Promise<void>((resolve) => setTimeout(resolve, left));
    }
  }

  private follow<T>(
    agent: string | undefined,
    names: string[],
    read: (agent: string, payload: string) => T[],
  ): Stream<T> {
    const level = agent === undefined ? "+" : checkName(agent, "an agent");
    const filters = names.map((name) => `${this.root}/${level}/${name}`);
    const stream = new Stream<T>(filters, read, (closed) => {
      if (!this.streams.delete(closed as Stream<unknown>)) return;
      for (const filter of filters) {
        const count = (this.filters.get(filter) ?? 1) - 1;
        if (count > 0) this.filters.set(filter, count);
        else this.filters.delete(filter);
        if (count === 0 && this.isOnline) this.client?.unsubscribe(filter);
      }
    });
    this.streams.add(stream as Stream<unknown>);
    this.want(filters);
    return stream;
  }

  private want(filters: string[]): void {
    for (const filter of filters) this.filters.set(filter, (this.filters.get(filter) ?? 0) + 1);
    // Again where it is followed already: what is retained comes with each subscription.
    if (this.isOnline) this.subscribe(filters);
  }

  private subscribe(filters: string[], done?: () => void): void {
    this.client?.subscribe(filters, { qos: 1 }, (error: Error | null, granted?: { topic: string; qos: number }[]) => {
      const refused = granted?.find((each) => each.qos >= 128);
      if (error || refused) this.problem = error?.message ?? `the broker refuses ${refused?.topic ?? ""}`;
      const isFirstRefused = error !== null && error !== undefined ? true : (granted?.[0]?.qos ?? 0) >= 128;
      if (!isFirstRefused) done?.();
    });
  }
}

/** One agent. Each method waits for the reply, and throws Failure when the agent refuses or it fails there. */
export class Agent {
  /** @internal */
  constructor(
    readonly backend: Backend,
    readonly name: string,
  ) {}

  /** Sends any command, and does not wait for its end. */
  send(type: string, fields: JsonObject, options: Options = {}): Promise<Pending> {
    return this.backend.send(this.name, type, fields, options);
  }

  async open(url: string, params: JsonObject = {}, options: Options = {}): Promise<OpenResult> {
    return readOpen(good(await (await this.send("open", openFields(url, params), options)).reply()), url);
  }

  /** Calls a method, the arguments by position or by label. */
  async call(service: string, method: string, args: Json[] | JsonObject = [], options: Options = {}): Promise<Json> {
    return (await this.send("call", callFields(service, method, args), options)).result();
  }

  /** Its health. */
  async ping(options: Options = {}): Promise<Json> {
    return (await this.send("ping", {}, options)).result();
  }

  /** Ends a command of this backend that waits or runs. */
  async cancel(id: string, options: Options = {}): Promise<void> {
    await (await this.send("cancel", { target: checkName(id, "an id") }, options)).result();
  }

  /** Whether it is online, as the broker knows; undefined when it does not know the agent. */
  async state(): Promise<AgentState | undefined> {
    const json = await this.document("state");
    return json && readState(this.name, json);
  }

  /**
   * What the broker keeps of it: `health`, with its groups in `membership`, `routes`, `contract`, `map/applied`,
   * `navigation`, and for the release role `groups`; else undefined.
   */
  document(name: string): Promise<JsonObject | undefined> {
    return this.backend.document(this.name, name);
  }
}

/** All agents of a group. Each method waits for those that are online. */
export class Group {
  /** @internal */
  constructor(
    readonly backend: Backend,
    readonly name: string,
  ) {}

  /** Sends any command, and waits for no reply. Throws Failure `NO_MEMBERS` when no member is known. */
  send(type: string, fields: JsonObject, options: Options = {}): Promise<Pending> {
    return this.backend.send(`@${this.name}`, type, fields, options);
  }

  async open(url: string, params: JsonObject = {}, options: Options = {}): Promise<Answers> {
    return (await this.send("open", openFields(url, params), options)).answers();
  }

  async call(service: string, method: string, args: Json[] | JsonObject = [], options: Options = {}): Promise<Answers> {
    return (await this.send("call", callFields(service, method, args), options)).answers();
  }

  async ping(options: Options = {}): Promise<Answers> {
    return (await this.send("ping", {}, options)).answers();
  }
}

/** @internal */
export function openFields(url: string, params: JsonObject): JsonObject {
  return Object.keys(params).length > 0 ? { url, params } : { url };
}

/** @internal */
export function callFields(service: string, method: string, args: Json[] | JsonObject): JsonObject {
  return Object.keys(args).length > 0 ? { service, method, args } : { service, method };
}

// Results of a type

type Reader<T> = (value: Json) => T;

function wrong(value: Json, wanted: string): Failure {
  const found = JSON.stringify(value).slice(0, 200);
  return new Failure(0, "UNREADABLE", `the result should be ${wanted} and is ${found}; the method has run`);
}

/** @internal */
export const read = {
  json: ((value) => value) as Reader<Json>,
  boolean: ((value) => {
    if (typeof value === "boolean") return value;
    throw wrong(value, "true or false");
  }) as Reader<boolean>,
  integer: ((value) => {
    if (typeof value === "number" && Number.isInteger(value)) return value;
    throw wrong(value, "an integer");
  }) as Reader<number>,
  number: ((value) => {
    if (typeof value === "number") return value;
    throw wrong(value, "a number");
  }) as Reader<number>,
  text: ((value) => {
    if (typeof value === "string") return value;
    throw wrong(value, "a text");
  }) as Reader<string>,
  choice<T extends string>(...values: T[]): Reader<T> {
    return (value) => {
      const found = values.find((each) => each === value);
      if (found !== undefined) return found;
      throw wrong(value, `one of ${values.join(", ")}`);
    };
  },
  list<T>(each: Reader<T>): Reader<T[]> {
    return (value) => {
      if (Array.isArray(value)) return value.map(each);
      throw wrong(value, "a list");
    };
  },
  record<T>(each: Reader<T>): Reader<Record<string, T>> {
    return (value) => {
      if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(value, "an object");
      return Object.fromEntries(Object.entries(value).map(([key, element]) => [key, each(element)]));
    };
  },
  optional<T>(each: Reader<T>): Reader<T | null> {
    return (value) => (value === null ? null : each(value));
  },
};

/** A value in one component of a path. @internal */
export function quoted(value: string | number | boolean): string {
  const text = String(value);
  if (text === "") throw new RangeError("a value in the path of a URL is not empty");
  return encodeURIComponent(text);
}

/** The parameters that were given. @internal */
export function given(params: { [name: string]: Json | undefined }): JsonObject {
  const known: JsonObject = {};
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined) known[name] = value;
  }
  return known;
}

"""#
}
