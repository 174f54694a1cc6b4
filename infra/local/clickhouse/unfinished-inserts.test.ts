/** The folder of an engine that was killed inside an insert, and the real engine that opens it again. */
import { appendFileSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Engine, openEngine } from "./engine.ts";
import { forgetUnfinishedInserts } from "./unfinished-inserts.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gateway-unfinished-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const settings = {};
const statement = { data: undefined, database: "default", format: "TabSeparated", settings, params: {} };

async function insert(engine: Engine, token: string): Promise<void> {
  const sql = "INSERT INTO t FORMAT JSONEachRow";
  const data = Buffer.from(`{"a":"${token}"}`);
  await engine.run({ ...statement, sql, data, settings: { insert_deduplication_token: token } });
}

/** Opens the engine on the folder for some work; returns the rows that the table then has. */
async function rowsAfter(work: (engine: Engine) => Promise<void>): Promise<string> {
  const engine = openEngine(folder, 1);
  try {
    await engine.run({
      ...statement,
      sql: "CREATE TABLE IF NOT EXISTS t (a String) ENGINE = MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window = 100",
    });
    await work(engine);
    return Buffer.from((await engine.run({ ...statement, sql: "SELECT a FROM t ORDER BY a" })).bytes).toString();
  } finally {
    await engine.close();
  }
}

it("is forgotten so that its retry is accepted; finished inserts stay deduplicated", async () => {
  await rowsAfter(async (engine) => {
    for (const token of ["a", "b", "c"]) await insert(engine, token);
    await engine.run({ ...statement, sql: "OPTIMIZE TABLE t FINAL" });
    await insert(engine, "d");
  });
  const [log = ""] = globSync(join(folder, "store/*/*/deduplication_logs/*.txt"));
  const newest = readFileSync(log, "utf8").trimEnd().split("\n").at(-1)?.split("\t")[1] ?? "";
  expect(newest).toMatch(/^all_\d+_\d+_0$/);
  // The engine wrote the token of "d" and was killed before the part was in place.
  rmSync(join(log, "../..", newest), { recursive: true });
  expect(forgetUnfinishedInserts(folder)).toBe(1);
  expect(forgetUnfinishedInserts(folder)).toBe(0);
  const again = async (engine: Engine): Promise<void> => {
    for (const token of ["a", "b", "c", "d"]) await insert(engine, token);
  };
  expect(await rowsAfter(again)).toBe("a\nb\nc\nd\n");
});

it("does not exist in a new folder, and unknown lines of the log stay", async () => {
  expect(forgetUnfinishedInserts(join(folder, "not-there"))).toBe(0);
  await rowsAfter(async (engine) => await insert(engine, "a"));
  const [log = ""] = globSync(join(folder, "store/*/*/deduplication_logs/*.txt"));
  appendFileSync(log, "9\todd\n");
  expect(forgetUnfinishedInserts(folder)).toBe(0);
});
