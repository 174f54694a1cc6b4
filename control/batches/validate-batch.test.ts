/**
 * A line runs with the body that stands in its file, and that is the one that was validated (docs/rules/batches.md#validation).
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Batch } from "../../shared/schema/batch.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { deletedAtOnce } from "../../test/harness/deleted-at-once.ts";
import { completeFile, storeUpload } from "./files/file-store.ts";
import { bodyIn, LargeLines } from "./large-lines.ts";
import { type BatchRow, batches, batchLines, files } from "./tables.ts";
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

describe("a line of more than 64 KiB", () => {
  const long = `"note":"${"x".repeat(70_000)}"`;
  const members = Array.from({ length: 100_000 }, (_, at) => `"${at}":0`).join();

  it("is wrong as a shorter one is, and runs as it stands there", async () => {
    const body = '{"model":"m","seed":12345678901234567890}';
    const wrong = [
      `"custom_id":"",${HEAD},"body":${body}`,
      `"custom_id":7,${HEAD},"body":${body}`,
      `"custom_id":"${"i".repeat(513)}",${HEAD},"body":${body}`,
      `${HEAD},"body":${body}`,
      `"custom_id":"1","method":["POST"],"url":{},"body":${body}`,
      `"custom_id":"2","method":"POST","url":"/v1/other","body":${body}`,
      ...[
        '[{"model":"m"}]',
        "null",
        '"m"',
        "{}",
        '{"model":{}}',
        '{"model":""}',
        `{"model":"${"m".repeat(5000)}"}`,
      ].map((each) => `"custom_id":"3",${HEAD},"body":${each}`),
      ...["stream", "background"].flatMap((name) =>
        ["true", "null", "false", "[]"].map(
          (value) => `"custom_id":"4",${HEAD},"body":{"model":"m","${name}":${value}}`,
        ),
      ),
      `"custom_id":"5",${HEAD},"body":${body},"body":${body}`,
      `"custom_id":"6",${HEAD},"body":${body},`,
      `"custom_id":"4",${HEAD},"__proto__":{},"body":${body}`,
    ];
    const short = await validated(...wrong.map((fields) => `{${fields}}`), "[1]", '"text"', "null", "[");
    const [listed, text] = [`["${"x".repeat(70_000)}"]`, `"${"x".repeat(70_000)}"`];
    const padded = wrong.map((fields) => `{${long},${fields}}`);
    expect(await validated(...padded, listed, text, "null", `[${text}`)).toEqual(short);
    expect((short.errors ?? []).length).toBeGreaterThan(20);
    const right = await validated(`{${long},"custom_id":"1",${HEAD},"body":{${members},"model":"m","seed":1.0}}`);
    expect(right).toEqual({ status: "in_progress", errors: [], bodies: [`{${members},"model":"m","seed":1.0}`] });
  });

  it("is not parsed on the thread of the service", async () => {
    const batch = await newBatch(`{"custom_id":"1",${HEAD},${members},"body":{"model":"m",${members}}}`);
    const parsing = vi.spyOn(JSON, "parse");
    await validate(batch);
    expect(Math.max(...parsing.mock.calls.map(([text]) => text.length))).toBeLessThan(64 * 1024);
  });

  it("is searched for its body with turns of the event loop", async () => {
    let turns = 0;
    let next = setImmediate(function count() {
      turns += 1;
      next = setImmediate(count);
    });
    const body = await bodyIn(`{${members},"body":{${members}}}`);
    clearImmediate(next);
    expect({ isWhole: body === `{${members}}`, hasTurns: turns > 10 }).toEqual({ isWhole: true, hasTurns: true });
  });

  it("fails when its thread ends, and the next one has another thread", async () => {
    const large = new LargeLines();
    const nothing = large.outline(`${long} no JSON`);
    expect(await nothing).toBeUndefined();
    const waiting = large.outline("[".repeat(200_000));
    large.end();
    await expect(waiting).rejects.toThrow();
    expect(await large.outline('{"custom_id":"a","x":[1]}')).toEqual({ custom_id: "a" });
    large.end();
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

  it("with a wrong last line, or a batch that was begun before, loses its stored lines in steps", async () => {
    const { db } = control.ctx;
    const batch = await newBatch(...Array.from({ length: 1200 }, (_, at) => line(`line-${at}`)), "wrong");
    await db.execute(sql`INSERT INTO batch_lines (batch_id, n, custom_id, model, body)
      SELECT ${batch.id}, n, n, 'm', repeat(md5(n::text), 100) FROM generate_series(1, 1200) n`);
    const deleted = await deletedAtOnce(db, "batch_lines", async () => await validate(batch));
    expect({ most: Math.max(...deleted), sum: deleted.reduce((sum, each) => sum + each, 0) }).toEqual({
      most: 200,
      sum: 2400,
    });
    expect(await shown(batch)).toEqual({ status: "failed", codes: ["invalid_json_line"] });
  });

  it("that is being deleted starts no batch", async () => {
    const batch = await newBatch(line("1"));
    await control.ctx.db.update(files).set({ complete: false }).where(eq(files.id, batch.input_file_id));
    await validate(batch);
    expect(await shown(batch)).toEqual({ status: "failed", codes: ["input_file_not_found"] });
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
