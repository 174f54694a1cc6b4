/**
 * The control service and the data plane as processes of their own, over stores that both share.
 *
 * @module-tag long
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generate } from "selfsigned";
import { expect, it } from "vitest";
import { CONTROL_ARGS } from "../../infra/local/control.ts";
import { listen } from "../../infra/local/http/listen.ts";
import { startPlanes } from "../harness/planes.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";

const EDGE = join(import.meta.dirname, "../../infra/local/edge-main.ts");

/** An upstream over TLS, with a certificate that nobody trusts by default. */
async function startTlsUpstream(answer: object) {
  const made = await generate([{ name: "commonName", value: "localhost" }], {
    algorithm: "sha256",
    extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
  });
  const server = createServer({ key: made.private, cert: made.cert }, (request, response) => {
    request
      .resume()
      .once("end", () => response.setHeader("content-type", "application/json").end(JSON.stringify(answer)));
  });
  const listening = await listen(server as unknown as Server, "127.0.0.1", 0);
  return {
    certificate: made.cert,
    url: `https://localhost:${listening.port}/v1`,
    close: async () => await listening.close(),
  };
}

it("a data plane alone trusts the certificates that SSL_CERT_FILE names, and no others", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-edge-"));
  const [trusted, unknown] = [await startTlsUpstream({ object: "by TLS" }), await startTlsUpstream({})];
  const file = join(folder, "certificates.pem");
  writeFileSync(file, trusted.certificate);
  const planes = await startPlanes(
    {
      control: { command: process.execPath, args: CONTROL_ARGS },
      edge: { command: process.execPath, args: [EDGE] },
    },
    join(folder, "data"),
    { SSL_CERT_FILE: file },
  );
  try {
    const { gateway } = planes;
    const answer = await gateway.chat(await gateway.mint(trusted.url));
    expect({ status: answer.status, body: await answer.json() }).toEqual({ status: 200, body: { object: "by TLS" } });
    expect((await gateway.chat(await gateway.mint(unknown.url))).status).toBe(502);
  } finally {
    await planes.close();
    await Promise.all([trusted.close(), unknown.close()]);
    rmSync(folder, { recursive: true, force: true });
  }
});

it("a data plane alone serves what the control service knows, and ends in order", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-edge-"));
  const upstream = await startTestUpstream();
  const planes = await startPlanes(
    {
      control: { command: process.execPath, args: CONTROL_ARGS },
      edge: { command: process.execPath, args: [EDGE] },
    },
    folder,
  );
  try {
    const { gateway } = planes;
    const minted = await gateway.mint(upstream.url);
    const answer = await gateway.chat(minted);
    expect({ status: answer.status, body: await answer.json() }).toEqual({
      status: 200,
      body: expect.objectContaining({ object: "chat.completion" }),
    });
    const row = await gateway.row(minted.tenant.id, answer.headers.get("x-gateway-request-id"));
    expect(row).toMatchObject({ model: minted.model.model_name, status_code: 200 });
    await gateway.must("DELETE", `/keys/${minted.key.id}`);
    expect((await gateway.chat(minted)).status).toBe(401);
    expect(await planes.edge.end()).toBe(0);
    expect(planes.edge.lines.at(-1)).toContain("The data plane has stopped.");
    await expect(fetch(`${gateway.proxyUrl}/health`)).rejects.toThrow();
  } finally {
    await planes.close();
    await upstream.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
