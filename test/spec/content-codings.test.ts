/**
 * Bodies in a coding: of clients, which are decoded, and of upstreams, which nobody asked for one
 * (docs/rules/request-bodies.md#codings, docs/rules/upstream-calls.md#answers).
 *
 * @module-tag long
 */
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  createZstdCompress,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { useMcp } from "../harness/mcp-fixture.ts";
import { type RawAnswer, rawRequest } from "../harness/raw-request.ts";
import { mintAt, sha256, useRouteUpstream } from "../harness/upstream-routes.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();
const mcp = useMcp(fixture);

const CODED = {
  zstd: zstdCompressSync,
  gzip: gzipSync,
  deflate: deflateSync,
  br: (body: Uint8Array) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
} as const;
const CODINGS = Object.keys(CODED) as (keyof typeof CODED)[];

async function send(
  minted: Minted,
  coding: string,
  body: Uint8Array,
  { path = "/v1/chat/completions", type = "application/json" } = {},
): Promise<RawAnswer> {
  return await rawRequest(fixture.gateway.proxyUrl, {
    method: "POST",
    path,
    headers: { authorization: `Bearer ${minted.secret}`, "content-type": type, "content-encoding": coding },
    body,
  });
}

const chatOf = ({ model }: Minted, content: string): Buffer =>
  Buffer.from(JSON.stringify({ model: model.model_name, messages: [{ role: "user", content }] }));

describe("a request body in a coding", () => {
  mainRows(1)(CODINGS.map((coding) => [coding]))("%s reaches the upstream plain, small or large", async (coding) => {
    const minted = await mintAt(fixture.gateway, upstream);
    for (const content of ["hello", randomBytes(3_000_000).toString("hex")]) {
      const answer = await send(minted, coding.toUpperCase(), CODED[coding](chatOf(minted, content)));
      const call = upstream.seen(minted.mark).at(-1);
      expect({ status: answer.status, coding: call?.headers["content-encoding"], json: call?.json }).toEqual({
        status: 200,
        coding: undefined,
        json: { model: "upstream-name", messages: [{ role: "user", content }] },
      });
      expect(await fixture.gateway.row(minted.tenant.id, answer.requestId)).toMatchObject({ total_tokens: 33 });
    }
  });

  it("may be a form, whose fields are read", async () => {
    const minted = await mintAt(fixture.gateway, upstream, { cost_per_image: 0.04 });
    const file = new Uint8Array(randomBytes(600_000));
    const form = new FormData();
    form.append("model", minted.model.model_name);
    form.append("image", new File([file], "x.png"));
    form.append("n", "3");
    const encoded = new Request("http://x", { method: "POST", body: form });
    const type = encoded.headers.get("content-type") ?? "";
    const body = zstdCompressSync(new Uint8Array(await encoded.arrayBuffer()));
    const answer = await send(minted, "zstd", body, { path: "/v1/images/edits", type });
    const [call] = upstream.seen(minted.mark);
    expect({ status: answer.status, fields: call?.fields, image: call?.files["image"]?.sha256 }).toEqual({
      status: 200,
      fields: { model: "upstream-name", n: "3" },
      image: sha256(file),
    });
    expect(await fixture.gateway.row(minted.tenant.id, answer.requestId)).toMatchObject({ cost_usd: 0.12 });
  });

  it("reaches an MCP server plain", async () => {
    const minted = await mcp.mint();
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "x".repeat(100_000) }));
    const path = `/mcp/${minted.server.name}/${minted.mark}`;
    const answer = await send(minted, "zstd", zstdCompressSync(body), { path });
    const seen = await mcp.seenOnce(minted.mark);
    expect({
      status: answer.status,
      coding: seen.headers["content-encoding"],
      bytes: seen.bodyBytes,
      sha256: seen.bodySha256,
    }).toEqual({
      status: 200,
      coding: undefined,
      bytes: body.byteLength,
      sha256: createHash("sha256").update(body).digest("hex"),
    });
  });

  it("is examined by guardrails as it is without it", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/guardrails`, {
      policy: { ban_keywords: ["forbidden"], input_scanners: ["ban_keywords"], action: "block" },
    });
    const answer = await send(minted, "zstd", zstdCompressSync(chatOf(minted, "a forbidden word")));
    expect({ status: answer.status, error: JSON.parse(answer.text) }).toMatchObject({
      status: 400,
      error: { error: { code: "request_blocked" } },
    });
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  mainRows(1)(CODINGS.map((coding) => [coding]))(
    "%s counts as what it becomes: a bomb is too large",
    async (coding) => {
      const minted = await mintAt(fixture.gateway, upstream);
      const bomb = CODED[coding](Buffer.alloc(100_000_000, "a"));
      expect(bomb.byteLength).toBeLessThan(1_000_000);
      const answers = await Promise.all(Array.from({ length: 8 }, async () => await send(minted, coding, bomb)));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 413));
      expect((await send(minted, coding, CODED[coding](chatOf(minted, "hello")))).status).toBe(200);
    },
  );

  it("that is another one, or not what it says, is refused with the codings that are read", async () => {
    const minted = await mintAt(fixture.gateway, upstream);
    const plain = chatOf(minted, "x".repeat(1000));
    const zstd = zstdCompressSync(plain);
    const cases: Readonly<Record<string, readonly [string, Uint8Array]>> = {
      "another coding": ["compress", plain],
      "two codings": ["gzip, zstd", zstdCompressSync(gzipSync(plain))],
      "not in it": ["gzip", plain],
      "one in another": ["br", zstd],
      "a part of it": ["zstd", zstd.subarray(0, -9)],
      "a larger window than that of HTTP": [
        "zstd",
        zstdCompressSync(chatOf(minted, randomBytes(5_000_000).toString("hex")), {
          params: { [constants.ZSTD_c_windowLog]: 24 },
        }),
      ],
      "more than it": ["gzip", Buffer.concat([gzipSync(plain), Buffer.from("more")])],
    };
    for (const [what, [coding, body]] of Object.entries(cases)) {
      const { status, headers, text, requestId } = await send(minted, coding, body);
      const { code } = (JSON.parse(text) as { error: { code: string } }).error;
      expect({ what, status, code, codings: headers["accept-encoding"] }).toEqual({
        what,
        status: 415,
        code: "unsupported_encoding",
        codings: "gzip, deflate, br, zstd",
      });
      const row = await fixture.gateway.row(minted.tenant.id, requestId);
      expect(row).toMatchObject({ status_code: 415, admission: "rejected", model: "", cost_usd: 0 });
    }
    expect(upstream.seen(minted.mark)).toEqual([]);
  });
});

const ENCODERS: Readonly<Record<keyof typeof CODED, () => Duplex & { flush(done: () => void): void }>> = {
  zstd: createZstdCompress,
  gzip: createGzip,
  deflate: createDeflate,
  br: createBrotliCompress,
};
const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const ANSWER = { id: "coded", choices: [], usage: USAGE };

describe("an answer in a coding that nobody asked for", () => {
  mainRows(1)([
    ...CODINGS.map((coding) => [coding, CODED[coding]] as const),
    ["x-gzip", CODED.gzip],
    ["BR", CODED.br],
  ] as const)("%s reaches the client plain, with its tokens", async (coding, encode) => {
    const minted = await fixture.gateway.mint(await upstreamIn(coding, encode));
    const answer = await send(minted, "identity", chatOf(minted, "hello"));
    expect({ status: answer.status, coding: answer.headers["content-encoding"] }).toEqual({
      status: 200,
      coding: undefined,
    });
    expect(JSON.parse(answer.text)).toEqual(ANSWER);
    expect(await fixture.gateway.row(minted.tenant.id, answer.requestId)).toMatchObject({ total_tokens: 7 });
  });

  mainRows(1)(CODINGS.map((coding) => [coding]))("%s is decoded while it streams", async (coding) => {
    // a stream whose client asks for its usage is relayed in another way
    for (const stream_options of [{}, { include_usage: true }]) {
      const read = Promise.withResolvers<void>();
      const minted = await fixture.gateway.mint(await streamIn(coding, ENCODERS[coding], read.promise));
      const response = await fixture.gateway.chat(minted, { body: { stream: true, stream_options } });
      const reader = response.body?.getReader();
      const { value } = (await reader?.read()) ?? {};
      expect(new TextDecoder().decode(value)).toContain('"content":"first"');
      read.resolve();
      let rest = "";
      for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read())
        rest += new TextDecoder().decode(piece.value);
      expect(rest).toContain("[DONE]");
      expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
        status_code: 200,
        total_tokens: 7,
      });
    }
  });

  it("that the gateway does not read is named to the client", async () => {
    const minted = await fixture.gateway.mint(await upstreamIn("compress", (body) => body));
    const answer = await send(minted, "identity", chatOf(minted, "hello"));
    expect({ status: answer.status, coding: answer.headers["content-encoding"], text: answer.text }).toEqual({
      status: 200,
      coding: "compress",
      text: JSON.stringify(ANSWER),
    });
  });

  mainRows(2)(CODINGS.map((coding) => [coding]))("%s is read up to its end, whatever follows", async (coding) => {
    // a chunk behind the end of gzip is the start of another member, or broken
    for (const bytes of coding === "gzip" ? [10] : [10, 300_000]) {
      const sent = { ...ANSWER, padding: randomBytes(bytes).toString("hex") };
      for (const more of ["more than it", "\0".repeat(512)]) {
        const followed = (body: Uint8Array) => Buffer.concat([CODED[coding](body), Buffer.from(more)]);
        const minted = await fixture.gateway.mint(await upstreamIn(coding, followed, sent));
        const answer = await send(minted, "identity", chatOf(minted, "hello"));
        expect({ bytes, status: answer.status, json: JSON.parse(answer.text) }).toEqual({
          bytes,
          status: 200,
          json: sent,
        });
        expect(await fixture.gateway.row(minted.tenant.id, answer.requestId)).toMatchObject({ total_tokens: 7 });
      }
    }
  });

  it.each([
    ["small, is a broken answer", 10, 502],
    ["large, breaks off", 300_000, null],
  ] as const)("gzip that ends early, %s", async (_, bytes, status) => {
    const sent = { ...ANSWER, padding: randomBytes(bytes).toString("hex") };
    const minted = await fixture.gateway.mint(
      await upstreamIn("gzip", (body) => gzipSync(body).subarray(0, -20), sent),
    );
    const answer = await send(minted, "identity", chatOf(minted, "hello")).catch(() => null);
    expect(answer?.status ?? null).toBe(status);
  });

  it.each(["application/json", "application/jsonl"])(
    "gzip of lines that ends in the second one breaks off: %s",
    async (type) => {
      const lines = Buffer.from(`${JSON.stringify(ANSWER)}\n{"padding":"${randomBytes(300_000).toString("hex")}"}`);
      const encode = () => gzipSync(lines).subarray(0, -20);
      const minted = await fixture.gateway.mint(await upstreamIn("gzip", encode, ANSWER, { type }));
      const answer = await send(minted, "identity", chatOf(minted, "hello")).catch(() => null);
      expect(answer?.status ?? null).toBe(null);
    },
  );

  mainRows(1)(CODINGS.map((coding) => [coding]))("and is not in it, is a broken answer: %s", async (coding) => {
    const minted = await fixture.gateway.mint(await upstreamIn(coding, (body) => body));
    const answer = await send(minted, "identity", chatOf(minted, "hello"));
    expect({ status: answer.status, text: JSON.parse(answer.text) }).toMatchObject({
      status: 502,
      text: { error: { code: "upstream_failed" } },
    });
  });

  it.each([200, 400, 429, 500])(
    "and is not in it, is a broken answer with status %i, also of an MCP server",
    async (status) => {
      const url = await upstreamIn("gzip", (body) => body, { error: { message: "no" } }, { status });
      const minted = await fixture.gateway.mint(url);
      await fixture.gateway.must("POST", "/mcp-servers", { name: minted.mark, upstream_url: url });
      const answer = await send(minted, "identity", chatOf(minted, "hello"));
      const tools = await send(minted, "identity", Buffer.from("{}"), { path: `/mcp/${minted.mark}` });
      const codeOf = ({ text }: RawAnswer) => (JSON.parse(text) as { error: { code: string } }).error.code;
      expect([answer, tools].map((one) => ({ status: one.status, code: codeOf(one) }))).toEqual([
        { status: 502, code: "upstream_failed" },
        { status: 502, code: "mcp_upstream_failed" },
      ]);
    },
  );
});

/** An upstream whose every answer is in a coding. */
async function upstreamIn(
  coding: string,
  encode: (body: Uint8Array) => Uint8Array,
  answer: object = ANSWER,
  { type = "application/json", status = 200 } = {},
): Promise<string> {
  const body = encode(Buffer.from(JSON.stringify(answer)));
  const headers = { "content-type": type, "content-encoding": coding, "content-length": body.byteLength };
  return await serving(
    createServer(
      (request, response) => void request.resume().on("end", () => response.writeHead(status, headers).end(body)),
    ),
  );
}

/** An upstream that streams an event, and the others when the first one was read. */
async function streamIn(
  coding: string,
  encoder: () => Duplex & { flush(done: () => void): void },
  read: Promise<void>,
): Promise<string> {
  const event = (delta: object, more: object = {}): string =>
    `data: ${JSON.stringify({ id: "coded", object: "chat.completion.chunk", choices: [{ index: 0, delta }], ...more })}\n\n`;
  return await serving(
    createServer((request, response) => {
      request.resume().on("end", () => {
        response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": coding });
        const encoded = encoder();
        encoded.pipe(response);
        encoded.write(event({ content: "first" }));
        encoded.flush(() => {
          void read.then(() => encoded.end(`${event({ content: "second" }, { usage: USAGE })}data: [DONE]\n\n`));
        });
      });
    }),
  );
}

async function serving(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}
