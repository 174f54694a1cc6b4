import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventIdScan, mcpRequestHeaders, mcpResponseHeaders, mcpTarget, mcpUrl, parametersOfServer } from "./mcp.ts";

describe("the target of a call", () => {
  it.each([
    ["/mcp/tools", { server: "tools", rest: "" }],
    ["/mcp/tools/", { server: "tools", rest: "/" }],
    ["/mcp/a.b_c-1/x//y/", { server: "a.b_c-1", rest: "/x//y/" }],
    ["/mcp", null],
    ["/mcp/", null],
    ["/mcp//x", null],
    ["/v1/mcp/tools", null],
  ])("of %s is %j", (path, target) => {
    expect(mcpTarget(path)).toEqual(target);
  });

  it.each([
    ["http://h:1/mcp", "", "", "http://h:1/mcp"],
    ["http://h/mcp/", "", "", "http://h/mcp/"],
    ["http://h/mcp", "/", "", "http://h/mcp/"],
    ["http://h/mcp/", "/x/y/", "?a=1&b", "http://h/mcp/x/y/?a=1&b"],
    ["http://h", "/x", "?a=%20", "http://h/x?a=%20"],
    ["https://h/mcp?key=v#part", "/x", "?a=1", "https://h/mcp/x?key=v&a=1"],
    ["https://h/mcp?key=v", "", "", "https://h/mcp?key=v"],
    ["http://h/sse", "/m", "", "http://h/sse/m"],
  ])("%s with %j and %j is %s", (base, rest, search, url) => {
    expect(mcpUrl(base, rest, search)).toBe(url);
  });
});

it.each([
  ["http://h/sse", "/messages/", "?session_id=1", "http://h/messages/?session_id=1"],
  ["http://h/a/sse/", "/m", "", "http://h/a/m"],
  ["http://h/a", "/m", "", "http://h/a/m"],
])("the page beside %s that %j and %j name is %s", (base, rest, search, url) => {
  expect(mcpUrl(base, rest, search, true)).toBe(url);
});

describe("the query of a call", () => {
  it.each([
    ["https://h/mcp?readonly=true", "?readonly=false", ["readonly"]],
    ["https://h/mcp?read_only=true", "?Read-Only=&x=1", ["Read-Only"]],
    ["https://h/mcp?readonly=true", "?%72eadonly=false&readonly=1", ["readonly", "readonly"]],
    [
      "https://h/mcp?readonly=true",
      "?x=1;readonly=false&%20readonly=&readonly%00x=",
      ["readonly", " readonly", "readonly\0x"],
    ],
    ["https://h/mcp?readonly=true", "?readonly[]=&readonly[0]=&readonly.=", ["readonly[]", "readonly[0]", "readonly."]],
    [
      "https://h/mcp?readonly=true",
      "?read_only=&%EF%BB%BFreadonly=&[readonly]=",
      ["read_only", "\ufeffreadonly", "[readonly]"],
    ],
    ["https://h/mcp?a=1;read.only=true&0=x", "?read=1&0=y", ["read", "0"]],
    ["https://h/mcp?readonly=true", "?write=1;readonlys=1&x.readonly=", []],
    ["https://h/mcp", "?readonly=false", []],
  ])("of %s and %s has %j of the operator", (url, search, names) => {
    expect(parametersOfServer(url, search)).toEqual(names);
  });
});

describe("the headers of a call", () => {
  it("lose the client's credentials and gain the server's", () => {
    const client = new Headers({
      authorization: "Bearer sk_x",
      "x-api-key": "sk_x",
      mcp_session_id: "other",
      x_forwarded_for: "10.0.0.1",
      connection: "keep-alive",
      "mcp-session-id": "s",
      "last-event-id": "7",
      accept: "text/event-stream",
    });
    const kept = { "mcp-session-id": "s", "last-event-id": "7", accept: "text/event-stream" };
    expect(mcpRequestHeaders(client, null)).toEqual(kept);
    expect(mcpRequestHeaders(client, "Basic q")).toEqual({ ...kept, authorization: "Basic q" });
  });

  it("are those of HTTP and the protocol, never one that only its server knows", () => {
    const sent = [
      "accept",
      "accept-language",
      "baggage",
      "content-encoding",
      "content-type",
      "last-event-id",
      "mcp-method",
      "mcp-name",
      "mcp-param-region",
      "mcp-protocol-version",
      "mcp-session-id",
      "origin",
      "traceparent",
      "tracestate",
      "user-agent",
    ];
    const left =
      "x-grafana-url x-grafana-org-id x-atlassian-cloud-id x-mcp-readonly x-session-id x-custom host content-length cookie x-request-id idempotency-key mcp-upstream x-mcp-session-id".split(
        " ",
      );
    const client = new Headers([...sent, ...left].map((name) => [name, "v"]));
    expect(Object.keys(mcpRequestHeaders(client, null)).toSorted()).toEqual(sent);
  });

  it("of an answer are those of the protocol and no others", () => {
    const server = new Headers({
      "content-type": "text/event-stream",
      "mcp-session-id": "s",
      "mcp-protocol-version": "2025-06-18",
      "set-cookie": "a=b",
      location: "http://elsewhere/",
      "www-authenticate": "Bearer",
    });
    expect(mcpResponseHeaders(server)).toEqual({
      "content-type": "text/event-stream",
      "mcp-session-id": "s",
      "mcp-protocol-version": "2025-06-18",
    });
    expect(mcpResponseHeaders(new Headers())).toEqual({});
  });
});

describe("event ids", () => {
  const found = (chunks: readonly Uint8Array[]): boolean => {
    const scan = new EventIdScan();
    for (const chunk of chunks) scan.push(chunk);
    return scan.found;
  };
  const cases: readonly (readonly [string, boolean])[] = [
    ["id: 1\ndata: x\n\n", true],
    ["event: m\r\nid:1\r\n\r\n", true],
    ["data: x\rid: 2\r\r", true],
    ["data: id: 1\n\n", false],
    [': id:\ndata: {"id":1}\n\n', false],
    ["ident: 1\nidid:\n", false],
    ["id", false],
    ["", false],
  ];

  it.each(cases)("in %j: %s", (text, expected) => {
    expect(found([new TextEncoder().encode(text)])).toBe(expected);
  });

  it("are found wherever the bytes are split", () => {
    fc.assert(
      fc.property(fc.constantFrom(...cases), fc.array(fc.nat(30), { maxLength: 6 }), ([text, expected], cuts) => {
        const bytes = new TextEncoder().encode(text);
        const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.byteLength)).sort((a, b) => a - b), bytes.byteLength];
        const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
        expect(found(chunks)).toBe(expected);
      }),
    );
  });
});
