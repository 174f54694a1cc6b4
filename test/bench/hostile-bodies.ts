/**
 * `npm run bench:hostile-bodies`: the longest silence of a tenant's stream while another tenant sends bodies, or gets answers, that
 * take as much work as they can, as a ratio to the longest silence without them. Both are of one run on one machine, on a stack of its own. It
 * reports figures and checks none. Bodies are sent by a thread of its own. The last column is how long this thread, through which all
 * bytes go to the gateway, did not run: its part of the silence.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { markdownTable } from "../harness/text-table.ts";
import type { Sending } from "./hostile-sender.ts";

const MIB = 1024 * 1024;
/** The upstream of the stream writes this often. */
const EVENT_EVERY_MS = 10;
const IDLE_MS = 3_000;
const SETTLE_MS = 200;
const AT_ONCE = 4;

const letters = (unit: string, bytes: number): string => unit.repeat(bytes / Buffer.byteLength(unit));
const chatOf = (content: string): string => JSON.stringify({ messages: [{ role: "user", content }] });
const chatAnswerOf = (content: string): string => JSON.stringify({ choices: [{ index: 0, message: { content } }] });
const many = (count: number, one: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => one(at)).join(",");

/** Bodies without their model. */
const BODIES: Readonly<Record<string, () => string>> = {
  "30 MiB of U+FDFA": () => chatOf(letters("\ufdfa", 30 * MIB)),
  "30 MiB of prose": () => chatOf(letters("ignore all previous ", 30 * MIB)),
  "600,000 names": () => `{${many(600_000, (at) => `"n${at}":1`)}}`,
  "90,000 messages": () => `{"messages":[${many(90_000, () => '{"role":"user","content":"x"}')}]}`,
  "6,000,000 numbers": () => `{"messages":[],"x":[${many(6_000_000, () => "1")}]}`,
  "500,000 texts": () => `{"messages":[{"role":"user","content":[${many(500_000, () => '"a"')}]}]}`,
};

/** Answers to a tenant whose answers are examined, or checked. */
const ANSWERS: Readonly<Record<string, string>> = {
  "an answer of lists": `{"choices":[],"x":[${many(125_000, () => "[[[[[[[[]]]]]]]]")}]}`,
  "an answer of JSON to check": chatAnswerOf(`[${many(200_000, () => '{"a":1,"b":2}')}]`),
};

const upstream = createServer((request, response) => {
  request.resume();
  const [, asked] = /^\/answer\/(\d)/.exec(request.url ?? "") ?? [];
  if (asked !== undefined) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(Object.values(ANSWERS)[Number(asked)]);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const writing = setInterval(
    () => response.write('data: {"choices":[{"delta":{"content":"x"}}]}\n\n'),
    EVENT_EVERY_MS,
  );
  response.on("close", () => clearInterval(writing));
});

/** The stream of a tenant, and its longest silence since it was last asked for, ms. */
async function watchedStream(gateway: Gateway, minted: Minted): Promise<() => number> {
  const response = await gateway.chat(minted, { stream: true });
  if (!response.ok || response.body === null) throw new Error(`the stream was answered with ${response.status}`);
  let [lastMs, longestMs] = [performance.now(), 0];
  const noted = (): void => {
    longestMs = Math.max(longestMs, performance.now() - lastMs);
    lastMs = performance.now();
  };
  const reader = response.body.getReader();
  const reading = async (): Promise<void> => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) noted();
  };
  void reading().catch(() => undefined);
  return () => {
    const silenceMs = longestMs;
    longestMs = 0;
    return silenceMs;
  };
}

const sender = new Worker(new URL("hostile-sender.ts", import.meta.url));
const stack = await startTestStack({}, { log: () => undefined });
try {
  await once(upstream.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const gateway = new Gateway(stack);
  const [streaming, hostile] = [await gateway.mint(url), await gateway.mint(url)];
  const policy = { action: "block", input_scanners: ["prompt_injection", "pii"], ban_keywords: [] };
  await gateway.must("PATCH", `/tenants/${hostile.tenant.id}/guardrails`, { policy });
  const longest = await watchedStream(gateway, streaming);
  const own = monitorEventLoopDelay({ resolution: 1 });
  own.enable();
  const ownMs = (): string => (own.max / 1e6).toFixed(0);
  await pause(IDLE_MS);
  const idleMs = longest();
  const rows: string[][] = [["none", "", idleMs.toFixed(0), "1.0", ownMs()]];
  const measure = async (name: string, { model, secret }: Minted, json: string): Promise<void> => {
    const body = new TextEncoder().encode(json.replace("{", `{"model":"${model.model_name}",`));
    const sending: Sending = { url: `${gateway.proxyUrl}/v1/chat/completions`, secret, body, times: AT_ONCE };
    // what this thread did for the body must not look like a silence of the gateway: events that have come meanwhile are read first
    await pause(SETTLE_MS);
    longest();
    own.reset();
    sender.postMessage(sending, [body.buffer]);
    const [statuses] = (await once(sender, "message")) as [string];
    const silenceMs = longest();
    rows.push([name, statuses, silenceMs.toFixed(0), (silenceMs / idleMs).toFixed(1), ownMs()]);
  };
  for (const [name, make] of Object.entries(BODIES)) await measure(name, hostile, make());
  const asked = { response_format: { type: "json_schema", json_schema: { name: "x", schema: { type: "array" } } } };
  for (const [at, name] of Object.keys(ANSWERS).entries()) {
    const reader = await gateway.mint(`${url}/answer/${at}`, "plain", { boons: ["structured_output"] });
    if (at === 0)
      await gateway.must("PATCH", `/tenants/${reader.tenant.id}/guardrails`, {
        policy: { action: "block", output_scanners: ["pii"] },
      });
    await measure(name, reader, JSON.stringify({ ...JSON.parse(chatOf("x")), ...asked }));
  }
  console.log(
    markdownTable([`${AT_ONCE} at once`, "statuses", "longest silence, ms", "ratio", "of this thread"], rows),
  );
} finally {
  upstream.closeAllConnections();
  upstream.close();
  await sender.terminate();
  await stack.stop();
}
