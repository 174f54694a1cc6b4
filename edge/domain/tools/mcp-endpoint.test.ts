/** The address for messages of the older transport (docs/rules/mcp.md#older-transport). */
import { describe, expect, it } from "vitest";
import { gatewayEndpoint, isEndpoint } from "./mcp-endpoint.ts";

describe("an event", () => {
  it.each([
    ["event: endpoint\r\ndata: /m\r\n\r\n", true],
    ["data:/m\nevent:endpoint\n\n", true],
    ["event: message\rdata: /m\revent: endpoint\r\r", true],
    ["event: message\ndata: event: endpoint\n\n", false],
    ["event: endpoints\ndata: /m\n\n", false],
    ["data: endpoint\n\n", false],
    ["data: x\x85event: endpoint\x85data: /m\n\n", true],
    ["event: endpoint\u2028data: /m\n\n", true],
  ])("of %j names an address for messages: %j", (event, named) => {
    expect(isEndpoint(event)).toBe(named);
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
    ["http://h:1/sse?key=secret", "", "/m?KEY=secret&sessionId=1", "/mcp/s/m?sessionId=1"],
    ["http://h:1/sse?key=secret", "", "/m?a=1;key=secret&sessionId=1", "/mcp/s/m?a=1&sessionId=1"],
    ["http://h:1/old?key=secret", "", "/old?key=secret&sessionId=1", "/mcp/s?sessionId=1"],
    ["http://h:1/sse?key=secret", "", "/m?a=1&key=secret&Key&a=2&k-e-y=&a", "/mcp/s/m?a=1&a=2&a="],
    ["http://h:1/old", "", "/older?sessionId=1", null],
    ["http://h:1/sse", "", "http://h:1/m", "/mcp/s/m"],
    ["http://h:1/tools", "/sse", "/other/m", null],
    ["http://h:1/sse", "", "http://elsewhere/m", null],
    ["http://h:1/sse", "", "//elsewhere/m", null],
    ["http://h:1/sse", "", "http://[", null],
  ])("of %s%s and %s is %s", (upstreamUrl, rest, address, path) => {
    expect(at(upstreamUrl, address, rest)).toBe(path);
  });
});
