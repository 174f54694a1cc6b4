/**
 * The response cache on every route (docs/rules/response-cache.md#what-is-stored): which answers are stored, and that
 * each comes back byte for byte.
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { speaking } from "../harness/speaking.ts";
import { mintAt, sha256, useRouteUpstream } from "../harness/upstream-routes.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();

const mint = async (path = ""): Promise<Minted> =>
  await mintAt(fixture.gateway, upstream, { cache_enabled: true, cost_per_image: 0.04, ...speaking(path) });

interface Seen {
  readonly cache: string | null;
  readonly type: string | null;
  readonly sha256: string;
  readonly requestId: string | null;
}

async function send(minted: Minted, path: string, init: RequestInit): Promise<Seen> {
  const response = await fetch(`${fixture.gateway.proxyUrl}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${minted.secret}`, ...(init.headers as Record<string, string> | undefined) },
  });
  expect(response.status).toBe(200);
  return {
    cache: response.headers.get("x-gateway-cache"),
    type: response.headers.get("content-type"),
    sha256: sha256(new Uint8Array(await response.arrayBuffer())),
    requestId: response.headers.get("x-gateway-request-id"),
  };
}

const json = (minted: Minted, body: object): RequestInit => ({
  method: "POST",
  body: JSON.stringify({ ...body, model: minted.model.model_name }),
  headers: { "content-type": "application/json" },
});

describe("an answer to JSON", () => {
  it.each<[string, object, number]>([
    ["/v1/completions", { prompt: "hi" }, 33],
    ["/v1/completions", { prompt: "hi", stream: true }, 33],
    ["/v1/responses", { input: "hi" }, 33],
    ["/v1/responses", { input: "hi", stream: true }, 33],
    ["/v1/messages", { messages: [{ role: "user", content: "hi" }], stream: true }, 33],
    ["/v1/embeddings", { input: "hi" }, 11],
    ["/v1/audio/speech", { input: "hello world" }, 2],
    ["/v1/images/generations", { prompt: "a cat", n: 2 }, 0],
    ["/v1/rerank", { query: "hi" }, 11],
  ])("of %s %j is replayed as it was, at no cost", async (path, body, tokens) => {
    const minted = await mint(path);
    const miss = await send(minted, path, json(minted, body));
    expect(miss.cache).toBe("miss");
    const hit = await waitFor(
      async () => await send(minted, path, json(minted, body)),
      (seen) => seen.cache === "hit",
    );
    expect({ type: hit.type, sha256: hit.sha256 }).toEqual({ type: miss.type, sha256: miss.sha256 });
    expect(await fixture.gateway.row(minted.tenant.id, hit.requestId)).toMatchObject({
      cache_status: "hit",
      admission: "fast",
      total_tokens: tokens,
      cost_usd: 0,
    });
    expect((await fixture.gateway.row(minted.tenant.id, miss.requestId)).total_tokens).toBe(tokens);
  });

  it("of one path is not an answer of another", async () => {
    const minted = await mint();
    const body = { input: "hi", prompt: "hi" };
    await send(minted, "/v1/completions", json(minted, body));
    await waitFor(
      async () => await send(minted, "/v1/completions", json(minted, body)),
      (seen) => seen.cache === "hit",
    );
    expect((await send(minted, "/v1/embeddings", json(minted, body))).cache).toBe("miss");
  });
});

describe("an answer is not looked up", () => {
  it("for a form, or a request with directives", async () => {
    const minted = await mint();
    const form = new FormData();
    form.set("model", minted.model.model_name);
    form.set("file", new File(["x"], "x.wav"));
    const directed = json(minted, { prompt: "hi" });
    for (let round = 0; round < 2; round += 1) {
      const seen = [
        await send(minted, "/v1/audio/transcriptions", { method: "POST", body: form }),
        await send(minted, "/v1/completions", {
          ...directed,
          headers: { "content-type": "application/json", "x-gateway-boons": "lossy" },
        }),
      ];
      expect(seen.map((entry) => entry.cache)).toEqual([null, null]);
      const rows = await Promise.all(
        seen.map(async (entry) => await fixture.gateway.row(minted.tenant.id, entry.requestId)),
      );
      expect(rows.map((row) => row.cache_status)).toEqual(["off", "off"]);
    }
    expect(upstream.seen(minted.mark)).toHaveLength(4);
  });
});
