/**
 * A line runs with the body that stands in its file, and that is the one that was validated (docs/rules/batches.md#validation).
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Batch } from "../../shared/schema/batch.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { completeFile, storeUpload } from "./files/file-store.ts";
import { type BatchRow, batches, batchLines } from "./tables.ts";
import { validateBatch } from "./validate-batch.ts";

const HEAD = '"method":"POST","url":"/v1/chat/completions"';
let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => await control.close());

/** A batch of these lines whose file is to be read. */
async function newBatch(...lines: readonly string[]): Promise<BatchRow> {
  const { db } = control.ctx;
  const store = { db, bucket: null };
  const tenant = await control.request("POST", "/api/v1/tenants", { name: `of-bodies-${randomUUID()}` });
  const { id: tenant_id } = (await tenant.json()) as Tenant;
  async function* text(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(lines.join("\n"));
  }
  const input_file_id = await storeUpload(
    store,
    { tenantId: tenant_id, purpose: "batch", filename: "a.jsonl" },
    text(),
  );
  await completeFile(db, input_file_id, null);
  const made = { tenant_id, key_id: randomUUID(), endpoint: "/v1/chat/completions", input_file_id };
  const expires_at = new Date(Date.now() + 60_000);
  const [batch] = await db
    .insert(batches)
    .values({ ...made, status: "validating", expires_at })
    .returning();
  if (batch === undefined) throw new Error("no batch");
  return batch;
}

async function validate(batch: BatchRow, goesOn = () => true): Promise<void> {
  await validateBatch({ db: control.ctx.db, bucket: null }, batch, { now: () => new Date(), goesOn });
}

/** What became of a batch of these lines, and the bodies that are to run. */
async function validated(...lines: readonly string[]) {
  const { db } = control.ctx;
  const batch = await newBatch(...lines);
  await validate(batch);
  const [after] = await db.select().from(batches).where(eq(batches.id, batch.id));
  const rows = await db.select().from(batchLines).where(eq(batchLines.batch_id, batch.id)).orderBy(batchLines.n);
  return { status: after?.status, errors: after?.errors, bodies: rows.map(({ body }) => body) };
}

describe("the body of a line", () => {
  it("runs as it stands in the file: numbers, names that come twice, escapes and spaces", async () => {
    const bodies = [
      '{"model":"m","seed":12345678901234567890,"temperature":1.0,"top_p":1e-1}',
      '{ "model" : "a", "model" :"m","x":{"a":1,"a":2}, "messages":[{"content":"\\u00e4\\/ \\ud83d\\ude00 ä😀"}]\t}',
    ];
    const [first, second] = bodies;
    const read = await validated(
      `{"custom_id":"1",${HEAD},"body":${first}}`,
      `\ufeff  { "body" : ${second} ,"note":"{\\"body\\":{}}", "custom_id":"ä", ${HEAD} }\r`,
      `{"custom_id":"3",${HEAD},"b\\u006fdy":${first}}`,
    );
    expect(read).toEqual({ status: "in_progress", errors: [], bodies: [first, second, first] });
  });

  it("is refused when the line has two: another one could run than was examined", async () => {
    const body = '{"model":"m","stream":true}';
    const { status, errors } = await validated(`{"custom_id":"1",${HEAD},"body":${body},"body":{"model":"m"}}`);
    expect({ status, errors }).toMatchObject({
      status: "failed",
      errors: [{ line: 1, code: "invalid_line", param: "body" }],
    });
  });
});

describe("a file", () => {
  const line = (id: string) => `{"custom_id":"${id}",${HEAD},"body":{"model":"m"}}`;
  const shown = async ({ id }: BatchRow) => {
    const { status, errors } = (await control.must("GET", `/batches/${id}`)) as Batch;
    return { status, codes: errors.map(({ code }) => code) };
  };

  it("is read with turns of the event loop between its lines", async () => {
    const batch = await newBatch(...Array.from({ length: 2000 }, (_, at) => line(`line-${at}`)));
    const order: string[] = [];
    const count = (): void => {
      order.push("turn");
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    await validate(batch);
    clearImmediate(next);
    expect({ manyTurns: order.length > 20, ...(await shown(batch)) }).toEqual({
      manyTurns: true,
      status: "in_progress",
      codes: [],
    });
  });

  it("that was begun three times and never read to its end is refused", async () => {
    const { db } = control.ctx;
    const batch = await newBatch(line("refused"));
    await db.execute(sql`ALTER TABLE batch_lines ADD CONSTRAINT refused CHECK (custom_id <> 'refused')`);
    for (let tries = 0; tries < 3; tries += 1) await expect(validate(batch)).rejects.toThrow();
    const before = await shown(batch);
    await validate(batch);
    await db.execute(sql`ALTER TABLE batch_lines DROP CONSTRAINT refused`);
    expect({ before, after: await shown(batch) }).toEqual({
      before: { status: "validating", codes: [] },
      after: { status: "failed", codes: ["file_not_read"] },
    });
  });

  it("is read however often other processes, or an outage of its store, interrupted it", async () => {
    const batch = await newBatch(line("1"));
    for (let tries = 0; tries < 5; tries += 1) await validate(batch, () => false);
    const away = { db: control.ctx.db, bucket: null };
    await control.ctx.db.execute(sql`UPDATE file_pieces SET bytes = '' WHERE file_id = ${batch.input_file_id}`);
    const options = { now: () => new Date(), goesOn: () => true };
    for (let tries = 0; tries < 5; tries += 1)
      await expect(validateBatch(away, batch, options)).rejects.toThrow("GATEWAY_FILES_TO");
    await control.ctx.db.execute(
      sql`UPDATE file_pieces SET bytes = ${Buffer.from(line("1"))} WHERE file_id = ${batch.input_file_id}`,
    );
    await validate(batch);
    expect(await shown(batch)).toEqual({ status: "in_progress", codes: [] });
  });
});
