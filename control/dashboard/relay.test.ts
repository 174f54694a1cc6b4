/**
 * What a browser reaches of the data plane with a pasted key (docs/rules/console.md#relay): two routes at one address, by
 * whatever path, header or body, over real connections.
 *
 * @module-tag check
 */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startConsole, type TestConsole } from "../../test/harness/console.ts";
import type { ConsoleBrowser } from "../../test/harness/console-browser.ts";
import { rawRequest } from "../../test/harness/raw-request.ts";
import { waitFor } from "../../test/harness/wait-for.ts";
import { type HttpServer, serveAt } from "../process/http-server.ts";

const KEY = `sk_${"a".repeat(48)}`;
const CHAT = "/api/relay/v1/chat/completions";
const MIB = 1024 * 1024;
/** What kernels and streams hold of two connections, generously. */
const HELD_MAX_BYTES = 64 * MIB;
const LONG_BYTES = 256 * MIB;

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  bytes: number;
  sentBytes: number;
  isCutOff: boolean;
}

let testing: TestConsole;
let admin: ConsoleBrowser;
let dashboard: HttpServer;
let asked: Asked[];
/** How the data plane answers, unless a test chooses otherwise. */
let answerWith: (response: ServerResponse, seen: Asked) => Promise<void> | void;

const dataPlane = createServer((incoming, response) => {
  const { method = "", url = "", headers } = incoming;
  const seen: Asked = { method, url, headers, bytes: 0, sentBytes: 0, isCutOff: false };
  asked.push(seen);
  incoming.on("data", (chunk: Buffer) => {
    seen.bytes += chunk.byteLength;
  });
  incoming.on("error", () => undefined);
  response.on("close", () => {
    seen.isCutOff = !response.writableFinished;
  });
  void answerWith(response, seen);
});

const hello = (response: ServerResponse): void => {
  response.req.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end('{"ok":true}'));
  response.req.resume();
};
/** Events as fast as they are taken. */
const long = async (response: ServerResponse, seen: Asked): Promise<void> => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const chunk = Buffer.alloc(64 * 1024, "x");
  const closed = new AbortController();
  response.on("close", () => closed.abort());
  while (seen.sentBytes < LONG_BYTES && !closed.signal.aborted) {
    seen.sentBytes += chunk.byteLength;
    if (!response.write(chunk)) await once(response, "drain", closed).catch(() => undefined);
  }
  response.end();
};
const headers = (more: Record<string, string> = {}): Record<string, string> => ({
  cookie: admin.cookies,
  origin: dashboard.address,
  authorization: `Bearer ${KEY}`,
  "content-type": "application/json",
  ...more,
});
const post = async (body: string, more: Record<string, string> = {}, path = CHAT) =>
  await rawRequest(dashboard.address, { method: "POST", path, headers: headers(more), body });
const codeOf = (text: string): string => (JSON.parse(text) as { error: { code: string } }).error.code;
const last = (): Asked => asked.at(-1) as Asked;

/** A request whose client reads as it likes; resolves with the first bytes of the answer. */
async function begin() {
  const outgoing = request(`${dashboard.address}${CHAT}`, { method: "POST", headers: headers(), agent: false });
  outgoing.on("error", () => undefined);
  outgoing.end("{}");
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  incoming.on("error", () => undefined);
  await once(incoming, "readable");
  return { outgoing, incoming };
}

beforeAll(async () => {
  await new Promise<void>((resolve) => dataPlane.listen(0, "127.0.0.1", resolve));
  const { port } = dataPlane.address() as AddressInfo;
  testing = await startConsole({ GATEWAY_PROXY_BASE_URL: `http://127.0.0.1:${port}/gw/` });
  admin = await testing.admin();
  dashboard = await serveAt(
    (incoming) => testing.app.fetch(incoming),
    { host: "127.0.0.1", port: 0 },
    { variable: "TEST", stalledReaderMs: 0 },
  );
  asked = [];
  answerWith = hello;
});
afterAll(async () => {
  dataPlane.closeAllConnections();
  dataPlane.close();
  await dashboard.close();
  await testing.close();
});

describe("the relay", () => {
  it("passes on a request with the pasted key and its answer, and nothing of the session", async () => {
    answerWith = (response) => {
      const answer = {
        "content-type": "application/json",
        "x-gateway-cache": "hit",
        "x-gateway-request-id": "r-1",
        "retry-after-ms": "5",
        "set-cookie": "gateway_session=other",
        server: "secret",
        "access-control-allow-origin": "*",
      };
      response.req.on("end", () => response.writeHead(429, answer).end('{"n":1}'));
      response.req.resume();
    };
    const more = { "x-gateway-boons": "off", "x-forwarded-host": "evil.example" };
    const answer = await post('{"model":"m"}', more, `${CHAT}?host=evil.example`);
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 429, text: '{"n":1}' });
    expect(answer.headers).toMatchObject({
      "x-gateway-cache": "hit",
      "x-gateway-request-id": "r-1",
      "retry-after-ms": "5",
      "cache-control": "no-store",
    });
    for (const name of ["set-cookie", "server", "access-control-allow-origin"])
      expect(answer.headers).not.toHaveProperty(name);
    const { method, url, headers: got, bytes } = last();
    expect({ method, url, authorization: got.authorization, bytes }).toEqual({
      method: "POST",
      url: "/gw/v1/chat/completions",
      authorization: `Bearer ${KEY}`,
      bytes: 13,
    });
    expect(JSON.stringify(got)).not.toMatch(/evil|gateway_session|x-gateway-boons|cookie/);
    answerWith = hello;
    const models = await rawRequest(dashboard.address, {
      method: "GET",
      path: "/api/relay/v1/models",
      headers: headers(),
    });
    expect({ status: models.status, method: last().method, url: last().url }).toEqual({
      status: 200,
      method: "GET",
      url: "/gw/v1/models",
    });
  });

  it("knows no other path or method, in no spelling", async () => {
    const before = asked.length;
    const paths = [
      "/v1/chat/completions/",
      "/v1/Chat/Completions",
      "/v1//chat/completions",
      "//v1/chat/completions",
      "/v1/chat%2fcompletions",
      "/v1/chat/completions/../../embeddings",
      "/v1/chat/completions%2f..%2f..%2fembeddings",
      "/v1/chat/completions;/../../x",
      "/v1/chat\\..\\embeddings",
      "/v1/embeddings",
      "/v1/models/m",
      "/v1/batches/",
      `/v1/batches/batch_${"0".repeat(32)}`,
      `/v1/batches/batch_${"0".repeat(32)}/cancel/`,
      "/v1/responses",
      "/mcp/server",
      "/http://evil.example/v1/chat/completions",
      "/@evil.example/v1/chat/completions",
      "",
      "/",
    ];
    for (const path of paths) {
      const answer = await post("{}", {}, `/api/relay${path}`);
      expect({ path, isClientError: answer.status >= 400 && answer.status < 500 }).toEqual({
        path,
        isClientError: true,
      });
    }
    for (const [method, path] of [
      ["GET", CHAT],
      ["POST", "/api/relay/v1/models"],
      ["PUT", CHAT],
      ["DELETE", CHAT],
      ["GET", "/api/relay/v1/batches"],
      ["DELETE", `/api/relay/v1/files/file-${"0".repeat(32)}`],
      ["GET", "/api/relay/v1/files/file-1/content"],
      ["HEAD", "/api/relay/v1/models"],
    ] as const) {
      const answer = await rawRequest(dashboard.address, { method, path, headers: headers() });
      expect({ method, path, status: answer.status }).toEqual({ method, path, status: 404 });
    }
    expect(asked).toHaveLength(before);
  });

  it("serves only approved people who signed in, and only writes from the console's own pages", async () => {
    const before = asked.length;
    const ann = testing.browser();
    await testing.signIn(ann);
    for (const [more, status, code] of [
      [{ cookie: "" }, 401, "signed_out"],
      [{ cookie: ann.cookies }, 403, "account_pending"],
      [{ origin: "https://evil.example" }, 403, "origin_not_allowed"],
      [{ origin: "null" }, 403, "origin_not_allowed"],
    ] as const) {
      const answer = await post("{}", more);
      expect({ status: answer.status, code: codeOf(answer.text) }).toEqual({ status, code });
    }
    const listed = await testing.control.request("GET", "/api/v1/users?q=ANN");
    const [{ id } = { id: "" }] = (await listed.json()) as { id: string }[];
    await testing.control.request("PATCH", `/api/v1/users/${id}`, { status: "active" });
    const answer = await post("{}", { cookie: ann.cookies });
    expect({ status: answer.status, code: codeOf(answer.text) }).toEqual({ status: 403, code: "no_tenant" });
    expect(asked).toHaveLength(before);
  });

  it("takes no more of a body than the data plane would, declared or not", async () => {
    const before = asked.length;
    const declared = await rawRequest(dashboard.address, {
      method: "POST",
      path: CHAT,
      // The server ends a connection whose body does not come: no other request must be on its way over it.
      headers: headers({ "content-length": String(40 * MIB), expect: "100-continue", connection: "close" }),
    }).catch((error: unknown) => error);
    expect(declared).toMatchObject({ status: 413 });
    expect(asked).toHaveLength(before);
    const outgoing = request(`${dashboard.address}${CHAT}`, { method: "POST", headers: headers(), agent: false });
    outgoing.on("error", () => undefined);
    const answered = once(outgoing, "response") as Promise<[IncomingMessage]>;
    const chunk = Buffer.alloc(MIB, " ");
    for (let sent = 0; sent < 32; sent += 1) if (!outgoing.write(chunk)) await once(outgoing, "drain");
    outgoing.write(" ");
    const [{ statusCode }] = await answered;
    outgoing.destroy();
    expect(statusCode).toBe(413);
    await waitFor(
      async () => last().isCutOff,
      (isCutOff) => isCutOff,
    );
    expect(last().bytes).toBeLessThanOrEqual(32 * MIB);
    const within = await post(" ".repeat(8 * MIB));
    expect({ status: within.status, bytes: last().bytes }).toEqual({ status: 200, bytes: 8 * MIB });
  });

  it("passes a refusal on that comes before the body has been read", async () => {
    answerWith = (response) => void response.writeHead(401, { "content-type": "application/json" }).end('{"no":1}');
    for (let nth = 0; nth < 10; nth += 1) {
      const answer = await post(" ".repeat(MIB));
      expect({ status: answer.status, text: answer.text }).toEqual({ status: 401, text: '{"no":1}' });
    }
    answerWith = hello;
  });

  it("reads no faster than the browser, and stops the call when the browser leaves", async () => {
    answerWith = long;
    const { outgoing, incoming } = await begin();
    incoming.pause();
    for (let nth = 0; nth < 20; nth += 1) await admin.get("/api/session");
    const seen = last();
    expect(seen.sentBytes).toBeLessThanOrEqual(HELD_MAX_BYTES);
    outgoing.destroy();
    await waitFor(
      async () => seen.isCutOff,
      (isCutOff) => isCutOff,
    );
    expect(seen.sentBytes).toBeLessThanOrEqual(HELD_MAX_BYTES);

    answerWith = () => undefined;
    const count = asked.length;
    const waiting = request(`${dashboard.address}${CHAT}`, { method: "POST", headers: headers(), agent: false });
    waiting.on("error", () => undefined);
    waiting.end("{}");
    await waitFor(
      async () => asked.length,
      (now) => now > count,
    );
    const hanging = last();
    waiting.destroy();
    await waitFor(
      async () => hanging.isCutOff,
      (isCutOff) => isCutOff,
    );
    answerWith = hello;
    expect((await post("{}")).status).toBe(200);
  });

  it("cuts an answer off that breaks off, so that it cannot be taken for whole", async () => {
    const answering = Promise.withResolvers<ServerResponse>();
    answerWith = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
      answering.resolve(response);
    };
    const { incoming } = await begin();
    const broken = once(incoming, "error");
    incoming.resume();
    (await answering.promise).destroy();
    expect((await broken)[0]).toMatchObject({ code: "ECONNRESET" });
    answerWith = hello;
  });

  it("follows no redirection, shows no page, and says when nobody answers", async () => {
    answerWith = (response) => void response.writeHead(307, { location: "http://127.0.0.1:9/" }).end();
    const moved = await post("{}");
    expect({ status: moved.status, code: codeOf(moved.text), location: moved.headers["location"] }).toEqual({
      status: 503,
      code: "data_plane_unavailable",
      location: undefined,
    });
    answerWith = (response) => void response.writeHead(200, { "content-type": "text/html" }).end("<script>1</script>");
    const page = await post("{}");
    expect({
      "content-type": page.headers["content-type"],
      "x-content-type-options": page.headers["x-content-type-options"],
    }).toEqual({ "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" });
    answerWith = (response) => void response.destroy();
    const gone = await post("{}");
    expect({ status: gone.status, code: codeOf(gone.text) }).toEqual({ status: 503, code: "data_plane_unavailable" });
    answerWith = hello;
  });

  it("logs neither the key nor anything else that was sent", () => {
    const log = testing.logged.join("");
    expect(log).toContain("data_plane_unreachable");
    expect(log).not.toMatch(/sk_a|authorization|"model"|internal_error/);
  });
});
