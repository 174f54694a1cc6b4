/**
 * The reference sidecar, and the gateway's client of it over HTTP, also against sidecars that answer nonsense.
 *
 * @module-tag check
 */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { probeCompressor } from "../../control/kernel/outbound/compressor-probe.ts";
import { CompressorHttp } from "../../edge/adapters/compressor-http.ts";
import { scoreSentences } from "./bm25.ts";
import { startCompressor } from "./server.ts";

const SENTENCES = [
  "The cache is kept for a minute.",
  "Birds sing in spring.",
  "A deleted key stops at once.",
  "It rains.",
];
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function sidecar(): Promise<string> {
  const { url, close } = await startCompressor({ host: "127.0.0.1", port: 0 });
  closing.push(close);
  return url;
}

/** A server that gives every request this answer; null: none, ever. */
async function serverOf(status: number, body: string | null): Promise<string> {
  const server = http.createServer((_, response) => {
    if (body !== null) response.writeHead(status, { location: "http://127.0.0.1/" }).end(body);
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function client(url: string | null, timeoutMs = 5000, clock = () => 0) {
  const reasons: unknown[] = [];
  const log = { event: (_name: string, { reason }: { readonly reason?: unknown }) => void reasons.push(reason) };
  return { reasons, compressor: new CompressorHttp({ url, timeoutMs, clock, fetch, log }) };
}

describe("the reference sidecar", () => {
  it("scores every sentence, the answer to the question best", async () => {
    const { compressor } = client(await sidecar());
    const scores = await compressor.score([SENTENCES, ["Keys."]], "When does a deleted key stop?");
    expect(scores?.map(({ length }) => length)).toEqual([4, 1]);
    expect(scores?.[0]?.indexOf(Math.max(...(scores[0] ?? [])))).toBe(2);
    expect(await compressor.score([], "")).toEqual([]);
  });

  it("is healthy for the gateway's probe", async () => {
    const url = await sidecar();
    expect(await probeCompressor(url, 800)).toMatchObject({
      reachable: true,
      model: "bm25-sentences",
      revision: "1",
      error: null,
    });
  });

  it.each(["", "[]", '{"segments":[{"sentences":[1]}],"query":""}', '{"segments":[]}'])(
    "refuses the body %j",
    async (body) => {
      expect((await fetch(`${await sidecar()}/score`, { method: "POST", body })).status).toBe(400);
    },
  );

  it("answers what it does not know with 404", async () => {
    expect((await fetch(`${await sidecar()}/score`)).status).toBe(404);
  });

  it("gives finite scores for texts without words and questions without a match", () => {
    for (const query of ["", "???", "\ud800", "absent"]) {
      const scores = scoreSentences([["", "...", "\udc00", "word"], []], query);
      expect(scores.flat().every((score) => Number.isFinite(score) && score >= 0)).toBe(true);
      expect(scores.map(({ length }) => length)).toEqual([4, 0]);
    }
  });
});

describe("the gateway's client", () => {
  const scores = (...values: string[]) => `{"results":[{"scores":[${values.join(",")}]}]}`;

  it.each([
    [500, "{}", "http 500"],
    [302, "", "http 302"],
    [200, "no JSON", "not json"],
    [200, "[]", "wrong number of results"],
    [200, '{"results":{"length":1}}', "wrong number of results"],
    [200, '{"results":[null]}', "wrong number of scores"],
    [200, scores("1"), "wrong number of scores"],
    [200, scores("1", "2", "3"), "wrong number of scores"],
    [200, scores("1", "1e400"), "a score is not a finite number"],
    [200, scores("1", "null"), "a score is not a finite number"],
    [200, scores("1", '"2"'), "a score is not a finite number"],
    [200, scores("1", `2${" ".repeat(100_000)}`), "the answer is too long"],
  ])("takes nothing from %i %j", async (status, body, reason) => {
    const url = await serverOf(status, body);
    const { compressor, reasons } = client(url);
    expect(await compressor.score([["One.", "Two."]], "q")).toBeNull();
    expect(reasons).toEqual([`${new URL(url).host}: ${reason}`]);
  });

  it("leaves a sidecar alone for ten seconds after three failures in a row", async () => {
    let nowMs = 0;
    const { compressor, reasons } = client(await serverOf(500, ""), 5000, () => nowMs);
    const score = async () => await compressor.score([["One."]], "q");
    for (let time = 1; time <= 5; time += 1) expect(await score()).toBeNull();
    expect(reasons).toHaveLength(3);
    nowMs = 10_000;
    await score();
    expect(reasons).toHaveLength(4);
  });

  it("takes scores of any size", async () => {
    const { compressor } = client(await serverOf(200, scores("-1e308", "1e308")));
    expect(await compressor.score([["One.", "Two."]], "q")).toEqual([[-1e308, 1e308]]);
  });

  it("tolerates a silent sidecar and one that is down, and calls no blocked address", async () => {
    const silentUrl = await serverOf(200, null);
    const silent = client(silentUrl, 20);
    expect(await silent.compressor.score([["One."]], "q")).toBeNull();
    expect(silent.reasons).toEqual([`${new URL(silentUrl).host}: The operation was aborted due to timeout`]);
    const blocked = client("http://169.254.169.254");
    expect(await blocked.compressor.score([["One."]], "q")).toBeNull();
    expect(blocked.reasons).toEqual(["169.254.169.254: address is not allowed"]);
    const away = client("http://127.0.0.1:1");
    expect(await away.compressor.score([["One."]], "q")).toBeNull();
    expect(away.reasons).toEqual(["127.0.0.1:1: bad port"]);
    expect({ withoutAddress: client(null).compressor.enabled, away: away.compressor.enabled }).toEqual({
      withoutAddress: false,
      away: true,
    });
  });
});
