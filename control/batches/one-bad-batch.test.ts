/**
 * What is wrong with one batch does not keep others from going on (docs/rules/batches.md#execution).
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import { pino } from "pino";
import { afterAll, beforeAll, expect, it } from "vitest";
import { batchLineSchema } from "../../shared/schema/batch.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { waitFor } from "../../test/harness/wait-for.ts";
import { BatchRuns } from "./batch-runs.ts";
import { completeFile, storeUpload } from "./files/file-store.ts";
import { LineSender } from "./line-sender.ts";
import { batches } from "./tables.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => await control.close());

const lineOf = (id: string, model = "m") => ({
  custom_id: id,
  method: "POST",
  url: "/v1/chat/completions",
  body: { model, messages: [] },
});

async function newTenant(): Promise<string> {
  const made = await control.request("POST", "/api/v1/tenants", { name: `of-runs-${randomUUID()}` });
  return ((await made.json()) as Tenant).id;
}

function newRuns(lines: string[]): BatchRuns {
  return new BatchRuns({
    ctx: control.ctx,
    sender: new LineSender([], ""),
    store: { put: async () => undefined },
    bucket: null,
    usageRetentionDays: 0,
    log: pino({}, { write: (line: string) => void lines.push(line) }),
  });
}

async function validating(tenantId: string, ...customIds: readonly string[]) {
  const { db } = control.ctx;
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(customIds.map((id) => JSON.stringify(lineOf(id))).join("\n"));
  }
  const id = await storeUpload({ db, bucket: null }, { tenantId, purpose: "batch", filename: "a.jsonl" }, body());
  await completeFile(db, id, null);
  const [row] = await db
    .insert(batches)
    .values({
      tenant_id: tenantId,
      key_id: randomUUID(),
      endpoint: "/v1/chat/completions",
      input_file_id: id,
      status: "validating",
      expires_at: new Date(Date.now() + 3_600_000),
    })
    .returning();
  if (row === undefined) throw new Error("no batch");
  return row.id;
}

it("a batch that the database refuses is logged and left alone, and the next one is validated", async () => {
  const { ctx } = control;
  const tenantId = await newTenant();
  await ctx.db.execute(sql`ALTER TABLE batch_lines ADD CONSTRAINT refused CHECK (custom_id <> 'refused')`);
  const refused = await validating(tenantId, "refused");
  const other = await validating(tenantId, "other");
  const lines: string[] = [];
  const runs = newRuns(lines);
  const statuses = async () => {
    const rows = await ctx.db.select({ id: batches.id, status: batches.status }).from(batches);
    return {
      refused: rows.find(({ id }) => id === refused)?.status,
      other: rows.find(({ id }) => id === other)?.status,
    };
  };
  await runs.tick();
  await waitFor(statuses, ({ other: status }) => status === "in_progress");
  await runs.tick();
  expect(await statuses()).toEqual({ refused: "validating", other: "in_progress" });
  runs.end();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ event: "batch_not_run", batch: refused }]);
});

it("a run of the job does not wait for a large file to be read", async () => {
  const { ctx } = control;
  const ids = Array.from({ length: 10_000 }, (_, at) => `line-${at}`);
  const large = await validating(await newTenant(), ...ids);
  const runs = newRuns([]);
  const read = async () => (await ctx.db.select().from(batches)).find(({ id }) => id === large);
  await runs.tick();
  expect((await read())?.status).toBe("validating");
  const validated = await waitFor(
    async () => {
      await runs.tick();
      return await read();
    },
    (row) => row?.status === "in_progress",
  );
  runs.end();
  expect(validated?.lines_total).toBe(ids.length);
});

it("the name of a model in a line has a bound", () => {
  expect(batchLineSchema.safeParse(lineOf("a", "m".repeat(200))).success).toBe(true);
  expect(batchLineSchema.safeParse(lineOf("a", "m".repeat(201))).success).toBe(false);
});
