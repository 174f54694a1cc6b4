/**
 * A gateway whose sockets a service manager keeps open: over a restart connections wait, and none is refused (docs/run.md#restart).
 *
 * @module-tag long
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { makeCertificate } from "../harness/certificates.ts";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { pidsBelow } from "../harness/launched.ts";
import { startProgram } from "../harness/program-process.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const HOLDER = join(import.meta.dirname, "../harness/socket-holder.mjs");
const EVERY_MS = 50;
const ADMIN_TOKEN = "an-admin-token-of-the-held-sockets";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gateway-handed-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

/** Runs the command of the unit twice, one run after another. */
function held(names: string, more: Readonly<Record<string, string>>) {
  const program = startProgram(
    {
      command: process.execPath,
      args: [HOLDER, "2", names, process.execPath, "infra/launch.mjs", "infra/local/main.ts"],
    },
    { ...stackEnv(join(folder, "stack"), { GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN, ...more }) },
    "held",
  );
  onTestFinished(async () => {
    const left = await pidsBelow(program.pid, "launch.mjs");
    const ended = program.end("SIGKILL");
    // they hold its output
    for (const pid of left) process.kill(pid, "SIGTERM");
    await ended;
  });
  const said = (event: string) => program.log().filter((line) => line["event"] === event);
  return {
    program,
    /** The pid of a run and what it says of itself once it is ready. */
    ready: async (run: number) => {
      const lines = await waitFor(
        () => said("ready"),
        (all) => all.length > run || program.lines.some((line) => line.startsWith("gateway: ")),
      );
      return { pid: Number(said("run")[run]?.["pid"]), ...lines[run] } as Readonly<Record<string, unknown>>;
    },
  };
}

/** What a new connection is answered: the status, or the error of the system. */
async function answerOf(url: URL, options: https.RequestOptions, body?: string): Promise<number | string> {
  const { promise, resolve } = Promise.withResolvers<number | string>();
  const { request } = url.protocol === "https:" ? https : http;
  const sent = request(url, { agent: false, rejectUnauthorized: false, ...options }, (response) => {
    response.resume().once("close", () => resolve(response.statusCode ?? 0));
  });
  sent.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  sent.end(body);
  return await promise;
}

/** Asks on a new connection every 50 ms until it is stopped; then resolves with how many got which answer. */
function poller(ask: () => Promise<number | string>) {
  const stopped = new AbortController();
  const polled = (async () => {
    const answers: Promise<number | string>[] = [];
    while (!stopped.signal.aborted) {
      answers.push(ask());
      await pause(EVERY_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
    const all = Map.groupBy(await Promise.all(answers), (answer) => answer);
    return Object.fromEntries([...all].map(([answer, same]) => [answer, same.length]));
  })();
  return async () => {
    stopped.abort();
    return await polled;
  };
}

it.each([["http"], ["https"]])("answers every new %s connection of a restart, and refuses none", async (scheme) => {
  const upstream = await startTestUpstream();
  onTestFinished(async () => await upstream.close());
  const tls: Record<string, string> = {};
  if (scheme === "https") {
    const { cert, key } = await makeCertificate();
    for (const [name, text] of Object.entries({ CERT: cert, KEY: key })) {
      tls[`GATEWAY_TLS_${name}_FILE`] = join(folder, name);
      writeFileSync(join(folder, name), text);
    }
  }
  const { program, ready } = held("proxy:admin:metrics", tls);
  const { ports } = (await program.ready) as { readonly ports: readonly number[] };
  const urlOf = (at: number, withScheme = "http"): URL => new URL(`${withScheme}://127.0.0.1:${ports[at]}`);
  const [proxyUrl, adminUrl, metricsUrl] = [urlOf(0, scheme), urlOf(1), urlOf(2)];
  const first = await ready(0);
  const portOf = (field: string): number => Number(new URL(String(first[field])).port);
  expect([portOf("data_plane"), portOf("management_api"), portOf("metrics")]).toEqual(ports);

  const addresses = { proxyUrl: proxyUrl.origin, adminUrl: adminUrl.origin, metricsUrl: metricsUrl.origin };
  const minted = await new Gateway({ ...addresses, adminToken: ADMIN_TOKEN }).mint(upstream.url);
  const body = JSON.stringify({
    model: minted.model.model_name,
    messages: [{ role: "user", content: minted.mark }],
  });
  const headers = { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" };
  const chats = poller(
    async () => await answerOf(new URL("/v1/chat/completions", proxyUrl), { method: "POST", headers }, body),
  );
  const reads = poller(async () => await answerOf(new URL("/api/v1/version", adminUrl), {}));
  const scrapes = poller(async () => await answerOf(new URL("/livez", metricsUrl), {}));
  process.kill(Number(first["pid"]), "SIGTERM");
  const second = await ready(1);
  const answers = { chats: await chats(), reads: await reads(), scrapes: await scrapes() };
  expect(answers).toEqual({
    chats: { 200: expect.any(Number) },
    reads: { 200: expect.any(Number) },
    scrapes: { 200: expect.any(Number) },
  });
  process.kill(Number(second["pid"]), "SIGTERM");
  expect(await program.exited).toBe(0);
});
