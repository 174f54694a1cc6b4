/**
 * Files and batches with the official OpenAI SDK (docs/rules/batches.md): made, run on idle slots, read, listed, cancelled; owned by
 * their tenant; each line governed like a call of its key.
 *
 * @module-tag check
 */
import OpenAI, { toFile } from "openai";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import type { Batch } from "../../shared/schema/batch.ts";
import type { FairshareLive } from "../../shared/schema/load.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { jsonAnswer, startHttpSink } from "../harness/http-sink.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const ENDED = new Set(["completed", "failed", "expired", "cancelled"]);

const clientOf = (minted: Pick<Minted, "secret">): OpenAI =>
  new OpenAI({ baseURL: `${fixture.gateway.proxyUrl}/v1`, apiKey: minted.secret, maxRetries: 0 });

const lineOf = (minted: Minted, id: string, model = minted.model.model_name) => ({
  custom_id: id,
  method: "POST",
  url: "/v1/chat/completions",
  body: { model, messages: [{ role: "user", content: `${minted.mark} ${id}` }] },
});

async function batchOf(client: OpenAI, lines: readonly object[], more = "") {
  const text = [...lines.map((line) => JSON.stringify(line)), more].join("\n");
  const file = await client.files.create({ file: await toFile(Buffer.from(text), "in.jsonl"), purpose: "batch" });
  return await client.batches.create({
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    metadata: { job: "nightly" },
  });
}

const ended = async (client: OpenAI, id: string) =>
  await waitFor(
    async () => await client.batches.retrieve(id),
    ({ status }) => ENDED.has(status),
  );

const linesOf = async (client: OpenAI, id: string | null | undefined) =>
  (await (await client.files.content(id ?? "")).text())
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, never>);

describe("a batch of the OpenAI SDK", () => {
  it("runs each line as a call of its key, and ends with results and errors in files", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", {
      input_cost_per_token: 0.001,
      output_cost_per_token: 0.001,
      batch_price_factor: 0.5,
    });
    const client = clientOf(minted);
    const ids = Array.from({ length: 12 }, (_, at) => `line-${at}`);
    const made = await batchOf(client, [
      ...ids.map((id) => lineOf(minted, id)),
      lineOf(minted, "bad", "no-such-model"),
    ]);
    expect(made).toMatchObject({ object: "batch", metadata: { job: "nightly" }, errors: null });
    const batch = await ended(client, made.id);
    expect(batch).toMatchObject({ status: "completed", request_counts: { total: 13, completed: 12, failed: 1 } });
    const results = await linesOf(client, batch.output_file_id);
    expect(results.map(({ custom_id }) => custom_id)).toEqual(ids);
    expect(results[0]).toMatchObject({
      error: null,
      response: { status_code: 200, body: { object: "chat.completion" } },
    });
    const errors = await linesOf(client, batch.error_file_id);
    expect(errors).toMatchObject([
      { custom_id: "bad", response: { status_code: 404, body: { error: { code: "model_not_found" } } } },
    ]);
    const rows = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (found) => found.length === 13,
    );
    const ran = rows.filter(({ status_code }) => status_code === 200);
    expect(new Set(ran.map(({ request_id }) => request_id)).size).toBe(12);
    const attributed = { admission: "batch", request_type: "chat", key_id: minted.key.id, tags: `batch=${made.id}` };
    expect(ran[0]).toMatchObject(attributed);
    for (const row of ran) expect(row.cost_usd).toBeCloseTo(row.total_tokens * 0.0005, 9);
    const shown = await fixture.gateway.must<readonly Batch[]>("GET", `/batches?tenant_id=${minted.tenant.id}`);
    expect(shown).toMatchObject([{ batch_id: made.id, status: "completed", lines_completed: 12, lines_failed: 1 }]);
  });

  it("fails with what is wrong with its lines", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const client = clientOf(minted);
    const line = lineOf(minted, "one");
    const made = await batchOf(client, [line, line, { ...line, custom_id: "two", url: "/v1/embeddings" }, [1]]);
    const batch = await ended(client, made.id);
    expect(batch.status).toBe("failed");
    expect(batch.errors?.data).toMatchObject([
      { line: 2, code: "duplicate_custom_id", param: "custom_id" },
      { line: 3, code: "mismatched_url", param: "url" },
      { line: 4, code: "invalid_line" },
    ]);
  });

  it("is cancelled: lines that have not begun do not run", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "delay=1500", { max_in_flight: 2 });
    const client = clientOf(minted);
    const made = await batchOf(
      client,
      Array.from({ length: 40 }, (_, at) => lineOf(minted, `line-${at}`)),
    );
    await waitFor(
      () => fixture.upstream.seen(minted.mark).length,
      (seen) => seen > 0,
    );
    expect((await client.batches.cancel(made.id)).status).toBe("cancelling");
    const batch = await ended(client, made.id);
    const { completed = 0, failed = 0 } = batch.request_counts ?? {};
    expect({ status: batch.status, all: completed + failed }).toEqual({ status: "cancelled", all: 40 });
    expect(fixture.upstream.seen(minted.mark)).toHaveLength(completed);
    expect(await linesOf(client, batch.error_file_id)).toContainEqual(
      expect.objectContaining({ response: null, error: expect.objectContaining({ code: "batch_cancelled" }) }),
    );
  });
});

describe("lines of a batch", () => {
  it("reach the upstream with the bytes of their body", async () => {
    const answer = { object: "chat.completion", choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } };
    const sink = await startHttpSink(() => jsonAnswer(answer));
    onTestFinished(sink.close);
    const minted = await fixture.gateway.mint(`${sink.url}/v1`);
    const client = clientOf(minted);
    const rest = `"seed":12345678901234567890,"temperature":1.0,"x":{"a":1,"b":2}, "messages":[{"role":"user","content":"\\u00e4\\/"}]`;
    const model = JSON.stringify(minted.model.model_name);
    const line = `{"custom_id":"1","method":"POST","url":"/v1/chat/completions","body":{"model":${model},${rest}}}`;
    expect((await ended(client, (await batchOf(client, [], line)).id)).status).toBe("completed");
    expect(sink.asked.map(({ body }) => body.includes(rest))).toEqual([true]);
  });

  it("hold slots that the live view and the metrics show apart, and that no share is charged for", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "delay=4000", { max_in_flight: 1 });
    const client = clientOf(minted);
    const made = await batchOf(
      client,
      ["a", "b"].map((id) => lineOf(minted, id)),
    );
    const live = await waitFor(
      async () => await fixture.gateway.must<FairshareLive>("GET", "/fairshare/live"),
      ({ model_in_flight, batch_queued }) => model_in_flight[minted.model.model_name] === 1 && batch_queued > 0,
    );
    expect(live.batch_in_flight).toBeGreaterThan(0);
    expect(live.global_in_flight).toBeGreaterThanOrEqual(live.batch_in_flight);
    const own = live.tenants.find(({ tenant_id }) => tenant_id === minted.tenant.id);
    expect({ inFlight: own?.in_flight ?? 0, queued: own?.queued ?? 0 }).toEqual({ inFlight: 0, queued: 0 });
    const scraped = await (await fetch(`${inject("metricsUrl")}/metrics`)).text();
    expect(Number(/gateway_batch_in_flight\{cell="local"\} (\d+)/.exec(scraped)?.[1])).toBeGreaterThan(0);
    await client.batches.cancel(made.id);
  });

  it("wait while any request waits, and run when none does", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "delay=150", { max_in_flight: 1 });
    const client = clientOf(minted);
    let answered = 0;
    let goesOn = true;
    const people = Array.from({ length: 4 }, async () => {
      while (goesOn) {
        const response = await fixture.gateway.chat(minted);
        await response.text();
        answered += 1;
      }
    });
    const answersAfter = async (more: number): Promise<number> => {
      const before = answered;
      return await waitFor(
        () => answered,
        (now) => now >= before + more,
      );
    };
    await answersAfter(4);
    const made = await batchOf(
      client,
      ["a", "b", "c"].map((id) => lineOf(minted, id)),
    );
    await waitFor(
      async () => await client.batches.retrieve(made.id),
      ({ status }) => status === "in_progress",
    );
    await answersAfter(20);
    const { request_counts: counts } = await client.batches.retrieve(made.id);
    expect(counts).toEqual({ total: 3, completed: 0, failed: 0 });
    goesOn = false;
    await Promise.all(people);
    expect((await ended(client, made.id)).request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
  });

  it("fail like calls of a key that is disabled, and of a tenant whose budget is used up", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const { key, tenant } = minted;
    const made = await fixture.gateway.must<{ key: { id: string }; secret: string }>(
      "POST",
      `/tenants/${tenant.id}/keys`,
      { name: "reader" },
    );
    const reader = clientOf(made);
    const codesOf = async (id: string) =>
      (await linesOf(reader, (await ended(reader, id)).error_file_id)).map(
        ({ response }) => (response as unknown as { body: { error: { code: string } } }).body.error.code,
      );
    const slow = await fixture.gateway.mint(fixture.upstream.url, "hang", { max_in_flight: 1 });
    const leave = new AbortController();
    const held = fixture.gateway.chat({ ...slow, secret: made.secret }, { signal: leave.signal });
    held.catch(() => undefined);
    await waitFor(
      async () => await fixture.gateway.loadOf(slow.model.model_name),
      ({ inFlight }) => inFlight === 1,
    );
    // The line waits for the one slot of its model while its key is disabled.
    const batch = await batchOf(clientOf(minted), [lineOf(minted, "a", slow.model.model_name)]);
    await fixture.gateway.must("PATCH", `/keys/${key.id}`, { disabled: true });
    leave.abort();
    expect(await codesOf(batch.id)).toEqual(["api_key_disabled"]);
    await fixture.gateway.must("PATCH", `/tenants/${tenant.id}/budget`, { budget_tokens: 0 });
    const over = await batchOf(reader, [lineOf(minted, "b")]);
    expect(await codesOf(over.id)).toEqual(["tenant_budget_exhausted"]);
  });

  it("of a tenant beyond its own limit do not hold up another tenant's on that model", async () => {
    const [busy, other] = [
      await fixture.gateway.mint(fixture.upstream.url),
      await fixture.gateway.mint(fixture.upstream.url),
    ];
    const model = busy.model.model_name;
    await fixture.gateway.must("PATCH", `/tenants/${busy.tenant.id}`, { requests_per_minute: 1 });
    const ids = Array.from({ length: 20 }, (_, at) => `line-${at}`);
    const refused = await batchOf(
      clientOf(busy),
      ids.map((id) => lineOf(busy, id)),
    );
    await waitFor(
      async () => await fixture.gateway.rows(busy.tenant.id),
      (rows) => rows.some(({ status_code }) => status_code === 429),
    );
    const made = await batchOf(
      clientOf(other),
      ids.slice(0, 5).map((id) => lineOf(other, id, model)),
    );
    expect((await ended(clientOf(other), made.id)).request_counts).toEqual({ total: 5, completed: 5, failed: 0 });
    await clientOf(busy).batches.cancel(refused.id);
  });

  it("whose answer has more than 8 MiB are called once, billed for it, and fail", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "mb=9");
    const client = clientOf(minted);
    const batch = await ended(client, (await batchOf(client, [lineOf(minted, "large")])).id);
    expect(batch.request_counts).toEqual({ total: 1, completed: 0, failed: 1 });
    expect(await linesOf(client, batch.error_file_id)).toMatchObject([
      { custom_id: "large", response: { status_code: 502, body: { error: { code: "answer_too_large" } } } },
    ]);
    expect(fixture.upstream.seen(minted.mark)).toHaveLength(1);
    const rows = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (found) => found.length > 0,
    );
    expect(rows).toMatchObject([{ status_code: 200, admission: "batch" }]);
  });

  it("have whole answers, though all of them are larger than their memory", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "mb=3");
    const client = clientOf(minted);
    const lines = Array.from({ length: 4 }, (_, at) => lineOf(minted, `large-${at}`));
    const batch = await ended(client, (await batchOf(client, lines)).id);
    expect(batch.request_counts).toEqual({ total: 4, completed: 4, failed: 0 });
    const results = await linesOf(client, batch.output_file_id);
    const lengths = results.map((result) => JSON.stringify(result).length);
    expect({ least: Math.min(...lengths) > 3_000_000, count: lengths.length }).toEqual({ least: true, count: 4 });
    expect(fixture.upstream.seen(minted.mark)).toHaveLength(4);
  });

  it("cannot be sent by a client: their headers and their route mean nothing without the token", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const other = await fixture.gateway.mint(fixture.upstream.url);
    const headers = {
      "x-gateway-line-request": crypto.randomUUID(),
      "x-gateway-line-key": other.key.id,
      "x-gateway-line-path": "/v1/chat/completions",
      "x-gateway-tenant-id": other.tenant.id,
    };
    const response = await fixture.gateway.chat(minted, { headers });
    await response.text();
    expect(response.headers.get("x-gateway-request-id")).not.toBe(headers["x-gateway-line-request"]);
    const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
    expect(row).toMatchObject({ key_id: minted.key.id, admission: "fast" });
    const asLine = await fetch(`${fixture.gateway.proxyUrl}/internal/lines`, {
      method: "POST",
      headers: { ...headers, authorization: `Bearer ${minted.secret}` },
      body: "{}",
    });
    expect({ status: asLine.status, body: await asLine.json() }).toMatchObject({
      status: 404,
      body: { error: { code: "unknown_endpoint" } },
    });
  });
});

describe("a file of the OpenAI SDK", () => {
  it("is listed, read and deleted by its tenant, and is not found by another", async () => {
    const [minted, other] = [
      await fixture.gateway.mint(fixture.upstream.url),
      await fixture.gateway.mint(fixture.upstream.url),
    ];
    const [client, stranger] = [clientOf(minted), clientOf(other)];
    const text = `${"x".repeat(700_000)}\r\n--${"y".repeat(100)}`;
    const file = await client.files.create({ file: await toFile(Buffer.from(text), "a.jsonl"), purpose: "batch" });
    expect(file).toMatchObject({ object: "file", bytes: text.length, filename: "a.jsonl", purpose: "batch" });
    const content = await (await client.files.content(file.id)).text();
    expect(content === text).toBe(true);
    const listed = async (who: OpenAI): Promise<readonly string[]> => {
      const ids: string[] = [];
      for await (const { id } of who.files.list()) ids.push(id);
      return ids;
    };
    expect(await listed(client)).toEqual([file.id]);
    expect(await listed(stranger)).toEqual([]);
    const notFound = { status: 404, code: "object_not_found" };
    await expect(stranger.files.retrieve(file.id)).rejects.toMatchObject(notFound);
    await expect(stranger.files.content(file.id)).rejects.toMatchObject({ status: 404 });
    await expect(stranger.files.delete(file.id)).rejects.toMatchObject(notFound);
    const asked = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
    await expect(stranger.batches.create(asked)).rejects.toMatchObject(notFound);
    expect(await client.files.delete(file.id)).toMatchObject({ deleted: true });
    await expect(client.files.retrieve(file.id)).rejects.toMatchObject(notFound);
  });

  it("is refused beyond the quota of the tenant, and for another purpose", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const client = clientOf(minted);
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}`, { files_bytes: 1000 });
    const upload = async (bytes: number, purpose: "batch" | "vision" = "batch") =>
      await client.files.create({ file: await toFile(Buffer.alloc(bytes, "a"), "a.jsonl"), purpose });
    await upload(600);
    await expect(upload(500)).rejects.toMatchObject({ status: 403, code: "file_quota_exceeded" });
    await expect(upload(10, "vision")).rejects.toMatchObject({ status: 400, param: "purpose" });
    await upload(400);
  });

  it("is refused when it is empty, and texts that cannot be stored are", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const client = clientOf(minted);
    const empty = toFile(Buffer.alloc(0), "a.jsonl");
    await expect(client.files.create({ file: await empty, purpose: "batch" })).rejects.toMatchObject({ status: 400 });
    const asked = { input_file_id: "file-1", endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
    for (const metadata of [{ job: "\0" }, { "\ud800": "a" }])
      await expect(client.batches.create({ ...asked, metadata })).rejects.toMatchObject({ status: 400 });
    const headers = { authorization: `Bearer ${minted.secret}` };
    const statusOf = async (path: string, method = "GET"): Promise<number> =>
      (await fetch(`${fixture.gateway.proxyUrl}${path}`, { method, headers })).status;
    expect({
      purpose: await statusOf("/v1/files?purpose=%00"),
      files: await statusOf("/v1/files", "HEAD"),
      batches: await statusOf("/v1/batches", "HEAD"),
    }).toEqual({ purpose: 400, files: 200, batches: 200 });
  });
});
