/** Chat completions, streaming and not, and the row each leaves (docs/rules/routes.md#path-classes). */
import { describe, expect, it } from "vitest";
import { dataOf, useGateway } from "../harness/fixture.ts";
import { mainRows } from "../harness/main-rows.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

describe("a JSON answer", () => {
  it("is the upstream's own, and leaves one row with its tokens, cost and times", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain,delay=30");
    const response = await fixture.gateway.chat(minted);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      id: "chatcmpl-test",
      usage: { prompt_tokens: 11, completion_tokens: 22 },
    });
    const requestId = response.headers.get("x-gateway-request-id");
    expect(response.headers.get("x-request-id")).toBe(requestId);
    expect(response.headers.get("x-gateway-upstream-status")).toBe("200");
    expect(response.headers.get("x-gateway-overhead-ms")).toMatch(/^\d+$/);
    const row = await fixture.gateway.row(minted.tenant.id, requestId);
    expect(row).toMatchObject({
      request_id: requestId,
      key_id: minted.key.id,
      key_prefix: minted.key.key_prefix,
      tenant_name: minted.tenant.name,
      model: minted.model.model_name,
      request_type: "chat",
      admission: "fast",
      status_code: 200,
      upstream_status: 200,
      input_tokens: 11,
      output_tokens: 22,
      total_tokens: 33,
      queue_wait_ms: 0,
      cache_status: "off",
      cell: "local",
      weight: 100,
      session_id_source: "derived",
    });
    expect(row.cost_usd).toBeCloseTo(11 * 0.001 + 22 * 0.01, 9);
    expect(row.ttft_ms).toBeGreaterThanOrEqual(25);
    expect(row.total_ms).toBeGreaterThanOrEqual(row.ttft_ms);
  });

  it("is billed at the estimate when the upstream reports nothing", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "no-usage");
    const response = await fixture.gateway.chat(minted, {
      body: { messages: [{ role: "user", content: "x".repeat(400) }], max_tokens: 50 },
    });
    await response.text();
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      input_tokens: 104,
      output_tokens: 50,
      estimated_tokens: 154,
    });
  });
});

describe("what goes upstream", () => {
  it("is the client's body with the model replaced, under the upstream's credential", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", { api_key: "sk-upstream" });
    const extra = { temperature: 0.25, metadata: { a: [1, 2, { b: null }] } };
    await (
      await fixture.gateway.chat(minted, {
        body: extra,
        headers: { "x-custom": "kept", "x-gateway-boons": "off", "x-forwarded-for": "1.2.3.4" },
      })
    ).text();
    const [seen] = fixture.upstream.seen(minted.mark);
    expect(seen?.path).toBe("/v1/chat/completions");
    expect(seen?.body).toEqual({
      model: "plain",
      messages: [{ role: "user", content: `hello ${minted.mark}` }],
      ...extra,
    });
    expect(seen?.headers).toMatchObject({ authorization: "Bearer sk-upstream", "x-custom": "kept" });
    expect(seen?.headers).not.toHaveProperty("x-gateway-boons");
    expect(seen?.headers).not.toHaveProperty("x-forwarded-for");
    expect(JSON.stringify(seen?.headers)).not.toContain(minted.secret);
  });

  it("carries no credential when none is set, and takes the client's from x-api-key", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const response = await fetch(`${fixture.gateway.proxyUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { "x-api-key": minted.secret },
      body: JSON.stringify({ model: minted.model.model_name, messages: [{ role: "user", content: minted.mark }] }),
    });
    expect(response.status).toBe(200);
    await response.text();
    expect(fixture.upstream.seen(minted.mark)[0]?.headers).not.toHaveProperty("authorization");
    expect(fixture.upstream.seen(minted.mark)[0]?.headers).not.toHaveProperty("x-api-key");
  });

  it("arrives complete when it is larger than the largest body that is parsed", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const image = `data:image/png;base64,${"iVBORw0KGgo".repeat(550_000)}`;
    const messages = [
      {
        role: "user",
        content: [
          { type: "text", text: minted.mark },
          { type: "image_url", image_url: { url: image } },
        ],
      },
    ];
    const response = await fixture.gateway.chat(minted, { body: { messages } });
    expect(response.status).toBe(200);
    await response.text();
    expect(fixture.upstream.seen(minted.mark)[0]?.body).toEqual({ model: "plain", messages });
    const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
    expect(row.estimated_tokens).toBe(Math.floor(minted.mark.length / 4) + 4 + 512);
  });
});

describe("a stream", () => {
  mainRows(1)(["plain", "bytes"])(
    "reaches the client without the usage event that the gateway asked for (%s)",
    async (behaviour) => {
      const minted = await fixture.gateway.mint(fixture.upstream.url, `${behaviour},chunks=5`);
      const response = await fixture.gateway.chat(minted, { stream: true });
      expect({
        status: response.status,
        "content-type": response.headers.get("content-type"),
        "x-accel-buffering": response.headers.get("x-accel-buffering"),
      }).toEqual({ status: 200, "content-type": "text/event-stream", "x-accel-buffering": "no" });
      const data = dataOf(await response.text());
      expect(data).toHaveLength(6);
      expect(data.at(-1)).toBe("[DONE]");
      expect(data.join("")).not.toContain("prompt_tokens");
      expect(fixture.upstream.seen(minted.mark)[0]?.body["stream_options"]).toEqual({ include_usage: true });
      expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
        input_tokens: 11,
        output_tokens: 22,
        status_code: 200,
      });
    },
  );

  it("keeps the usage event of a client that asked for it", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=5,pace=5");
    const response = await fixture.gateway.chat(minted, {
      stream: true,
      body: { stream_options: { include_usage: true, other: 1 } },
    });
    const data = dataOf(await response.text());
    expect(data).toHaveLength(7);
    expect(data.at(-2)).toContain("prompt_tokens");
    expect(fixture.upstream.seen(minted.mark)[0]?.body["stream_options"]).toEqual({ include_usage: true, other: 1 });
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      input_tokens: 11,
      output_tokens: 22,
    });
  });

  it("is requested once more without the option when the upstream refuses the option", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "no-options");
    for (const attempts of [2, 3]) {
      const response = await fixture.gateway.chat(minted, { stream: true });
      expect(dataOf(await response.text()).at(-1)).toBe("[DONE]");
      expect(fixture.upstream.seen(minted.mark)).toHaveLength(attempts);
    }
  });

  it("arrives chunk by chunk", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=10000,pace=5");
    const controller = new AbortController();
    const response = await fixture.gateway.chat(minted, { stream: true, signal: controller.signal });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(first?.value?.byteLength).toBeGreaterThan(0);
    expect(fixture.upstream.seen(minted.mark)[0]?.done).toBe(false);
    controller.abort();
    await waitFor(
      () => fixture.upstream.seen(minted.mark)[0]?.cutOff,
      (cut) => cut === true,
    );
  });
});

describe("a stream whose pieces come too fast to inspect each one", { tags: ["check"] }, () => {
  it.each([
    [{}, 0],
    [{ stream_options: { include_usage: true } }, 1],
  ])("arrives whole and is billed as reported (%j)", async (body, usageEvents) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=400,pace=1");
    const response = await fixture.gateway.chat(minted, { stream: true, body });
    const data = dataOf(await response.text());
    expect(data.filter((event) => event.includes('"delta"')).map((event) => /w\d+/.exec(event)?.[0])).toEqual(
      Array.from({ length: 400 }, (_, at) => `w${at}`),
    );
    expect({ count: data.length, last: data.at(-1) }).toEqual({ count: 400 + usageEvents + 1, last: "[DONE]" });
    const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
    expect(row).toMatchObject({ status_code: 200, input_tokens: 11, output_tokens: 22 });
  });

  it("ends at its upstream when the client leaves", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=20000,pace=1");
    const controller = new AbortController();
    const response = await fixture.gateway.chat(minted, { stream: true, signal: controller.signal });
    const reader = response.body?.getReader();
    for (let bytes = 0; bytes < 20_000; ) bytes += (await reader?.read())?.value?.byteLength ?? 0;
    controller.abort();
    await waitFor(
      () => fixture.upstream.seen(minted.mark)[0]?.cutOff,
      (cut) => cut === true,
    );
  });
});

describe("a client that leaves", () => {
  mainRows(1)([{}, { stream_options: { include_usage: true } }])(
    "stops its upstream within two chunks (%j)",
    async (body) => {
      const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=100,pace=1000");
      const controller = new AbortController();
      const response = await fixture.gateway.chat(minted, { stream: true, body, signal: controller.signal });
      await response.body?.getReader().read();
      const atAbort = fixture.upstream.seen(minted.mark)[0]?.chunksWritten ?? 0;
      controller.abort();
      await waitFor(
        () => fixture.upstream.seen(minted.mark)[0]?.cutOff,
        (cut) => cut === true,
      );
      expect((fixture.upstream.seen(minted.mark)[0]?.chunksWritten ?? 0) - atAbort).toBeLessThanOrEqual(2);
    },
  );

  it("before the first byte stops its upstream too, and is settled at the estimate", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "hang");
    const controller = new AbortController();
    const left = fixture.gateway.chat(minted, { signal: controller.signal }).then(
      () => "answered",
      () => "left",
    );
    await waitFor(
      () => fixture.upstream.seen(minted.mark),
      (seen) => seen.length === 1,
    );
    controller.abort();
    expect(await left).toBe("left");
    await waitFor(
      () => fixture.upstream.seen(minted.mark)[0]?.cutOff,
      (cut) => cut === true,
    );
    const [row] = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (rows) => rows.length === 1,
    );
    expect(row).toMatchObject({ status_code: 499, upstream_status: 0, admission: "fast" });
    expect(row?.total_tokens).toBe(row?.estimated_tokens);
  });
});

describe("a session id", () => {
  mainRows(1)([
    [{ "x-gateway-session-id": "first", "x-session-id": "second" }, { user: "u" }, "first"],
    [{ "x-session-id": " second " }, { user: "u" }, "second"],
    [{}, { session_id: "body", user: "u" }, "body"],
    [{}, { metadata: { session_id: "meta" }, user: "u" }, "meta"],
    [{}, { user: "u" }, "u"],
  ])("is taken from %j and %j", async (headers, body, expected) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const response = await fixture.gateway.chat(minted, { headers: headers as Record<string, string>, body });
    await response.text();
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      session_id: expected,
      session_id_source: "client",
    });
  });

  it("is derived, the same for every turn of a conversation", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const start = [
      { role: "system", content: "be brief" },
      { role: "user", content: `q ${minted.mark}` },
    ];
    const ids: string[] = [];
    for (const messages of [
      start,
      [...start, { role: "assistant", content: "a" }, { role: "user", content: "again" }],
    ]) {
      const response = await fixture.gateway.chat(minted, { body: { messages } });
      await response.text();
      ids.push((await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).session_id);
    }
    expect(ids[0]).toMatch(/^[0-9a-f]{16}$/);
    expect(ids[1]).toBe(ids[0]);
  });
});
