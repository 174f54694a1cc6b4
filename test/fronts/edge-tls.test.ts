/** `npm run edge` with a certificate: the front of a data plane alone speaks TLS (docs/tls-and-fronts.md#tls-by-the-gateway-itself). */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startEdge } from "../../infra/local/edge.ts";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { type MadeCertificate, makeCertificate } from "../harness/certificates.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { type SharedStores, startSharedStores } from "../harness/shared-stores.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import { ask, type HttpsRequest } from "./https-client.ts";

const HOST = "gateway.example.org";
const HEALTH = join(import.meta.dirname, "../../infra/containers/health.ts");

const folder = mkdtempSync(join(tmpdir(), "gateway-edge-tls-"));
const logged: string[] = [];
let stores: SharedStores;
let stack: Stack;
let upstream: TestUpstream;
let edge: Awaited<ReturnType<typeof startEdge>>;
let first: MadeCertificate;

/** A folder with a pair, to which the served names lead once it is the current one. */
function lay(name: string, { cert, key }: MadeCertificate): void {
  mkdirSync(join(folder, name));
  writeFileSync(join(folder, name, "tls.crt"), cert);
  writeFileSync(join(folder, name, "tls.key"), key, { mode: 0o600 });
  symlinkSync(name, join(folder, "next"));
  renameSync(join(folder, "next"), join(folder, "current"));
}

const edgeEnv = (more: Readonly<Record<string, string>> = {}): Record<string, string> => {
  const { GATEWAY_DATABASE_URL: _, ...rest } = stores.env;
  return {
    GATEWAY_DATA_DIR: join(folder, "edge"),
    GATEWAY_PROXY_LISTEN: "127.0.0.1:0",
    GATEWAY_INTERNAL_BASE_URL: stack.adminUrl,
    GATEWAY_INTERNAL_TOKEN: stack.internalToken,
    GATEWAY_TLS_CERT_FILE: join(folder, "current/tls.crt"),
    GATEWAY_TLS_KEY_FILE: join(folder, "current/tls.key"),
    ...rest,
    ...more,
  };
};

beforeAll(async () => {
  stores = await startSharedStores();
  upstream = await startTestUpstream();
  stack = await startStack({ env: stackEnv(join(folder, "control"), stores.env) });
  first = await makeCertificate([HOST]);
  lay("first", first);
  edge = await startEdge({ env: edgeEnv(), log: (_, line) => void logged.push(line) });
});
afterAll(async () => {
  await edge.stop();
  await stack.stop();
  await upstream.close();
  await stores.close();
  rmSync(folder, { recursive: true, force: true });
});

const at = (ca: string) => {
  const port = Number(new URL(edge.proxyUrl).port);
  return { port, plainPort: port, ca };
};

const chat = (minted: Minted): HttpsRequest => ({
  host: HOST,
  path: "/v1/chat/completions",
  headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
  body: JSON.stringify({
    model: minted.model.model_name,
    stream: true,
    messages: [{ role: "user", content: minted.mark }],
  }),
});

it("serves a stream under the name of its certificate, and says in plain HTTP what it speaks", async () => {
  expect(edge.proxyUrl).toMatch(/^https:\/\/localhost:\d+$/);
  const minted = await new Gateway(stack).mint(upstream.url);
  const answer = await ask(at(first.cert), "http/1.1", chat(minted));
  expect({ status: answer.status, text: answer.text }).toEqual({
    status: 200,
    text: expect.stringContaining("[DONE]"),
  });
  const plain = await fetch(`http://127.0.0.1:${new URL(edge.proxyUrl).port}/health`);
  expect({ status: plain.status, body: await plain.json() }).toMatchObject({
    status: 400,
    body: { error: { code: "https_required" } },
  });
});

it("is healthy by the check of its image", async () => {
  const checked = (url: string): Promise<number> =>
    new Promise((resolve) => execFile(process.execPath, [HEALTH, url], (error) => resolve(Number(error?.code ?? 0))));
  const { port } = new URL(edge.proxyUrl);
  expect(await checked(`http://127.0.0.1:${port}/health`)).toBe(0);
  expect(await checked(`http://127.0.0.1:${port}/no-such-path`)).toBe(1);
});

it("serves a renewed certificate without a restart", async () => {
  const second = await makeCertificate([HOST]);
  lay("second", second);
  await waitFor(
    () => logged.find((line) => line.includes("tls_reloaded")),
    (line) => line !== undefined,
  );
  const health: HttpsRequest = { host: HOST, method: "GET", path: "/health" };
  expect((await ask(at(second.cert), "http/1.1", health)).status).toBe(200);
  expect(logged.join("\n")).not.toContain("PRIVATE KEY");
});

it("does not start with files that cannot be served, and says why", async () => {
  const env = edgeEnv({
    GATEWAY_DATA_DIR: join(folder, "other"),
    GATEWAY_TLS_KEY_FILE: join(folder, "current/tls.crt"),
  });
  await expect(startEdge({ env, log: () => undefined })).rejects.toThrow(
    /^GATEWAY_TLS_KEY_FILE must contain a private key as PEM/,
  );
});
