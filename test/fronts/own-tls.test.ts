/** `npm start` with a certificate: its own front speaks TLS (docs/tls-and-fronts.md#tls-by-the-gateway-itself). */
import { X509Certificate } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { type MadeCertificate, makeCertificate } from "../harness/certificates.ts";
import { makeTemplate } from "../harness/database-template.ts";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import { itServesTheDataPlane } from "./front-suite.ts";
import { ask, type FrontAddress, type HttpsRequest, send } from "./https-client.ts";

const HOST = "gateway.example.org";

const folder = mkdtempSync(join(tmpdir(), "gateway-tls-"));
const logged: string[] = [];
let stack: Stack;
let upstream: TestUpstream;
let gateway: Gateway;
let first: MadeCertificate;

/** A folder with a pair, to which the served names lead once it is the current one. */
function lay(name: string, { cert, key }: MadeCertificate): void {
  mkdirSync(join(folder, name));
  writeFileSync(join(folder, name, "tls.crt"), cert);
  writeFileSync(join(folder, name, "tls.key"), key, { mode: 0o600 });
  symlinkSync(name, join(folder, "next"));
  renameSync(join(folder, "next"), join(folder, "current"));
}

const front = (ca = first.cert): FrontAddress => {
  const port = Number(new URL(stack.proxyUrl).port);
  return { port, plainPort: port, ca };
};

beforeAll(async () => {
  await makeTemplate();
  first = await makeCertificate([HOST]);
  lay("first", first);
  const env = stackEnv(join(folder, "data"), {
    GATEWAY_TLS_CERT_FILE: join(folder, "current/tls.crt"),
    GATEWAY_TLS_KEY_FILE: join(folder, "current/tls.key"),
    GATEWAY_DASHBOARD: "1",
    GATEWAY_DASHBOARD_LISTEN: "127.0.0.1:0",
  });
  stack = await startStack({ env, log: (line) => void logged.push(line) });
  upstream = await startTestUpstream();
  gateway = new Gateway(stack);
});
afterAll(async () => {
  await upstream.close();
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("the gateway's own TLS", () => {
  itServesTheDataPlane({ front: () => front(), host: HOST, fixture: () => ({ gateway, upstream }) }, ["http/1.1"]);

  it("is what the addresses say, with the name of the certificate", () => {
    expect(stack.proxyUrl).toMatch(/^https:\/\/localhost:\d+$/);
  });

  it("is watched: the metrics have the end of the certificate that is shown", async () => {
    const text = await (await fetch(`${stack.metricsUrl}/metrics`)).text();
    const seconds = Number(/^gateway_tls_expires_at (\S+)$/m.exec(text)?.[1]);
    expect(seconds).toBe(new X509Certificate(first.cert).validToDate.getTime() / 1000);
  });

  it("does not stand between the console and the data plane", async () => {
    const minted = await gateway.mint(upstream.url);
    const { url = "", email, password } = stack.dashboard ?? {};
    const headers = { origin: url, "content-type": "application/json" };
    const body = JSON.stringify({ email, password });
    const signedIn = await fetch(`${url}/auth/local`, { method: "POST", headers, body });
    const cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const bearer = { cookie, authorization: `Bearer ${minted.secret}` };
    const models = await fetch(`${url}/api/relay/v1/models`, { headers: bearer });
    expect({ status: models.status, body: await models.text() }).toEqual({
      status: 200,
      body: expect.stringContaining(minted.model.model_name),
    });
  });

  it("serves a renewed certificate, and keeps streams that are open", async () => {
    const minted = await gateway.mint(upstream.url, "chunks=100000,pace=20");
    const chat: HttpsRequest = {
      host: HOST,
      path: "/v1/chat/completions",
      headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: minted.model.model_name,
        stream: true,
        messages: [{ role: "user", content: minted.mark }],
      }),
    };
    const open = send(front(), "http/1.1", chat);
    const stream = await open.answer;
    const second = await makeCertificate([HOST]);
    lay("second", second);
    await waitFor(
      () => logged.find((line) => line.includes("tls_reloaded")),
      (line) => line !== undefined,
    );
    expect((await ask(front(second.cert), "http/1.1", { host: HOST, method: "GET", path: "/health" })).status).toBe(
      200,
    );
    const before = stream.text().length;
    await waitFor(
      () => stream.text().length,
      (length) => length > before,
    );
    open.leave();
    expect(logged.join("\n")).not.toContain("PRIVATE KEY");
  });
});

it("does not start with files that cannot be served, and says why", async () => {
  const env = stackEnv(join(folder, "other"), {
    GATEWAY_TLS_CERT_FILE: join(folder, "current/tls.crt"),
    GATEWAY_TLS_KEY_FILE: join(folder, "current/tls.crt"),
  });
  await expect(startStack({ env })).rejects.toThrow(/^GATEWAY_TLS_KEY_FILE must contain a private key as PEM/);
});
