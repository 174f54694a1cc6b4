/**
 * Large answers to lines are outside their rows, and none is lost or doubled (docs/rules/batches.md#results). The data plane is a server.
 *
 * @module-tag long
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { and, eq, isNotNull, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { z } from "zod";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { LINE_HEADERS } from "../../shared/wire/batch-lines.ts";
import { bucketOptions, type StoredObject, startBucketServer } from "../../test/cluster/bucket-server.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { waitFor } from "../../test/harness/wait-for.ts";
import type { Bucket } from "../kernel/bucket/bucket.ts";
import { createLog } from "../kernel/log.ts";
import { BatchRuns } from "./batch-runs.ts";
import { storeAnswer } from "./files/answers.ts";
import { piecesOf } from "./files/contents.ts";
import { checkQuota, deleteOldFiles } from "./files/file-store.ts";
import { filesBucket, fileVariables, requireFilesBucket } from "./files/files-env.ts";
import { LineSender } from "./line-sender.ts";
import { type BatchRow, batches, batchLines, filePieces, files } from "./tables.ts";

const LINES = 5;
const TEXT = `${"ä\u2028\\".repeat(200_000)}`;
/** Indented, as upstreams may write it. */
const LARGE = JSON.stringify({ text: TEXT }, null, 2);
/** As UTF-8 it is longer than a row may have. */
const MIDDLE = JSON.stringify({ text: "ä".repeat(40_000) });
const answers = ["{}", LARGE, MIDDLE, "no JSON ".repeat(100_000), '{"small":1}'];
const sent: number[] = [];
const cell = createServer((request, response) => {
  if (request.method === "GET") return void response.writeHead(204).end();
  const body: Buffer[] = [];
  request.on("data", (piece: Buffer) => body.push(piece));
  request.on("end", () => {
    const { at } = JSON.parse(Buffer.concat(body).toString("utf8")) as { at: number };
    sent.push(at);
    response.writeHead(200, { [LINE_HEADERS.status]: at === 3 ? "400" : "200", [LINE_HEADERS.waitedMs]: "0" });
    response.end(answers[at]);
  });
});
const open: BatchRuns[] = [];
let control: TestControl;

beforeAll(async () => {
  control = await startControl();
  const { promise, resolve } = Promise.withResolvers<void>();
  cell.listen(0, "127.0.0.1", resolve);
  await promise;
});
beforeEach(() => {
  sent.length = 0;
});
afterEach(() => {
  for (const runs of open.splice(0)) runs.end();
});
afterAll(async () => {
  cell.close();
  cell.closeAllConnections();
  await control.close();
});

function newRuns(bucket: Bucket | null = null, onLog: () => void = () => undefined): BatchRuns {
  const runs = new BatchRuns({
    ctx: control.ctx,
    sender: new LineSender([{ cell: "eu", url: `http://127.0.0.1:${(cell.address() as AddressInfo).port}` }], "token"),
    store: { put: async () => undefined },
    bucket,
    usageRetentionDays: 0,
    log: createLog({ write: onLog }),
  });
  open.push(runs);
  return runs;
}

async function newBatch(): Promise<BatchRow> {
  const { db } = control.ctx;
  const tenant = await control.must<Tenant>("POST", "/tenants", { name: `of-answers-${randomUUID()}` });
  const [batch] = await db
    .insert(batches)
    .values({
      tenant_id: tenant.id,
      key_id: randomUUID(),
      endpoint: "/v1/embeddings",
      input_file_id: randomUUID(),
      status: "in_progress",
      lines_total: LINES,
      expires_at: new Date(Date.now() + 3_600_000),
    })
    .returning();
  if (batch === undefined) throw new Error("no batch");
  const lines = Array.from({ length: LINES }, (_, at) => ({
    n: at + 1,
    custom_id: `${at}`,
    body: JSON.stringify({ at }),
  }));
  await db.insert(batchLines).values(lines.map((line) => ({ ...line, batch_id: batch.id, model: "m" })));
  return batch;
}

const batchAfter = async (runs: BatchRuns, { id }: BatchRow, is: (row: BatchRow) => boolean): Promise<BatchRow> =>
  await waitFor(async () => {
    await runs.tick();
    const [row] = await control.ctx.db.select().from(batches).where(eq(batches.id, id));
    if (row === undefined) throw new Error("no batch");
    return row;
  }, is);
const isCompleted = ({ status }: BatchRow): boolean => status === "completed";
const answersOf = ({ id }: BatchRow) => eq(files.answer_of, id);

async function resultsOf(id: string | null, bucket: Bucket | null = null): Promise<readonly unknown[]> {
  const pieces: Buffer[] = [];
  for await (const piece of piecesOf({ db: control.ctx.db, bucket }, id ?? "")) pieces.push(piece);
  const text = Buffer.concat(pieces).toString("utf8");
  const [file] = await control.ctx.db
    .select()
    .from(files)
    .where(eq(files.id, id ?? ""));
  expect(file).toMatchObject({ complete: true, answer_of: null, bytes: Buffer.byteLength(text) });
  return text
    .trimEnd()
    .split("\n")
    .map((line) => {
      const { custom_id, response } = JSON.parse(line) as { custom_id: string; response: { body: unknown } };
      return { custom_id, body: response.body };
    });
}
const expected = (...at: readonly number[]) =>
  at.map((nth) => ({ custom_id: `${nth}`, body: nth === 3 ? answers[nth] : JSON.parse(answers[nth] ?? "") }));

it("rows of lines hold none of it, and the results have each once, in the order of the lines", async () => {
  const { db } = control.ctx;
  const batch = await newBatch();
  // nothing is written of the results yet
  const ended = and(eq(batchLines.batch_id, batch.id), sql`${batchLines.state} IN ('completed', 'failed')`);
  const runs = newRuns();
  await runs.tick();
  await waitFor(
    async () => await db.$count(batchLines, ended),
    (count) => count === LINES,
  );
  const rows = await db
    .select({ bytes: sql<number>`coalesce(octet_length(answer), 0)`, file: batchLines.answer_file_id })
    .from(batchLines)
    .where(ended)
    .orderBy(batchLines.n);
  const pieces = await db
    .select({ most: sql<number>`max(octet_length(${filePieces.bytes}))` })
    .from(filePieces)
    .innerJoin(files, eq(files.id, filePieces.file_id))
    .where(answersOf(batch));
  expect({ rows: rows.map(({ bytes, file }) => ({ bytes, inFile: file !== null })), pieces }).toEqual({
    rows: [2, 0, 0, 0, 11].map((bytes) => ({ bytes, inFile: bytes === 0 })),
    pieces: [{ most: 128 * 1024 }],
  });
  const done = await batchAfter(runs, batch, isCompleted);
  expect(await resultsOf(done.output_file_id)).toEqual(expected(0, 1, 2, 4));
  expect(await resultsOf(done.error_file_id)).toEqual(expected(3));
  expect({ sent: sent.toSorted((one, other) => one - other), left: await db.$count(files, answersOf(batch)) }).toEqual({
    sent: [0, 1, 2, 3, 4],
    left: 0,
  });
});

it("a process that stops between its pieces loses and doubles none", async () => {
  const { db } = control.ctx;
  const batch = await newBatch();
  const large = eq(batchLines.batch_id, batch.id);
  await db.delete(batchLines).where(and(large, sql`n <> 2`));
  await db.update(batches).set({ lines_total: 1 }).where(eq(batches.id, batch.id));
  // only some pieces of it can be stored
  await db.execute(sql`ALTER TABLE file_pieces ADD CONSTRAINT first_pieces CHECK (n < 4) NOT VALID`);
  const stopped = Promise.withResolvers<void>();
  const first = newRuns(null, () => {
    first.end();
    stopped.resolve();
  });
  await first.tick();
  await stopped.promise;
  await db.execute(sql`ALTER TABLE file_pieces DROP CONSTRAINT first_pieces`);
  // what a process leaves that is killed
  const left = { tenant_id: batch.tenant_id, purpose: "batch_output" as const, filename: "", answer_of: batch.id };
  const [killed] = await db
    .insert(files)
    .values({ ...left, bytes: 300_000 })
    .returning();
  await db.insert(filePieces).values({ file_id: killed?.id ?? "", n: 0, bytes: Buffer.alloc(128 * 1024) });
  expect(await db.$count(batchLines, and(large, eq(batchLines.state, "sent")))).toBe(1);
  const done = await batchAfter(newRuns(), batch, isCompleted);
  expect(await resultsOf(done.output_file_id)).toEqual(expected(1));
  await deleteOldFiles(db, new Date(), null);
  expect({ sent, left: await db.$count(files, answersOf(batch)) }).toEqual({ sent: [1, 1], left: 0 });
});

it("smaller answers leave turns to others while the results are written", async () => {
  const { db } = control.ctx;
  const batch = await newBatch();
  const mine = eq(batchLines.batch_id, batch.id);
  await db.update(batchLines).set({ state: "completed", status: 200, answer: '{"of":"a row"}' }).where(mine);
  await db.update(batches).set({ lines_completed: LINES }).where(eq(batches.id, batch.id));
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  const parsed: number[] = [];
  const { parse } = JSON;
  const spy = vi.spyOn(JSON, "parse").mockImplementation((text: string) => {
    if (text === '{"of":"a row"}') parsed.push(turns);
    return parse(text) as unknown;
  });
  await batchAfter(newRuns(), batch, isCompleted);
  clearImmediate(next);
  spy.mockRestore();
  expect({ lines: parsed.length, turns: new Set(parsed).size }).toEqual({ lines: LINES, turns: LINES });
});

it("the pieces go into a bucket with the results", async () => {
  const { db } = control.ctx;
  const objects = new Map<string, StoredObject>();
  const server = await startBucketServer({ objects });
  const schema = z.object(fileVariables).superRefine(requireFilesBucket);
  const variables = { GATEWAY_FILES_TO: "s3://gateway/files", GATEWAY_FILES_OPTIONS: bucketOptions(server.url) };
  const bucket = filesBucket(schema.parse(variables));
  const batch = await newBatch();
  const done = await batchAfter(newRuns(bucket), batch, isCompleted);
  expect(await resultsOf(done.output_file_id, bucket)).toEqual(expected(0, 1, 2, 4));
  const inDatabase = and(eq(filePieces.file_id, done.output_file_id ?? ""), sql`octet_length(bytes) > 0`);
  expect({ pieces: await db.$count(filePieces, inDatabase), left: await db.$count(files, answersOf(batch)) }).toEqual({
    pieces: 0,
    left: 0,
  });
  await server.close();
});

it("it counts for its tenant's bytes, not files, and goes with the batch or the tenant", async () => {
  const { db } = control.ctx;
  const [one, other] = [await newBatch(), await newBatch()];
  const { signal } = new AbortController();
  const stored = Buffer.alloc(600_000, "x");
  for (const batch of [one, other]) await storeAnswer(db, batch.id, stored, signal);
  await control.must("PATCH", `/tenants/${one.tenant_id}`, { files_bytes: stored.length });
  await checkQuota(db, one.tenant_id);
  await control.must("PATCH", `/tenants/${one.tenant_id}`, { files_bytes: stored.length - 1 });
  await expect(checkQuota(db, one.tenant_id)).rejects.toMatchObject({ code: "file_quota_exceeded" });
  // an open batch is older than the files that are kept
  await deleteOldFiles(db, new Date(), new Date(Date.now() + 60_000));
  expect(await db.$count(files, isNotNull(files.answer_of))).toBe(2);
  await db.delete(batches).where(eq(batches.id, one.id));
  await control.request("DELETE", `/api/v1/tenants/${other.tenant_id}`);
  const gone = await storeAnswer(db, one.id, stored, signal);
  expect({ files: await db.$count(files, isNotNull(files.answer_of)), gone }).toEqual({ files: 0, gone: null });
});
