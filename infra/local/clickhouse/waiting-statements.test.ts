/**
 * Statements that wait for a session of the engine: inserts never wait behind a read, and a statement that nobody waits for
 * never starts.
 *
 * @module-tag check
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { waitFor } from "../../../test/harness/wait-for.ts";
import type { Listening } from "../http/listen.ts";
import { startClickhouseBridge } from "./bridge.ts";
import { type Engine, openEngine } from "./engine.ts";
import type { EngineRequest } from "./request.ts";

const SLOW = "SELECT sleep(1.5)";
const LEFT = 20;

let folder: string;
let engine: Engine;
let bridge: Listening;
/** How many statements the engine was asked to run. */
let asked = 0;

const statement = (sql: string, data?: Buffer): EngineRequest => ({
  sql,
  data,
  database: "default",
  format: "TabSeparated",
  settings: {},
  params: {},
});
const run = async (sql: string) =>
  Buffer.from((await engine.run(statement(sql))).bytes)
    .toString()
    .trim();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "clickhouse-waiting-"));
  engine = openEngine(folder, 1);
  await run("CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a");
  await run("CREATE TABLE inserted (a UInt8) ENGINE = MergeTree ORDER BY a");
  const counted: Engine = {
    ...engine,
    run: async (...given) => {
      asked += 1;
      return await engine.run(...given);
    },
  };
  bridge = await startClickhouseBridge({ engine: counted, user: "default", password: "secret" });
});
afterAll(async () => {
  await bridge.close();
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

it("an insert of rows does not wait behind reads", async () => {
  const ended: string[] = [];
  await Promise.all([
    run(SLOW).then(() => ended.push("read")),
    run("SELECT 1").then(() => ended.push("waiting read")),
    engine
      .run(statement("INSERT INTO inserted FORMAT JSONEachRow", Buffer.from('{"a":1}\n')))
      .then(() => ended.push("insert")),
  ]);
  expect({ ended, rows: await run("SELECT count() FROM inserted") }).toEqual({
    ended: ["insert", "read", "waiting read"],
    rows: "1",
  });
});

it("a statement whose client has left does not begin", async () => {
  const leaving = new AbortController();
  const ask = async (query: string, signal?: AbortSignal) =>
    await fetch(`${bridge.url}/?query=${encodeURIComponent(query)}`, {
      method: "POST",
      headers: { "x-clickhouse-user": "default", "x-clickhouse-key": "secret" },
      ...(signal === undefined ? {} : { signal }),
    });
  const slow = ask(SLOW);
  await waitFor(
    () => asked,
    (count) => count === 1,
  );
  const left = Array.from({ length: LEFT }, async () => await ask("INSERT INTO t SELECT 1", leaving.signal));
  const outcomes = Promise.allSettled(left);
  await waitFor(
    () => asked,
    (count) => count === 1 + LEFT,
  );
  leaving.abort();
  const failed = (await outcomes).filter(({ status }) => status === "rejected").length;
  await (await slow).text();
  const rows = (await (await ask("SELECT count() FROM t")).text()).trim();
  expect({ failed, rows }).toEqual({ failed: LEFT, rows: "0" });
});
