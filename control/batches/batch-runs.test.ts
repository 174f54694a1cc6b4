/** What is wrong with one batch does not keep others from going on (docs/rules/batches.md#execution). */
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

async function validating(tenantId: string, customId: string) {
  const { db } = control.ctx;
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(JSON.stringify(lineOf(customId)));
  }
  const id = await storeUpload(db, { tenantId, purpose: "batch", filename: "a.jsonl" }, body());
  await completeFile(db, id, null);
  const [row] = await db
    .insert(batches)
    .values({
      tenant_id: tenantId,
      key_id: randomUUID(),
      endpoint: "/v1/chat/completions",
      input_file_id: id,
      status: "validating",
      expires_at: new Date(Date.now() + 60_000),
    })
    .returning();
  if (row === undefined) throw new Error("no batch");
  return row.id;
}

it("a batch that the database refuses is logged and left alone, and the next one is validated", async () => {
  const { ctx } = control;
  const made = await control.request("POST", "/api/v1/tenants", { name: `of-runs-${randomUUID()}` });
  const { id: tenantId } = (await made.json()) as Tenant;
  await ctx.db.execute(sql`ALTER TABLE batch_lines ADD CONSTRAINT refused CHECK (custom_id <> 'refused')`);
  const refused = await validating(tenantId, "refused");
  const other = await validating(tenantId, "other");
  const lines: string[] = [];
  const runs = new BatchRuns({
    ctx,
    sender: new LineSender([], ""),
    store: { put: async () => undefined },
    usageRetentionDays: 0,
    log: pino({}, { write: (line: string) => void lines.push(line) }),
  });
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

it("the name of a model in a line has a bound", () => {
  expect(batchLineSchema.safeParse(lineOf("a", "m".repeat(200))).success).toBe(true);
  expect(batchLineSchema.safeParse(lineOf("a", "m".repeat(201))).success).toBe(false);
});
