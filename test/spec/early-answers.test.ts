/**
 * An upstream that answers without waiting for the end of the upload: the client, which is still sending, gets the answer.
 *
 * @module-tag check
 */
import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";

const fixture = useGateway();
const ROUNDS = 3;
const UPLOAD_BYTES = 8_000_000;
/** More than the gateway reads of a form before it calls the upstream: then it waits for the client, with a read under way. */
const FIRST_BYTES = 400_000;

/** A key for a model whose upstream refuses every upload after so many bytes of it, and then reads on or not. */
async function mintRefused(afterBytes: number, how: string): Promise<Minted> {
  const server = createServer((incoming, response) => {
    let bytes = 0;
    const count = (chunk: Buffer): void => {
      bytes += chunk.byteLength;
      if (bytes < afterBytes || response.headersSent) return;
      response.writeHead(401, { "content-type": "application/json" }).end('{"detail":"no"}');
      if (how === "reads no more") incoming.pause();
    };
    incoming.on("data", count);
    count(Buffer.alloc(0));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return await fixture.gateway.mint(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
}

describe("an answer before the end of an upload", () => {
  it.each(["reads on", "reads no more"])("reaches the client when the upstream %s", async (how) => {
    const minted = await mintRefused(0, how);
    for (let round = 0; round < ROUNDS; round += 1) {
      const body = new FormData();
      body.set("model", minted.model.model_name);
      body.set("file", new File([new Uint8Array(UPLOAD_BYTES)], "speech.wav"));
      const response = await fetch(`${fixture.gateway.proxyUrl}/v1/audio/transcriptions`, {
        method: "POST",
        headers: { authorization: `Bearer ${minted.secret}` },
        body,
      });
      expect({ status: response.status, body: await response.json() }).toEqual({ status: 401, body: { detail: "no" } });
      const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
      expect(row).toMatchObject({ status_code: 401, upstream_status: 401, cost_usd: 0 });
    }
  });

  it("leaves the connection to a client that sends the rest after it", async () => {
    const minted = await mintRefused(FIRST_BYTES - 1_000, "reads on");
    const form = new FormData();
    form.set("model", minted.model.model_name);
    form.set("file", new File([new Uint8Array(UPLOAD_BYTES)], "speech.wav"));
    const encoded = new Response(form);
    const type = String(encoded.headers.get("content-type"));
    const body = Buffer.from(await encoded.arrayBuffer());
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const upload = request(`${fixture.gateway.proxyUrl}/v1/audio/transcriptions`, {
      agent,
      method: "POST",
      headers: {
        authorization: `Bearer ${minted.secret}`,
        "content-type": type,
        "content-length": body.byteLength,
      },
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      upload.once("response", resolve).once("error", reject);
    });
    upload.write(body.subarray(0, FIRST_BYTES));
    const answer = await answered;
    const begun = once(answer, "data");
    const answerText = text(answer);
    await begun;
    upload.end(body.subarray(FIRST_BYTES));
    expect({ status: answer.statusCode, body: await answerText }).toEqual({ status: 401, body: '{"detail":"no"}' });
    const next = request(`${fixture.gateway.proxyUrl}/health`, { agent });
    const healthy = new Promise<IncomingMessage>((resolve, reject) => {
      next.once("response", resolve).once("error", reject);
    });
    next.end();
    expect({ status: (await healthy).statusCode, isSameConnection: next.reusedSocket }).toEqual({
      status: 200,
      isSameConnection: true,
    });
  });
});
