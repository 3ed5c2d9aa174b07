// Reads vectors.jsonl with the runtime of TypeScript: node vectors.js FILE.
import * as demo from "./demo";

declare const require: (name: string) => any;
declare const process: any;

function command(row: any): unknown {
  const { type, ...fields } = row.command;
  const wire = "url" in fields
    ? demo.openFields(fields.url, fields.params ?? {})
    : "service" in fields ? demo.callFields(fields.service, fields.method, fields.args ?? []) : fields;
  try {
    return demo.makeCommand(type, wire, row.options, row.now);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function read(reader: (agent: string, json: any) => any, text: string): unknown {
  try {
    const { agent, ...value } = reader("k1", demo.parse(text));
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, member ?? null]));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

const { deepStrictEqual, ok } = require("assert");
const lines: string[] = require("fs").readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean);
const rows = lines.map((line) => JSON.parse(line));
const readers: Record<string, (agent: string, json: any) => any> = {
  reply: demo.readReply, failure: demo.readFailure, event: demo.readEvent,
};
ok(rows.length > 30);
for (const row of rows) {
  if ("command" in row) {
    deepStrictEqual(command(row), row.wire, JSON.stringify(row));
    continue;
  }
  const name = Object.keys(readers).find((each) => each in row) ?? "";
  deepStrictEqual(read(readers[name]!, row[name]), row.reads, JSON.stringify(row));
}
console.log(`vectors in TypeScript: ${rows.length} rows`);
