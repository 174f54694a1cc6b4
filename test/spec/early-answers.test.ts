/**
 * An upstream that answers without waiting for the end of the upload: the client, which is still sending, gets the answer.
 *
 * @module-tag long
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { useGateway } from "../harness/fixture.ts";

const fixture = useGateway();
const ROUNDS = 3;

describe("an answer before the end of an upload", () => {
  it.each(["reads on", "reads no more"])("reaches the client when the upstream %s", async (how) => {
    const server = createServer((request, response) => {
      response.writeHead(401, { "content-type": "application/json" }).end('{"detail":"no"}');
      if (how === "reads no more") request.pause();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const minted = await fixture.gateway.mint(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
    for (let round = 0; round < ROUNDS; round += 1) {
      const body = new FormData();
      body.set("model", minted.model.model_name);
      body.set("file", new File([new Uint8Array(8_000_000)], "speech.wav"));
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
});
