// The generated client in TypeScript with a real broker and real agents: node story.js BROKER-URL OLD-BROKER-URL…; see story.py.
import * as demo from "./demo";
import { Agent, Backend, Failure } from "./demo";

declare const require: (name: string) => any;
declare const process: any;
const { deepStrictEqual: equal, ok } = require("assert");

const said: string[] = [];
let heard: (() => void) | undefined;
process.stdin.setEncoding("utf8");
process.stdin.on("data", (text: string) => {
  said.push(...text.split("\n").filter(Boolean));
  heard?.();
});

function restart(what: string): void {
  console.log(`restart ${what}`);
}

async function done(what: string): Promise<void> {
  while (said.length === 0) await new Promise<void>((resolve) => (heard = resolve));
  equal(said.shift(), `restarted ${what}`);
}

async function raises(code: number, name: string, promise: Promise<unknown>): Promise<Failure> {
  try {
    await promise;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    equal([error.code, error.codeName], [code, name], String(error));
    return error;
  }
  throw new Error(`${name} was not raised`);
}

const sleep = (agent: Agent, ms: number) =>
  agent.send("call", { service: "ClockService", method: "sleep(ms:)", args: [ms] }, { expires: 300_000 });
const append = (agent: Agent, entry: string, id?: string) =>
  agent.send("call", { service: "LedgerService", method: "append(entry:)", args: [entry] }, {
    expires: 300_000, ...(id === undefined ? {} : { id }),
  });

async function calls(url: string, protocol?: 4 | 5): Promise<void> {
  const backend = await Backend.connect(url, { sender: "ops", ...(protocol ? { protocol } : {}) });
  const agent = backend.agent("k1");
  const calculator = new demo.CalculatorService(agent);
  const routes = new demo.Routes(agent);
  equal(await calculator.add(2, 40), 42);
  const opened = await routes.router_user_id("a/ä?", { tab: "all" });
  equal([opened.route, (opened.value as any).params.id], ["scheme://router/user/:id", "a/ä?"]);
  const failure = await raises(404, "NO_METHOD", agent.call("CalculatorService", "ad", [1]));
  equal([failure.nearest, failure.agent], [["add(a:b:)"], "k1"]);
  const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  equal((await (await agent.send("ping", {}, { trace })).reply()).trace, trace);

  const events = backend.events("k1");
  const failures = backend.failures();
  await raises(404, "NO_ROUTE", agent.open("scheme://nowhere"));
  for await (const report of failures) {
    if (report.url !== "scheme://nowhere") continue;
    equal([report.agent, report.name], ["k1", "NO_ROUTE"]);
    break;
  }
  await calculator.add(1, 1);
  for await (const event of events) {
    equal(event.agent, "k1");
    if (event.message.startsWith("returned CalculatorService")) break;
  }
  events.close();
  failures.close();

  const slow = await sleep(agent, 60_000);
  ok(await slow.accepted());
  await slow.cancel();
  equal((await slow.reply()).name, "CANCELED");

  const answers = await backend.group("lobby").call("CalculatorService", "add", [1, 2]);
  equal([answers.replies.map((each) => each.agent).sort(), answers.silent], [["k1", "k2"], []]);
  await raises(0, "NO_MEMBERS", backend.group("nobody").ping());
  const states = await backend.agents();
  equal([states.get("k1")?.online, states.get("gone")?.online], [true, false]);
  equal((await backend.group("all").ping()).silent, ["gone"]);
  equal((await agent.state())?.online, true);
  ok((await agent.document("contract"))?.["services"]);
  equal(await backend.agent("nobody").state(), undefined);
  equal(backend.unreadable, 0);
  await backend.close();
}

/** Commands that are under way while the broker and the agent end. */
async function overEnds(url: string): Promise<void> {
  const backend = await Backend.connect(url, { sender: "ops" });
  const agent = backend.agent("k1");
  const ledger = new demo.LedgerService(agent);
  const before = (await ledger.entries()).length;
  restart("broker");
  const entries = await Promise.all([0, 1, 2, 3, 4].map((n) => append(agent, `broker ${n}`)));
  await done("broker");
  for (const entry of entries) equal((await entry.reply()).status, "ok");
  const again = await (await append(agent, "broker 0", entries[0]!.id)).reply();
  equal([again.dup, again.id], [true, entries[0]!.id]);
  equal((await ledger.entries()).length, before + 5);

  const slow = await sleep(agent, 1_500);
  ok(await slow.accepted());
  restart("k1");
  await done("k1");
  const reply = await slow.reply();
  equal([reply.status, reply.attempt], ["ok", 2]);
  const late = await agent.send("ping", {}, { expires: 1_000, timeout: 1 });
  equal((await raises(0, "NO_REPLY", late.result())).id, late.id);
  const last = await sleep(agent, 60_000);
  const closed = raises(0, "CLOSED", last.reply());
  await backend.close();
  await closed;
}

async function main(): Promise<void> {
  const [url, ...old]: string[] = process.argv.slice(2);
  if (url === undefined) throw new Error("no broker");
  await calls(url);
  await calls(url, 4);
  // Brokers that know 3.1.1 alone.
  for (const each of old) {
    const backend = await Backend.connect(each, { sender: "ops" });
    equal(await new demo.CalculatorService(backend.agent("k1")).add(2, 40), 42);
    await backend.close();
  }
  await overEnds(url);
  await raises(0, "NO_BROKER", Backend.connect("mqtt://127.0.0.1:1", { sender: "ops", timeout: 500 }));
  console.log("story in TypeScript: well");
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
