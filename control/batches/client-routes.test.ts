/**
 * Forms of files keep what the gateway knows, and no more (docs/rules/batches.md#files).
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { type SQL, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import type { ApiKey, CreatedKey } from "../../shared/schema/api-key.ts";
import type { AuditEntry } from "../../shared/schema/audit.ts";
import type { Batch } from "../../shared/schema/batch.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { CALLER_HEADERS, CLIENT_PATHS } from "../../shared/wire/batch-lines.ts";
import { INTERNAL_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => await control.close());

const newTenant = async () => await control.must<Tenant>("POST", "/tenants", { name: `of-calls-${randomUUID()}` });

async function callsOf(caller?: { readonly tenantId: string; readonly keyId: string }) {
  const headers = {
    authorization: `Bearer ${INTERNAL_TOKEN}`,
    [CALLER_HEADERS.tenant]: caller?.tenantId ?? (await newTenant()).id,
    [CALLER_HEADERS.key]: caller?.keyId ?? randomUUID(),
  };
  return async (path: string, init: RequestInit = {}, more: Readonly<Record<string, string>> = {}) =>
    await control.app.request(`${CLIENT_PATHS}${path}`, { ...init, headers: { ...headers, ...more } });
}

it("a tenant has a bounded number of calls under way, of all Workers, and others are served", async () => {
  const call = await callsOf();
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new Blob(["x".repeat(1_000_000)]), "a.jsonl");
  const { id } = (await (await call("/v1/files", { method: "POST", body: form })).json()) as { id: string };
  const held: Response[] = [];
  let answer = await call(`/v1/files/${id}/content`);
  for (; answer.status === 200; answer = await call(`/v1/files/${id}/content`)) held.push(answer);
  const refused = { status: answer.status, retry: answer.headers.get("retry-after"), body: await answer.json() };
  const other = await (await callsOf())("/v1/files");
  await held[0]?.body?.cancel();
  await held[1]?.arrayBuffer();
  const again = [
    await call("/v1/files"),
    await call(`/v1/batches/batch_${"0".repeat(32)}`),
    await call("/v1/batches"),
    await call("/v1/batches"),
  ];
  for (const each of held.slice(2)) await each.body?.cancel();
  expect({ held: held.length, refused, other: other.status, again: again.map(({ status }) => status) }).toMatchObject({
    held: 4 * LIMITS.tenantFileCalls,
    refused: { status: 429, retry: "1", body: { error: { code: "files_busy" } } },
    other: 200,
    again: [200, 404, 200, 429],
  });
});

it("HEAD is over with its answer, and keeps no place of a call", async () => {
  const call = await callsOf();
  const heads: number[] = [];
  for (let at = 0; at <= 4 * LIMITS.tenantFileCalls; at += 1)
    heads.push((await call("/v1/files", { method: "HEAD" })).status);
  expect({ heads: new Set(heads), after: (await call("/v1/files")).status }).toEqual({
    heads: new Set([200]),
    after: 200,
  });
});

it("an upload that its client cuts off is no failure of the database, and leaves no file", async () => {
  const call = await callsOf();
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new Blob(["x".repeat(1_000_000)]), "a.jsonl");
  const whole = new Response(form);
  const sent = (await whole.arrayBuffer()).slice(0, 500_000);
  let isSent = false;
  const body = new ReadableStream({
    pull: (controller) => {
      if (isSent) throw Object.assign(new Error("aborted"), { code: "ECONNRESET" });
      controller.enqueue(new Uint8Array(sent));
      isSent = true;
    },
  });
  const headers = { "content-type": whole.headers.get("content-type") ?? "" };
  const cut = await call("/v1/files", { method: "POST", body, duplex: "half" } as RequestInit, headers);
  const { data } = (await (await call("/v1/files")).json()) as { data: unknown[] };
  expect({ cut: cut.status, body: await cut.json(), data }).toMatchObject({
    cut: 400,
    body: { error: { code: "invalid_multipart" } },
    data: [],
  });
});

it("unknown fields are thrown away unread, and a form has a bounded number of parts", async () => {
  const call = await callsOf();
  const upload = async (unknownFields: number, bytes: number) => {
    const form = new FormData();
    form.append("purpose", "batch");
    for (let at = 0; at < unknownFields; at += 1) form.append(`x-${at}`, "x".repeat(bytes));
    form.append("file", new Blob(["{}\n"]), "a.jsonl");
    const response = await call("/v1/files", { method: "POST", body: form });
    return { status: response.status, body: await response.json() };
  };
  expect(await upload(2, 100_000)).toMatchObject({ status: 200, body: { object: "file", bytes: 3 } });
  expect(await upload(40, 10)).toMatchObject({ status: 400, body: { error: { param: "file" } } });
});

describe("a long list", () => {
  interface List {
    readonly data: readonly { readonly id: string }[];
    readonly first_id: string;
    readonly last_id: string;
    readonly has_more: boolean;
  }
  /** The list, and the longest text that was written for it at once. */
  async function written(call: Awaited<ReturnType<typeof callsOf>>, path: string) {
    const stringify = vi.spyOn(JSON, "stringify");
    const text = await (await call(path)).text();
    const longest = Math.max(...stringify.mock.results.map(({ value }) => String(value).length));
    stringify.mockRestore();
    const list = JSON.parse(text) as List;
    const ids = list.data.map(({ id }) => id);
    expect({ first: list.first_id, last: list.last_id }).toEqual({ first: ids[0], last: ids.at(-1) });
    return { rows: new Set(ids).size, hasMore: list.has_more, parts: Math.round(text.length / longest), ids };
  }
  const rowsOf = async (count: number, insert: (numbers: SQL) => SQL): Promise<void> =>
    void (await control.ctx.db.execute(insert(sql`generate_series(1, ${count}::int) n`)));

  it("of files is written in the parts in which it is read", async () => {
    const tenantId = (await newTenant()).id;
    await rowsOf(
      1600,
      (numbers) => sql`INSERT INTO files (tenant_id, purpose, filename, complete)
      SELECT ${tenantId}, 'batch', repeat('漢', 255), true FROM ${numbers}`,
    );
    const call = await callsOf({ tenantId, keyId: randomUUID() });
    const page = await written(call, "/v1/files?limit=1500");
    expect(page).toMatchObject({ rows: 1500, hasMore: true, parts: 3 });
    expect(await written(call, `/v1/files?after=${page.ids.at(-1)}`)).toMatchObject({ rows: 100, hasMore: false });
  });

  it("of batches is written in the parts in which it is read", async () => {
    const tenantId = (await newTenant()).id;
    await rowsOf(
      105,
      (numbers) => sql`
      INSERT INTO batches (tenant_id, key_id, endpoint, input_file_id, status, metadata, expires_at, ended_at)
      SELECT ${tenantId}, gen_random_uuid(), '/v1/embeddings', gen_random_uuid(), 'completed',
        jsonb_build_object('a', repeat(chr(1), 512)), now(), now() FROM ${numbers}`,
    );
    const call = await callsOf({ tenantId, keyId: randomUUID() });
    const page = await written(call, "/v1/batches?limit=100");
    expect(page).toMatchObject({ rows: 100, hasMore: true, parts: 10 });
    expect(await written(call, `/v1/batches?after=${page.ids.at(-1)}`)).toMatchObject({ rows: 5, hasMore: false });
  });
});

async function newFile(call: Awaited<ReturnType<typeof callsOf>>): Promise<string> {
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new Blob(["{}\n"]), "a.jsonl");
  return ((await (await call("/v1/files", { method: "POST", body: form })).json()) as { id: string }).id;
}

async function newBatch(call: Awaited<ReturnType<typeof callsOf>>, fileId: string): Promise<number> {
  const body = { input_file_id: fileId, endpoint: "/v1/embeddings", completion_window: "24h" };
  const json = { "content-type": "application/json" };
  return (await call("/v1/batches", { method: "POST", body: JSON.stringify(body) }, json)).status;
}

it("a batch whose results would be deleted later is refused, because nothing would delete them", {
  tags: ["check"],
}, async () => {
  const call = await callsOf();
  const made = { input_file_id: await newFile(call), endpoint: "/v1/embeddings", completion_window: "24h" };
  const body = JSON.stringify({ ...made, output_expires_after: { anchor: "created_at", seconds: 3600 } });
  const answer = await call("/v1/batches", { method: "POST", body }, { "content-type": "application/json" });
  expect({ status: answer.status, body: await answer.json() }).toMatchObject({
    status: 400,
    body: { error: { param: "output_expires_after" } },
  });
});

describe("the body that makes a batch", () => {
  const json = { "content-type": "application/json" };
  const sent = async (body: object | string) => {
    const call = await callsOf();
    const made = { input_file_id: await newFile(call), endpoint: "/v1/embeddings", completion_window: "24h" };
    const text = typeof body === "string" ? body : JSON.stringify({ ...made, ...body });
    const escaped = text.replace(/ä/g, "\\u00e4");
    const response = await call("/v1/batches", { method: "POST", body: escaped }, json);
    const { error } = (await response.json()) as { error?: { code: string; param: string | null } };
    return { status: response.status, code: error?.code, param: error?.param };
  };
  const metadataOf = (count: number, value: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`${at}`.padEnd(64, "ä"), value]));

  it("has room for the longest names and values, written as escapes", async () => {
    expect(await sent({ metadata: metadataOf(16, "ä".repeat(512)) })).toMatchObject({ status: 200 });
  });

  it("is refused when it is larger, or of more parts, before it is parsed", async () => {
    const refused = { status: 413, code: "request_too_large" };
    expect(await sent({ metadata: metadataOf(4000, "") })).toMatchObject(refused);
    expect(await sent({ x: Array.from({ length: 5000 }, () => 0) })).toMatchObject(refused);
    expect(await sent("[".repeat(5000) + "]".repeat(5000))).toMatchObject(refused);
  });

  it("has at most 16 names of metadata, which are counted before each is checked", async () => {
    expect(await sent({ metadata: metadataOf(17, "") })).toMatchObject({ status: 400, param: "metadata" });
    expect(await sent({ metadata: metadataOf(17, 0) })).toMatchObject({ status: 400, param: "metadata" });
    for (const metadata of [["a"], "a", 1, { a: 1 }])
      expect(await sent({ metadata })).toMatchObject({ status: 400, code: "validation_failed" });
    expect(await sent({ metadata: null })).toMatchObject({ status: 200 });
  });
});

const endOf = async (id: string) => (await control.must<ApiKey>("GET", `/keys/${id}`)).expires_at;
const changesOf = async (id: string) =>
  await control.must<readonly AuditEntry[]>("GET", `/audit?action=update_key&entity_id=${id}`);

it("a batch that the console makes keeps its key until it has expired, and no other key", {
  tags: ["check"],
}, async () => {
  const tenantId = (await newTenant()).id;
  const ownKey = await control.must<CreatedKey>("POST", `/tenants/${tenantId}/keys`, { name: "own" });
  const consoleKey = await control.must<CreatedKey>("POST", `/tenants/${tenantId}/console-key`);
  for (const { key } of [ownKey, consoleKey]) {
    const call = await callsOf({ tenantId, keyId: key.id });
    await newBatch(call, await newFile(call));
  }
  const made = await control.must<readonly Batch[]>("GET", `/batches?tenant_id=${tenantId}`);
  const end = Date.parse(made.find(({ key_id }) => key_id === consoleKey.key.id)?.expires_at ?? "");
  const keptUntil = await endOf(consoleKey.key.id);
  expect({
    own: await endOf(ownKey.key.id),
    longerMs: Date.parse(keptUntil ?? "") - end,
    audits: (await changesOf(consoleKey.key.id)).map(({ detail }) => detail),
  }).toEqual({
    own: null,
    longerMs: 60_000,
    audits: [{ changed: { expires_at: [consoleKey.key.expires_at, keptUntil] } }],
  });
});

it("a refused batch leaves the console's key as it was, and batches of a minute change it once", {
  tags: ["check"],
}, async () => {
  const { id: tenantId } = await newTenant();
  const { key } = await control.must<CreatedKey>("POST", `/tenants/${tenantId}/console-key`);
  const call = await callsOf({ tenantId, keyId: key.id });
  const fileId = await newFile(call);
  await control.must("PATCH", `/tenants/${tenantId}`, { files_bytes: 1 });
  const refused = { status: await newBatch(call, fileId), end: await endOf(key.id) };
  await control.must("PATCH", `/tenants/${tenantId}`, { files_bytes: null });
  const made = [await newBatch(call, fileId), await newBatch(call, fileId)];
  expect({ refused, made, changes: (await changesOf(key.id)).length }).toEqual({
    refused: { status: 403, end: key.expires_at },
    made: [200, 200],
    changes: 1,
  });
});
