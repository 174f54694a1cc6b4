/**
 * Bodies that stream: what one side writes reaches the other side before the rest is sent
 * (docs/rules/request-bodies.md#what-goes-upstream).
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

async function upstreamThat(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

describe("audio that is spoken", () => {
  it("reaches the client while it is still being made", async () => {
    const making = Promise.withResolvers<ServerResponse>();
    const url = await upstreamThat((incoming, response) => {
      incoming.resume().on("end", () => {
        response.writeHead(200, { "content-type": "audio/mpeg" }).write("first");
        making.resolve(response);
      });
    });
    const minted = await fixture.gateway.mint(url);
    const response = await fetch(`${fixture.gateway.proxyUrl}/v1/audio/speech`, {
      method: "POST",
      headers: { authorization: `Bearer ${minted.secret}` },
      body: JSON.stringify({ model: minted.model.model_name, input: "hello" }),
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const heard = async (): Promise<string> => new TextDecoder().decode((await reader.read()).value);
    expect(await heard()).toBe("first");
    const rest = await making.promise;
    rest.write("second");
    expect(await heard()).toBe("second");
    rest.end();
    expect((await reader.read()).done).toBe(true);
  });
});

describe("a file that is uploaded", () => {
  it("reaches the upstream while the client is still sending it", async () => {
    let arrived = 0;
    const url = await upstreamThat((incoming, response) => {
      incoming.on("data", (chunk: Buffer) => {
        arrived += chunk.byteLength;
      });
      incoming.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
    });
    const minted = await fixture.gateway.mint(url);
    const half = "x".repeat(1_000_000);
    const start = `--b\r\nContent-Disposition: form-data; name="model"\r\n\r\n${minted.model.model_name}\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n`;
    const end = "\r\n--b--\r\n";
    const outgoing = request(`${fixture.gateway.proxyUrl}/v1/audio/transcriptions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${minted.secret}`,
        "content-type": "multipart/form-data; boundary=b",
        "content-length": start.length + 2 * half.length + end.length,
      },
    });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      outgoing.on("response", (response) => resolve(response.resume().statusCode)).on("error", reject);
    });
    outgoing.write(start + half);
    await waitFor(
      () => arrived,
      (bytes) => bytes > 500_000,
    );
    outgoing.end(half + end);
    expect(await answered).toBe(200);
    expect(arrived).toBeGreaterThan(2 * half.length);
  });
});
