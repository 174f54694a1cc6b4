/**
 * No tenant's batches keep those of others from being read and ended (docs/rules/batches.md#execution).
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { and, eq, isNotNull } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { waitFor } from "../../test/harness/wait-for.ts";
import { createLog } from "../kernel/log.ts";
import { TenantTurns } from "../kernel/tenant-turns.ts";
import { BatchRuns } from "./batch-runs.ts";
import { completeFile, storeUpload } from "./files/file-store.ts";
import { LineSender } from "./line-sender.ts";
import { batches, batchLines } from "./tables.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => await control.close());

const newRuns = (): BatchRuns =>
  new BatchRuns({
    ctx: control.ctx,
    sender: new LineSender([], ""),
    store: { put: async () => undefined },
    bucket: null,
    usageRetentionDays: 0,
    log: createLog({ write: () => undefined }),
  });

async function newTenant(): Promise<string> {
  const made = await control.request("POST", "/api/v1/tenants", { name: `of-turns-${randomUUID()}` });
  return ((await made.json()) as Tenant).id;
}

async function newBatch(tenantId: string, more: Partial<typeof batches.$inferInsert>): Promise<string> {
  const [row] = await control.ctx.db
    .insert(batches)
    .values({
      tenant_id: tenantId,
      key_id: randomUUID(),
      endpoint: "/v1/embeddings",
      input_file_id: randomUUID(),
      status: "validating",
      expires_at: new Date(Date.now() + 3_600_000),
      ...more,
    })
    .returning();
  if (row === undefined) throw new Error("no batch");
  return row.id;
}

async function cancelled(tenantId: string, lines: number): Promise<string> {
  const id = await newBatch(tenantId, { status: "cancelling", cancelling_at: new Date(), lines_total: lines });
  for (let from = 0; from < lines; from += 1000) {
    const rows = Array.from({ length: Math.min(1000, lines - from) }, (_, at) => from + at + 1);
    await control.ctx.db
      .insert(batchLines)
      .values(rows.map((n) => ({ batch_id: id, n, custom_id: `${n}`, model: "m", body: "{}" })));
  }
  return id;
}

it("the tenant whose turn was longest ago is next, and then its first batch", () => {
  const turns = new TenantTurns();
  const rows = ["a", "a", "b"].map((tenant_id, at) => ({ tenant_id, at }));
  const taken = Array.from({ length: 4 }, () => turns.next(rows)?.at);
  expect({ taken, none: turns.next([]), other: turns.next([{ tenant_id: "c", at: 3 }, ...rows])?.at }).toEqual({
    taken: [0, 2, 0, 2],
    none: null,
    other: 3,
  });
});

it("a batch ends when the first one of another tenant has ended", async () => {
  const { db } = control.ctx;
  const many = await newTenant();
  for (let at = 0; at < 6; at += 1) await cancelled(many, 5);
  const last = await cancelled(await newTenant(), 5);
  const runs = newRuns();
  const ended = await waitFor(
    async () => {
      await runs.tick();
      return await db.select().from(batches).where(isNotNull(batches.ended_at));
    },
    ({ length }) => length === 7,
  );
  runs.end();
  const mine = ended.find(({ id }) => id === last)?.ended_at ?? null;
  if (mine === null) throw new Error("it has not ended");
  const before = ended.filter(({ tenant_id: of, ended_at: at }) => of === many && at !== null && at < mine);
  expect(before.length).toBeLessThanOrEqual(1);
  await db.delete(batches);
});

it("a file is read when the first one of another tenant has been read", async () => {
  const { db } = control.ctx;
  const validating = async (tenantId: string, lines: number): Promise<string> => {
    async function* body(): AsyncGenerator<Uint8Array> {
      const line = { method: "POST", url: "/v1/embeddings", body: { model: "m", input: "a" } };
      for (let at = 0; at < lines; at += 1) yield Buffer.from(`${JSON.stringify({ ...line, custom_id: `${at}` })}\n`);
    }
    const id = await storeUpload({ db, bucket: null }, { tenantId, purpose: "batch", filename: "a.jsonl" }, body());
    await completeFile(db, id, null);
    return await newBatch(tenantId, { input_file_id: id });
  };
  const many = await newTenant();
  for (let at = 0; at < 4; at += 1) await validating(many, 300);
  const last = await validating(await newTenant(), 5);
  const runs = newRuns();
  const read = eq(batches.status, "in_progress");
  await waitFor(
    async () => {
      await runs.tick();
      return await db.$count(batches, read);
    },
    (count) => count === 5,
  );
  runs.end();
  const [mine] = await db.select().from(batches).where(eq(batches.id, last));
  if (mine?.in_progress_at == null) throw new Error("it was not read");
  const rows = await db
    .select({ at: batches.in_progress_at })
    .from(batches)
    .where(and(read, eq(batches.tenant_id, many)));
  const readBefore = rows.filter(({ at }) => at !== null && mine.in_progress_at !== null && at < mine.in_progress_at);
  expect(readBefore).toHaveLength(1);
});
