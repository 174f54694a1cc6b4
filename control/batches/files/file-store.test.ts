/**
 * What a tenant may store: files with lines, within its quota, the lines of open batches included (docs/rules/batches.md#files).
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { and, eq, inArray, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../../test/harness/control.ts";
import { deletedAtOnce } from "../../../test/harness/deleted-at-once.ts";
import { publicId } from "../batch-record.ts";
import { createBatch, ownBatches, ownFiles } from "../client-verbs.ts";
import { batches, files } from "../tables.ts";
import { piecesOf } from "./contents.ts";
import { completeFile, deleteFile, deleteOldFiles, storeUpload } from "./file-store.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => await control.close());

async function tenantWith(more: object = {}): Promise<string> {
  const name = `of-files-${randomUUID()}`;
  const made = await control.request("POST", "/api/v1/tenants", { name, ...more });
  return ((await made.json()) as Tenant).id;
}

async function upload(tenantId: string, text: string): Promise<string> {
  const { db } = control.ctx;
  async function* body() {
    yield Buffer.from(text);
  }
  return (
    await completeFile(
      db,
      await storeUpload({ db, bucket: null }, { tenantId, purpose: "batch", filename: "a" }, body()),
      null,
    )
  ).id;
}

const start = async (tenantId: string, fileId: string) =>
  await createBatch(
    { ctx: control.ctx, tenantId, keyId: randomUUID() },
    { input_file_id: publicId("file", fileId), endpoint: "/v1/embeddings", completion_window: "24h" },
  );
const inField = (path: string) => ({ code: "validation_failed", options: { details: [{ path }] } });

describe("an upload", () => {
  it("has lines, and not too many, whether the last one ends with a line break or not", async () => {
    const tenantId = await tenantWith();
    await expect(upload(tenantId, "")).rejects.toMatchObject(inField("file"));
    const most = "\n".repeat(LIMITS.fileLines);
    await upload(tenantId, most);
    await upload(tenantId, `${most.slice(1)}{}`);
    await expect(upload(tenantId, `${most}{}`)).rejects.toMatchObject(inField("file"));
  });

  it("is refused when the tenant has too many files", async () => {
    const tenantId = await tenantWith();
    await control.ctx.db.execute(sql`
      INSERT INTO files (tenant_id, purpose, filename, complete)
      SELECT ${tenantId}, 'batch', 'a', true FROM generate_series(1, ${LIMITS.filesOfTenant - 1})`);
    await upload(tenantId, "{}");
    await expect(upload(tenantId, "{}")).rejects.toMatchObject({ code: "file_quota_exceeded" });
  });

  it("that nobody completed is deleted after an hour", async () => {
    const { db } = control.ctx;
    const tenant_id = await tenantWith();
    const made = async (created_at: Date) =>
      await db.insert(files).values({ tenant_id, purpose: "batch", filename: "a", created_at });
    const now = new Date();
    await made(new Date(now.getTime() - 3_601_000));
    await made(new Date(now.getTime() - 600_000));
    await deleteOldFiles(db, now, null);
    expect(await db.$count(files, eq(files.tenant_id, tenant_id))).toBe(1);
  });
});

describe("open batches of a tenant", () => {
  it("are limited, until one has ended", async () => {
    const tenantId = await tenantWith();
    const file = await upload(tenantId, "{}");
    const made = await Promise.allSettled(
      Array.from({ length: LIMITS.openBatches + 5 }, async () => await start(tenantId, file)),
    );
    expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(LIMITS.openBatches);
    await expect(start(tenantId, file)).rejects.toMatchObject(inField("input_file_id"));
    await control.ctx.db.update(batches).set({ ended_at: new Date() }).where(eq(batches.tenant_id, tenantId));
    await start(tenantId, file);
  });

  it("count for its quota as much as their files, which stay until then", async () => {
    const { db } = control.ctx;
    const tenantId = await tenantWith({ files_bytes: 1000 });
    const file = await upload(tenantId, "x".repeat(400));
    await start(tenantId, file);
    await expect(start(tenantId, file)).rejects.toMatchObject({ code: "file_quota_exceeded" });
    await expect(upload(tenantId, "x".repeat(300))).rejects.toMatchObject({ code: "file_quota_exceeded" });
    await expect(deleteFile(db, file)).rejects.toMatchObject(inField("id"));
    await deleteOldFiles(db, new Date(), new Date(Date.now() + 60_000));
    expect(await db.$count(files, eq(files.id, file))).toBe(1);
    await db.update(batches).set({ ended_at: new Date() }).where(eq(batches.tenant_id, tenantId));
    await deleteFile(db, file);
    expect(await db.$count(files, eq(files.id, file))).toBe(0);
  });
});

async function allOf<Row>(parts: AsyncIterable<readonly Row[]>): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for await (const part of parts) rows.push(...part);
  return rows;
}

it("a file goes in steps, and is seen by nobody from the first one on", async () => {
  const { db } = control.ctx;
  const tenantId = await tenantWith();
  const id = await upload(tenantId, "x".repeat(5 * 1024 * 1024));
  const old = await upload(tenantId, "x".repeat(5 * 1024 * 1024));
  const seen: boolean[] = [];
  const look = async (): Promise<void> => {
    for (let left = 1; left > 0; left = await db.$count(files, eq(files.id, id)))
      seen.push((await db.$count(files, and(eq(files.id, id), eq(files.complete, true)))) > 0);
  };
  const pieces = await deletedAtOnce(db, "file_pieces", async () => {
    await Promise.all([deleteFile(db, id), look()]);
    await deleteOldFiles(db, new Date(), new Date(Date.now() + 60_000));
  });
  expect({ most: Math.max(...pieces), left: await db.$count(files, inArray(files.id, [id, old])) }).toEqual({
    most: 8,
    left: 0,
  });
  expect(pieces.reduce((sum, each) => sum + each, 0)).toBeGreaterThanOrEqual(40);
  expect(seen.slice(1)).not.toContain(true);
});

it("a list of files is read in parts, each file once and in its order", async () => {
  const { db } = control.ctx;
  const tenantId = await tenantWith();
  await db.execute(sql`
    INSERT INTO files (tenant_id, purpose, filename, complete, created_at)
    SELECT ${tenantId}, 'batch', 'a', true, now() + n / 3 * interval '1 microsecond' FROM generate_series(1, 1200) n`);
  const mine = await db.select().from(files).where(eq(files.tenant_id, tenantId)).orderBy(files.created_at, files.id);
  const ids = mine.map((row) => row.id);
  const parts = vi.spyOn(db, "select");
  const listed = async (order: "asc" | "desc", limit: number, lastId: string | null = null) => {
    parts.mockClear();
    const options = { limit, lastId, order, purpose: undefined };
    const rows = await allOf(ownFiles({ ctx: control.ctx, tenantId, keyId: randomUUID() }, options));
    return { ids: rows.map((row) => row.id), parts: parts.mock.calls.length };
  };
  expect(await listed("asc", 10_001)).toEqual({ ids, parts: 3 });
  expect(await listed("desc", 10_001)).toEqual({ ids: ids.toReversed(), parts: 3 });
  expect(await listed("asc", 700, ids[99])).toEqual({ ids: ids.slice(100, 800), parts: 2 });
});

it("the newest ended batches of a tenant are kept, and a list has the first error of each", async () => {
  const { db } = control.ctx;
  const tenantId = await tenantWith();
  const file = await upload(tenantId, "{}");
  const errors = JSON.stringify(["one", "two"].map((code) => ({ code, line: 1, message: "", param: null })));
  await db.execute(sql`
    INSERT INTO batches (tenant_id, key_id, endpoint, input_file_id, status, errors, expires_at, ended_at, created_at)
    SELECT ${tenantId}, gen_random_uuid(), '/v1/embeddings', ${file}, 'failed', ${errors}::jsonb, now(), now(),
      now() - n * interval '1 minute' FROM generate_series(1, ${LIMITS.endedBatches + 3}) n`);
  await start(tenantId, file);
  const caller = { ctx: control.ctx, tenantId, keyId: randomUUID() };
  const [open, newest, ...others] = await allOf(ownBatches(caller, { limit: LIMITS.endedBatches + 10, lastId: null }));
  expect({ open: open?.status, codes: newest?.errors.map(({ code }) => code), others: others.length }).toEqual({
    open: "validating",
    codes: ["one"],
    others: LIMITS.endedBatches - 1,
  });
});

it("a file in one chunk is stored in pieces, with turns of the event loop between them", async () => {
  const { db } = control.ctx;
  const tenantId = await tenantWith();
  const order: string[] = [];
  const timer = setInterval(() => order.push("timer"), 0);
  const id = await upload(tenantId, "x".repeat(4 * 1024 * 1024));
  order.push("stored");
  let most = 0;
  for await (const piece of piecesOf({ db, bucket: null }, id)) most = Math.max(most, piece.length);
  clearInterval(timer);
  expect({ first: order[0], last: order.at(-1), largest: most }).toEqual({
    first: "timer",
    last: "timer",
    largest: 256 * 1024,
  });
});
