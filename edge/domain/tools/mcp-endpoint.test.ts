/** The address for messages of the older transport (docs/rules/mcp.md#older-transport). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { endpointOf, firstEvent, gatewayEndpoint, withEndpoint } from "./mcp-endpoint.ts";

const EVENT = "event: endpoint\r\ndata: /messages/?session_id=1\r\n\r\n";

describe("the first event of a stream", () => {
  it.each([
    [EVENT, { at: 0, event: EVENT }],
    ["event: endpoint\ndata: /m\n\nmore", { at: 0, event: "event: endpoint\ndata: /m\n\n" }],
    [": ping\n\nretry: 3\r\r data: no\n\ndata: 1\n\n", { at: 29, event: "data: 1\n\n" }],
    [": ping\n\nevent: endpoint\n", null],
    ["event: endpoint\ndata: /m\n", null],
    ["", null],
  ])("with data in %j is %j", (text, event) => {
    expect(firstEvent(text)).toEqual(event);
  });

  it.each([
    [EVENT, "/messages/?session_id=1"],
    ["data:/m\nevent:endpoint\n\n", "/m"],
    ["event: message\ndata: /m\n\n", null],
    ["event: endpoint\n\n", null],
  ])("in %j the address is %j", (event, address) => {
    expect(endpointOf(event)).toBe(address);
  });

  it("gets another address, whatever it is", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[!-~]{1,40}$/), (address) => {
        const event = withEndpoint(EVENT, address);
        expect({ address: endpointOf(event), lines: event.split("\r\n").length }).toEqual({ address, lines: 4 });
      }),
    );
  });
});

describe("the gateway's address for messages", () => {
  const at = (upstreamUrl: string, address: string, rest = "") => {
    const called = new URL(upstreamUrl);
    called.pathname = called.pathname.replace(/\/+$/, "") + rest;
    return gatewayEndpoint({ server: "s", upstreamUrl, called: called.href }, address)?.path ?? null;
  };

  it.each([
    ["http://h:1", "/sse", "/messages/?session_id=1", "/mcp/s/messages/?session_id=1"],
    ["http://h:1/sse", "", "/messages/?session_id=1", "/mcp/s/messages/?session_id=1"],
    ["http://h:1/tools/sse", "", "messages?sessionId=a%20b", "/mcp/s/messages?sessionId=a%20b"],
    ["http://h:1/sse?key=secret", "", "/m?key=secret&sessionId=1", "/mcp/s/m?sessionId=1"],
    ["http://h:1/sse", "", "http://h:1/m", "/mcp/s/m"],
    ["http://h:1/tools", "/sse", "/other/m", null],
    ["http://h:1/sse", "", "http://elsewhere/m", null],
    ["http://h:1/sse", "", "//elsewhere/m", null],
    ["http://h:1/sse", "", "http://[", null],
  ])("of %s%s and %s is %s", (upstreamUrl, rest, address, path) => {
    expect(at(upstreamUrl, address, rest)).toBe(path);
  });
});
