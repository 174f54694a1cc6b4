/**
 * A stream that breaks inside an event: the client still finds the in-band error
 * (docs/rules/streams.md#broken-streams).
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, onTestFinished } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { mainRows } from "../harness/main-rows.ts";

const fixture = useGateway();

const EVENTS = ["one", "two", "three"].map(
  (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`,
);
const [ONE, TWO, THREE] = EVENTS as [string, string, string];
const ERROR = {
  error: {
    message: "upstream stream interrupted",
    type: "upstream_error",
    code: "upstream_stream_error",
    param: null,
  },
};

/** So many events in a row, each written alone, are joined by the relay. */
const MANY = 300;

async function answer(response: ServerResponse, events: number, partBytes: number): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (let at = 0; at < events; at += 1) {
    response.write(ONE);
    await turn();
  }
  response.write(ONE + TWO + THREE.slice(0, partBytes));
}

/**
 * An upstream that sends events, two more and a part of the third, and resets the connection when the test calls the
 * returned function.
 */
async function cutting(events: number, partBytes: number): Promise<{ readonly url: string; cut(): void }> {
  const open: ServerResponse[] = [];
  const server = createServer((request, response) => {
    open.push(response);
    request.resume().on("end", () => void answer(response, events, partBytes));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    cut: () => {
      for (const response of open) response.socket?.resetAndDestroy();
    },
  };
}

describe.each([
  ["through JavaScript", 0, {}],
  ["gathered through JavaScript", MANY, {}],
  ["as it comes", 0, { stream_options: { include_usage: true } }],
  ["as it comes, gathered", MANY, { stream_options: { include_usage: true } }],
])("a stream relayed %s", (_relayed, many, body) => {
  mainRows(1)([
    ["in the middle of its data", 25],
    ["in the name of its field", 3],
    ["before the end of its line", THREE.length - 2],
    ["before the blank line", THREE.length - 1],
  ])("and cut %s ends with the in-band error as an event of its own", async (_, partBytes) => {
    const upstream = await cutting(many, partBytes);
    const minted = await fixture.gateway.mint(upstream.url);
    const response = await fixture.gateway.chat(minted, { stream: true, body });
    const sent = ONE.repeat(many) + ONE + TWO;
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (text.startsWith(sent)) upstream.cut();
    }
    expect(text.startsWith(sent)).toBe(true);
    const parts = text.split(/\n\n+/).map((part) => part.replace(/(^|\n): cut off$/, ""));
    const events = parts.filter((event) => event !== "");
    const last = events.pop() ?? "";
    expect({ prefix: last.slice(0, 6), event: JSON.parse(last.slice(6)) }).toEqual({
      prefix: "data: ",
      event: ERROR,
    });
    // Bytes that are sent cannot be taken back, but they never become a part of another event.
    const between = events.slice(many + 2);
    expect(between.length).toBeLessThanOrEqual("stream_options" in body ? 1 : 0);
    for (const part of between) expect(THREE.startsWith(part)).toBe(true);
    const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
    expect(row.status_code).toBe(200);
    expect(row.output_tokens).toBeLessThanOrEqual(many + 3);
  });
});
