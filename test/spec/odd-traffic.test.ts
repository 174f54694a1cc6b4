/**
 * Bodies and answers that are legal but unusual: the gateway reads the same as the upstream
 * (docs/rules/request-bodies.md#json, docs/rules/request-bodies.md#what-goes-upstream,
 * docs/rules/upstream-calls.md#answers).
 *
 * @module-tag check
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";

const fixture = useGateway();

async function post(minted: Minted, body: string | Uint8Array<ArrayBuffer>): Promise<Response> {
  return await fetch(`${fixture.gateway.proxyUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
    body,
  });
}

/** An upstream that answers every request of the running test in one way. */
async function upstreamThat(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => answer(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

describe("a body whose model is written in an unusual way", () => {
  const messages = (mark: string): string => `"messages":[{"role":"user","content":"${mark} \\"model\\":\\"x\\""}]`;

  it.each([
    ["twice", (model: string, mark: string) => `{"model":"absent",${messages(mark)},"model":"${model}"}`],
    ["with an escaped name", (model: string, mark: string) => `{"\\u006dodel":"${model}",${messages(mark)}}`],
    [
      "after a nested one",
      (model: string, mark: string) => `{"metadata":{"model":"no"},"model":"${model}",${messages(mark)}}`,
    ],
    ["among spaces", (model: string, mark: string) => ` {\n"model" :\t"${model}" , ${messages(mark)} } \n`],
  ])("%s reaches the upstream as its own model", async (_, body) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const response = await post(minted, body(minted.model.model_name, minted.mark));
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 200,
      body: { id: "chatcmpl-test" },
    });
    const [seen] = fixture.upstream.seen(minted.mark);
    expect(seen?.body).toMatchObject({
      model: "plain",
      messages: [{ role: "user", content: `${minted.mark} "model":"x"` }],
    });
  });

  it("survives text of every script, split anywhere", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const content = `${minted.mark} żółć 漢字 🙂 \u0000 \u2028`;
    const response = await fixture.gateway.chat(minted, { body: { messages: [{ role: "user", content }] } });
    await response.text();
    expect(fixture.upstream.seen(minted.mark)[0]?.body["messages"]).toEqual([{ role: "user", content }]);
  });

  it("is read up to 16,384 levels deep, refused if not UTF-8, and harms no later request", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    for (const [levels, status] of [
      [16_383, 200],
      [200_000, 400],
    ] as const) {
      const deep = `{"model":"${minted.model.model_name}","x":${"[".repeat(levels)}${"]".repeat(levels)}}`;
      const answered = await post(minted, deep);
      await answered.text();
      expect({ levels, status: answered.status }).toEqual({ levels, status });
    }
    const cut = Buffer.concat([Buffer.from(`{"model":"${minted.model.model_name}","x":"`), Buffer.of(0xff, 0xfe)]);
    expect((await post(minted, new Uint8Array(cut))).status).toBe(400);
    expect((await fixture.gateway.chat(minted)).status).toBe(200);
  });

  it.each([
    ["empty objects", (model: string) => `{"model":"${model}","messages":[${"{},".repeat(2_000_000)}{}]}`],
    ["members", (model: string) => `{"model":"${model}"${',"a":1'.repeat(2_000_000)}}`],
    ["brackets", (model: string) => `{"model":"${model}","x":${"[".repeat(3_000_000)}${"]".repeat(3_000_000)}}`],
  ])("that would take many times its size in memory is refused like one that is too large: %s", async (_, body) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const response = await post(minted, body(minted.model.model_name));
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 413,
      body: { error: { code: "request_too_large" } },
    });
    expect((await fixture.gateway.chat(minted)).status).toBe(200);
  });

  it.each<[unknown, number]>([
    ["true", 400],
    [1, 400],
    [null, 200],
  ])("streams only when stream is true, and %j is answered with %i", async (stream, status) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const response = await fixture.gateway.chat(minted, { body: { stream } });
    expect({ status: response.status, type: response.headers.get("content-type") }).toEqual({
      status,
      type: "application/json",
    });
    await response.text();
    for (const { body } of fixture.upstream.seen(minted.mark)) expect(body).not.toHaveProperty("stream_options");
  });
});

describe("an unusual answer", () => {
  it("that is compressed without being asked for reaches the client readable, with its tokens", async () => {
    const answer = { id: "zipped", choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } };
    const url = await upstreamThat((_, response) =>
      response
        .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        .end(gzipSync(JSON.stringify(answer))),
    );
    const minted = await fixture.gateway.mint(url);
    const response = await fixture.gateway.chat(minted);
    expect(await response.json()).toEqual(answer);
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      total_tokens: 7,
    });
  });

  it.each([
    [204, 204],
    [304, 502],
    [418, 418],
    [507, 502],
  ])("of status %i without a body is %i", async (status, expected) => {
    const url = await upstreamThat((_, response) => response.writeHead(status).end());
    const minted = await fixture.gateway.mint(url);
    const response = await fixture.gateway.chat(minted);
    expect({ status: response.status, body: await response.text() }).toEqual({ status: expected, body: "" });
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      status_code: expected,
      upstream_status: status,
    });
  });

  it("with a body, of a status that has none, is released", async () => {
    const url = await upstreamThat((_, response) =>
      response.writeHead(205, { "content-type": "text/plain" }).end("body"),
    );
    const minted = await fixture.gateway.mint(url);
    for (let times = 0; times < 2; times += 1) {
      const response = await fixture.gateway.chat(minted);
      expect({ status: response.status, body: await response.text() }).toEqual({ status: 205, body: "" });
    }
  });

  it("brings no upstream headers or cookies to the client, and no credential to the upstream", async () => {
    let seen: IncomingMessage["headers"] = {};
    const url = await upstreamThat((request, response) => {
      seen = request.headers;
      response
        .writeHead(200, { "content-type": "application/json", "set-cookie": "a=b", "x-internal": "1", server: "u" })
        .end("{}");
    });
    const minted = await fixture.gateway.mint(url);
    const response = await fixture.gateway.chat(minted, {
      headers: { "x-api-key": minted.secret, "x-gateway-boons": "off", "x-custom": "kept", "x-request-id": "mine" },
    });
    await response.text();
    for (const name of ["set-cookie", "x-internal"]) expect(response.headers.has(name)).toBe(false);
    expect(response.headers.get("x-request-id")).not.toBe("mine");
    expect(seen["x-custom"]).toBe("kept");
    for (const name of ["authorization", "x-api-key", "x-gateway-boons", "x-real-ip"])
      expect(seen).not.toHaveProperty(name);
    expect(Object.keys(seen).filter((name) => /^(cf-|x-forwarded-)/.test(name))).toEqual([]);
    expect(JSON.stringify(seen)).not.toContain(minted.secret);
  });
});
