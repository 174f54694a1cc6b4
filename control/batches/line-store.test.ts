/**
 * Lines in the database: no more are claimed than asked for, and each is ended once (docs/rules/batches.md#exactly-once).
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { deletedAtOnce } from "../../test/harness/deleted-at-once.ts";
import { piecesOf } from "./files/contents.ts";
import { linesOf } from "./files/file-store.ts";
import { finishBatch } from "./finish-batch.ts";
import { claimLines, endLines, nextEnds, nextLines, sentLines } from "./line-store.ts";
import { batches, batchLines, files } from "./tables.ts";

const LINES = 40;
const upTo = (lines: number, bytes = 1_000_000) => ({ lines, bytes });
let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => await control.close());

async function batchOf(status: "in_progress" | "cancelling", lastsMs = 60_000) {
  const { db } = control.ctx;
  const made = await control.request("POST", "/api/v1/tenants", { name: `of-lines-${randomUUID()}` });
  const tenant = (await made.json()) as Tenant;
  const [batch] = await db
    .insert(batches)
    .values({
      tenant_id: tenant.id,
      key_id: randomUUID(),
      endpoint: "/v1/chat/completions",
      input_file_id: randomUUID(),
      status,
      cancelling_at: status === "cancelling" ? new Date() : null,
      lines_total: LINES,
      expires_at: new Date(Date.now() + lastsMs),
    })
    .returning();
  if (batch === undefined) throw new Error("no batch");
  await db.insert(batchLines).values(
    Array.from({ length: LINES }, (_, at) => ({
      batch_id: batch.id,
      n: at + 1,
      custom_id: `line-${at}`,
      model: "m",
      body: "{}",
    })),
  );
  return { db, batch };
}

it("takes no more lines than asked for, and ends each once", async () => {
  const { db, batch } = await batchOf("in_progress");
  const which = { batchId: batch.id, model: "m", cell: "eu" };
  const lines = await claimLines(db, which, upTo(3));
  expect(lines.map(({ n, tries }) => ({ n, tries }))).toEqual([1, 2, 3].map((n) => ({ n, tries: 1 })));
  expect((await claimLines(db, which, upTo(2))).map(({ n }) => n)).toEqual([4, 5]);
  const sent = (await sentLines(db)).filter(({ batchId }) => batchId === batch.id);
  expect(sent.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5]);
  const ends = lines.map((line) => ({ ...line, state: "completed" as const, status: 200, answer: '{"a":1}' }));
  expect(await endLines(db, ends)).toBe(3);
  expect(await endLines(db, ends)).toBe(0);
  expect(await finishBatch({ db, bucket: null }, batch, new Date())).toBe(null);
});

it("stores the oldest together, as many as one statement takes", () => {
  const line = { batchId: "b", tries: 1, requestId: "r", cell: "eu", state: "completed", status: 200 } as const;
  const ends = (chars: number, count: number) =>
    Array.from({ length: count }, (_, at) => ({ ...line, n: at, answer: "x".repeat(chars) }));
  const next = (...all: Parameters<typeof nextEnds>) => nextEnds(...all).map(({ n }) => n);
  expect({
    many: next(ends(10, 200)).length,
    large: next(ends(60_000, 20)),
    any: next(ends(600_000, 2)),
    none: next([]),
  }).toEqual({ many: 100, large: [0, 1, 2, 3, 4, 5, 6, 7], any: [0], none: [] });
});

it("takes as many lines as fit, and one of any size", async () => {
  const { db, batch } = await batchOf("in_progress");
  const which = { batchId: batch.id, model: "m", cell: "eu" };
  await db
    .update(batchLines)
    .set({ body: "ä".repeat(50) })
    .where(eq(batchLines.batch_id, batch.id));
  const claimed = async (bytes: number) => (await claimLines(db, which, upTo(5, bytes))).map(({ n }) => n);
  expect({ some: await claimed(399), one: await claimed(0), all: await claimed(500) }).toEqual({
    some: [1, 2, 3],
    one: [4],
    all: [5, 6, 7, 8, 9],
  });
});

it("a cancelled batch keeps what has run, and says of every other line that it did not", async () => {
  const { db, batch } = await batchOf("cancelling");
  const which = { batchId: batch.id, model: "m", cell: "eu" };
  const [line] = await claimLines(db, which, upTo(1));
  if (line === undefined) throw new Error("no line");
  expect(await finishBatch({ db, bucket: null }, batch, new Date())).toBe(null);
  await endLines(db, [{ ...line, state: "completed", status: 200, answer: '{\n"a": 1\n}' }]);
  expect(await finishBatch({ db, bucket: null }, batch, new Date())).toBe("cancelled");
  const shown = await control.request("GET", `/api/v1/batches/${batch.id}`);
  expect(await shown.json()).toMatchObject({ status: "cancelled", lines_completed: 1, lines_failed: LINES - 1 });
});

it("a batch with failed lines names the first one and its error", async () => {
  const { db, batch } = await batchOf("in_progress", -1);
  const [, line] = await claimLines(db, { batchId: batch.id, model: "m", cell: "eu" }, upTo(2));
  if (line === undefined) throw new Error("no line");
  const answer = '{"error":{"code":"tenant_not_active","message":"tenant\\u0000is not active\\ud800"}}';
  await endLines(db, [{ ...line, state: "failed", status: 403, answer }]);
  const errors = [{ code: "tenant_not_active", line: 2, message: "403 tenant is not active\ufffd" }];
  const running = await control.request("GET", `/api/v1/batches/${batch.id}`);
  expect(await running.json()).toMatchObject({ status: "in_progress", lines_failed: 1, errors });
  await db.update(batchLines).set({ state: "waiting" }).where(eq(batchLines.state, "sent"));
  expect(await finishBatch({ db, bucket: null }, batch, new Date())).toBe("expired");
  const shown = await control.request("GET", `/api/v1/batches/${batch.id}`);
  expect(await shown.json()).toMatchObject({
    errors,
  });
});

it("results are written in parts of at most 1 MiB, and a restart writes only the rest", async () => {
  const { db, batch } = await batchOf("in_progress", -1);
  const lines = await claimLines(db, { batchId: batch.id, model: "m", cell: "eu" }, upTo(5));
  const answer = JSON.stringify("x".repeat(400 * 1024));
  for (const line of lines) await endLines(db, [{ ...line, state: "completed", status: 200, answer }]);
  let parts = 0;
  expect(await finishBatch({ db, bucket: null }, batch, new Date(), () => ++parts < 2)).toBe(null);
  const left = await db.select({ n: batchLines.n }).from(batchLines).where(eq(batchLines.batch_id, batch.id));
  expect(left).toHaveLength(LINES - 4);
  const mine = eq(files.tenant_id, batch.tenant_id);
  expect(await db.select({ complete: files.complete }).from(files).where(mine)).toEqual([{ complete: false }]);
  expect(await finishBatch({ db, bucket: null }, batch, new Date())).toBe("expired");
  const found = await db.select().from(files).where(mine);
  const output = found.find(({ filename }) => filename.endsWith("_output.jsonl"));
  const ids: unknown[] = [];
  for await (const { text } of linesOf(piecesOf({ db, bucket: null }, output?.id ?? "")))
    ids.push((JSON.parse(text ?? "") as { custom_id: string }).custom_id);
  expect(ids).toEqual(["line-0", "line-1", "line-2", "line-3", "line-4"]);
  const shown = await control.request("GET", `/api/v1/batches/${batch.id}`);
  expect(await shown.json()).toMatchObject({ status: "expired", lines_completed: 5, lines_failed: LINES - 5 });
  expect(found.map(({ complete }) => complete)).toEqual([true, true]);
});

it("a batch whose time is over says of the lines that did not run that they expired", async () => {
  const { db, batch } = await batchOf("in_progress", -1);
  expect(await finishBatch({ db, bucket: null }, batch, new Date())).toBe("expired");
  const shown = await control.request("GET", `/api/v1/batches/${batch.id}`);
  expect(await shown.json()).toMatchObject({
    status: "expired",
    lines_completed: 0,
    lines_failed: LINES,
    errors: [{ code: "batch_expired", line: 1 }],
  });
  const [file] = await db.select().from(files).where(eq(files.tenant_id, batch.tenant_id));
  const read: { readonly text: string | null }[] = [];
  for await (const line of linesOf(piecesOf({ db, bucket: null }, file?.id ?? ""))) read.push(line);
  expect(read).toHaveLength(LINES);
  expect(JSON.parse(read[0]?.text ?? "")).toMatchObject({ custom_id: "line-0", error: { code: "batch_expired" } });
});

describe("a batch of many lines", () => {
  const MANY = 3000;
  async function manyLines() {
    const { db, batch } = await batchOf("cancelling");
    await db.execute(sql`INSERT INTO batch_lines (batch_id, n, custom_id, model, body)
      SELECT ${batch.id}, n, n, 'm', '{}' FROM generate_series(${LINES + 1}::int, ${MANY}::int) n`);
    return { db, batch };
  }

  it("that was cancelled while its file was read loses its lines in steps", async () => {
    const { db, batch } = await manyLines();
    await db.update(batches).set({ lines_total: 0 }).where(eq(batches.id, batch.id));
    let steps = 0;
    const deleted = await deletedAtOnce(db, "batch_lines", async () => {
      expect(await finishBatch({ db, bucket: null }, batch, new Date(), () => ++steps < 2)).toBe(null);
      expect(await finishBatch({ db, bucket: null }, batch, new Date())).toBe("cancelled");
    });
    expect(deleted).toEqual(Array.from({ length: MANY / 200 }, () => 200));
  });

  it("is not looked through for its next lines", async () => {
    const { db, batch } = await manyLines();
    await db.execute(
      sql`UPDATE batch_lines SET state = 'completed' WHERE batch_id = ${batch.id} AND n IN (7, 8, 2500)`,
    );
    const most = { lines: 2, bytes: 100 };
    const of = { batchId: batch.id, states: ["completed" as const] };
    expect(await nextLines(db, { ...of, after: 7 }, most)).toEqual({ first: 8, last: 8 });
    expect(await nextLines(db, { ...of, after: 8 }, most)).toEqual({ first: 2500, last: 2500 });
    expect(await nextLines(db, { ...of, after: 2500 }, most)).toBe(null);
    const read = await db.transaction(async (tx) => {
      const looks = sql`SELECT (seq_tup_read + idx_tup_fetch)::int AS rows FROM pg_stat_xact_user_tables WHERE relname = 'batch_lines'`;
      const rowsRead = async () => ((await tx.execute(looks)) as unknown as { rows: [{ rows: number }] }).rows[0].rows;
      const before = await rowsRead();
      expect(await nextLines(tx, of, most)).toEqual({ first: 7, last: 8 });
      return (await rowsRead()) - before;
    });
    expect({ read, some: read > 2, few: read < 1100 }).toEqual({ read, some: true, few: true });
  });
});

it("lines that never ran count in a part of the results with their bodies", async () => {
  const { db, batch } = await batchOf("cancelling");
  const mine = eq(batchLines.batch_id, batch.id);
  await db
    .update(batchLines)
    .set({ body: "x".repeat(400 * 1024) })
    .where(mine);
  const deleted = await deletedAtOnce(db, "batch_lines", async () => {
    expect(await finishBatch({ db, bucket: null }, batch, new Date())).toBe("cancelled");
  });
  expect(deleted).toEqual(Array.from({ length: LINES / 2 }, () => 2));
});

it("the answers of failed lines are read with a turn of the event loop for each", async () => {
  const { db, batch } = await batchOf("in_progress");
  const lines = await claimLines(db, { batchId: batch.id, model: "m", cell: "eu" }, upTo(8));
  const answer = '{"error":{"code":"of_turns","message":""}}';
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  const parsed: number[] = [];
  const { parse } = JSON;
  vi.spyOn(JSON, "parse").mockImplementation((text: string) => {
    if (text === answer) parsed.push(turns);
    return parse(text) as unknown;
  });
  const ended = await endLines(
    db,
    lines.map((line) => ({ ...line, state: "failed", status: 400, answer })),
  );
  clearImmediate(next);
  expect({ ended, parsed: parsed.length, turns: new Set(parsed).size }).toEqual({ ended: 8, parsed: 8, turns: 8 });
});
