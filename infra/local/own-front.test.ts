import http from "node:http";
import type { Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { ownPort } from "../../test/harness/own-port.ts";
import { startFrontProxy } from "./front.ts";
import { listen } from "./http/listen.ts";
import { ownFront, untilReady } from "./own-front.ts";

/** A process that answers /ready with its missing part, while it has one. */
async function processLacking(lacks: () => string | null): Promise<number> {
  const server = http.createServer((_, answer) => {
    const missing = lacks();
    answer.writeHead(missing === null ? 200 : 503).end(missing ?? "ready");
  });
  const listening = await listen(server, "127.0.0.1", 0);
  onTestFinished(async () => await listening.close());
  return listening.port;
}

it("waits until every process would serve, and says what is missing", async () => {
  let missing: string | null = "the Cell does not answer";
  const ports = [await processLacking(() => null), await processLacking(() => missing)];
  const heard: string[] = [];
  const { signal } = new AbortController();
  const options = { ports: () => ports, abandoned: signal, heard: (what: string) => void heard.push(what) };
  await expect(untilReady({ ...options, withinMs: 10 })).rejects.toThrow(
    "the data plane was not ready after 0.01 s (GATEWAY_START_TIMEOUT_SECS): the Cell does not answer",
  );
  const ready = untilReady({ ...options, withinMs: 60_000 });
  missing = null;
  await ready;
  expect(new Set(heard)).toEqual(new Set(["the Cell does not answer"]));
});

it("ends waiting when the start is given up", async () => {
  const port = await processLacking(() => "the key-value store is not filled yet");
  const given = new AbortController();
  const waiting = untilReady({
    ports: () => [port],
    abandoned: given.signal,
    withinMs: 60_000,
    heard: () => given.abort(),
  });
  await expect(waiting).rejects.toThrow(/abort/i);
});

it("refuses connections until it is opened, and names the variable of a taken port", async () => {
  const [inner, port] = [await processLacking(() => null), await ownPort()];
  const address = { host: "127.0.0.1", port };
  const start = (at: number | Socket) => startFrontProxy(address.host, at, () => [{ host: "127.0.0.1", port: inner }]);
  const front = await ownFront({ proxy: address, handed: new Map() }, start);
  onTestFinished(async () => await front.close());
  expect(front.url).toBe(`http://127.0.0.1:${port}`);
  await expect(fetch(front.url)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  await front.open();
  expect((await fetch(front.url)).status).toBe(200);
  await expect(ownFront({ proxy: address, handed: new Map() }, start)).rejects.toThrow("GATEWAY_PROXY_LISTEN");
});
