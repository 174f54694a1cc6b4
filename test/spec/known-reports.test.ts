/**
 * Public reports about other gateways, tried here: what is sent to an upstream, and what of its answer comes back
 * (docs/known-reports.md).
 *
 * @module-tag check
 */
import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { chatEvents, eventStream, jsonAnswer } from "../harness/http-sink.ts";
import { rawRequest } from "../harness/raw-request.ts";
import { CHAT, CHAT_ANSWER, chatUsage, post, reportUpstream, rowOf } from "../harness/report-upstream.ts";
import { speaking } from "../harness/speaking.ts";
import { mintAt, useRouteUpstream } from "../harness/upstream-routes.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const routes = useRouteUpstream();
const MESSAGES = "/v1/messages";

/** An upstream that writes its answer as a test wants it. */
async function writing(write: (response: ServerResponse) => unknown): Promise<string> {
  return (await reportUpstream(() => write)).url;
}

describe("a request", () => {
  it("keeps names, order, numbers and unknown fields of its body", async () => {
    const sink = await reportUpstream(() => jsonAnswer(CHAT_ANSWER));
    const minted = await fixture.gateway.mint(`${sink.url}/v1`, "upstream-name");
    const bodyFor = (model: string) =>
      `{"zebra":1, "model":"${model}","apple":18446744073709551617,"temperature":1.0,"seed":9007199254740993,` +
      '"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"content":"h\\u00e9","role":"user",' +
      '"cache_control":{"type":"ephemeral"}}],"tools":[{"type":"function","function":{"name":"f","parameters":' +
      '{"properties":{"zebra":{},"apple":{}}}}}]}';
    expect((await post(fixture.gateway, minted, "/v1/chat/completions", bodyFor(minted.model.model_name))).status).toBe(
      200,
    );
    expect(sink.asked.map(({ body }) => body)).toEqual([bodyFor("upstream-name")]);
  });

  it("cannot name the address that gets it, or the credential for it", async () => {
    const [sink, elsewhere] = [await reportUpstream(() => jsonAnswer(CHAT_ANSWER)), await reportUpstream(() => ({}))];
    const minted = await fixture.gateway.mint(sink.url, "plain", { api_key: " sk-upstream\n" });
    const given = { api_base: elsewhere.url, base_url: elsewhere.url, api_key: "sk-client", litellm_params: {} };
    for (const [name, value] of Object.entries(given)) {
      const response = await post(fixture.gateway, minted, "/v1/chat/completions", { ...CHAT, [name]: value });
      expect({ status: response.status, error: JSON.parse(response.text) as unknown }).toMatchObject({
        status: 400,
        error: { error: { code: "validation_failed", param: name } },
      });
    }
    expect((await post(fixture.gateway, minted, "/v1/chat/completions", CHAT)).status).toBe(200);
    expect({
      elsewhere: elsewhere.asked.length,
      credentials: sink.asked.map((asked) => asked.headers["authorization"]),
    }).toEqual({
      elsewhere: 0,
      credentials: ["Bearer sk-upstream"],
    });
  });

  it("is known by its key however the header is written", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    for (const authorization of [`bearer ${minted.secret}`, `BEARER  ${minted.secret} `])
      expect((await fixture.gateway.chat(minted, { headers: { authorization } })).status).toBe(200);
  });

  it("keeps the features it asks for in headers and query, and no secret of its caller", async () => {
    const sink = await reportUpstream(() => jsonAnswer(CHAT_ANSWER));
    const minted = await fixture.gateway.mint(sink.url, "upstream-name", {
      api_key: "sk-upstream",
      ...speaking(MESSAGES),
    });
    const features = { "anthropic-beta": "claude-code-20250219,advanced-tool-use-2025-11-20" };
    const secrets = {
      cookie: "session=1",
      "x-forwarded-for": "192.0.2.1",
      "cf-ipcountry": "DE",
      "x-goog-api-key": "sk-google",
      "x-goog-user-project": "p",
      "ocp-apim-subscription-key": "sk-azure",
    };
    await post(fixture.gateway, minted, `${MESSAGES}?beta=true`, CHAT, { ...features, ...secrets });
    const [asked] = sink.asked;
    expect({ url: asked?.url, ...asked?.headers }).toMatchObject({
      url: `${MESSAGES}?beta=true`,
      ...features,
      authorization: "Bearer sk-upstream",
    });
    for (const name of Object.keys(secrets)) expect(asked?.headers).not.toHaveProperty(name);
  });

  it("goes to the same path whether the base ends in /v1, in a slash, or in neither", async () => {
    const sink = await reportUpstream(() => jsonAnswer(CHAT_ANSWER));
    for (const base of [sink.url, `${sink.url}/`, `${sink.url}/v1`, `${sink.url}/v1/`]) {
      const minted = await fixture.gateway.mint(base);
      expect((await post(fixture.gateway, minted, "/v1/chat/completions", CHAT)).status).toBe(200);
    }
    expect(new Set(sink.asked.map(({ url }) => url))).toEqual(new Set(["/v1/chat/completions"]));
  });

  it("without a stream has no stream options; one that declines usage gets none", async () => {
    const last = { choices: [{ index: 0, delta: { content: "a" }, finish_reason: "stop" }] };
    const sink = await reportUpstream(({ body }) =>
      body.includes('"stream":true')
        ? eventStream(chatEvents(last, { choices: [], usage: chatUsage(11, 22) }))
        : jsonAnswer(CHAT_ANSWER),
    );
    const minted = await fixture.gateway.mint(`${sink.url}/v1`);
    const send = async (body: object) =>
      await post(fixture.gateway, minted, "/v1/chat/completions", { ...CHAT, ...body });
    await send({});
    await send({ stream: false });
    for (const { body } of sink.asked) expect(body).not.toContain("stream_options");
    for (const stream_options of [{ include_usage: false }, null, {}]) {
      const answer = await send({ stream: true, stream_options });
      expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: chatEvents(last) });
      expect(await rowOf(fixture.gateway, minted, answer)).toMatchObject({ input_tokens: 11, output_tokens: 22 });
    }
  });

  it("with a recording keeps the name of its file", async () => {
    const minted = await mintAt(fixture.gateway, routes, { model_type: "audio_transcription" });
    const form = new FormData();
    form.append("model", minted.model.model_name);
    form.append("file", new Blob([new Uint8Array(64)], { type: "audio/mp4" }), "会議 é.m4a");
    const headers = { authorization: `Bearer ${minted.secret}` };
    const url = `${fixture.gateway.proxyUrl}/v1/audio/transcriptions`;
    expect((await fetch(url, { method: "POST", headers, body: form })).status).toBe(200);
    expect(routes.seen(minted.mark)[0]?.files).toMatchObject({ file: { name: "会議 é.m4a", type: "audio/mp4" } });
  });
});

describe("a refusal", () => {
  it("of a WebSocket says at once that HTTP has to be used", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const headers = {
      authorization: `Bearer ${minted.secret}`,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    };
    for (const [path, status, code] of [
      ["/v1/chat/completions", 426, "websocket_unsupported"],
      ["/v1/realtime/calls", 404, "unknown_endpoint"],
    ] as const) {
      const answer = await rawRequest(fixture.gateway.proxyUrl, { method: "GET", path, headers });
      expect({ path, status: answer.status, code: JSON.parse(answer.text).error.code }).toEqual({ path, status, code });
    }
  });

  it("on the path of messages has the form that its clients read", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const answers = [
      await post(fixture.gateway, minted, MESSAGES, { ...CHAT, model: "unknown" }),
      await post(fixture.gateway, { ...minted, secret: "sk-wrong" }, MESSAGES, CHAT),
      await post(fixture.gateway, minted, `${MESSAGES}/count_tokens`, "{"),
    ];
    expect(answers.map(({ status, text }) => ({ status, body: JSON.parse(text) }))).toMatchObject([
      { status: 404, body: { type: "error", error: { type: "not_found_error" } } },
      { status: 401, body: { type: "error", error: { type: "authentication_error", code: "invalid_api_key" } } },
      { status: 400, body: { type: "error", error: { type: "invalid_request_error" } } },
    ]);
  });

  it("of a wrong key says nothing about the key or about what checked it", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const wrong = `${minted.secret.slice(0, -4)}AAAA`;
    const answer = await post(fixture.gateway, { ...minted, secret: wrong }, "/v1/chat/completions", CHAT);
    expect({ status: answer.status, body: JSON.parse(answer.text) }).toEqual({
      status: 401,
      body: {
        error: { message: "invalid api key", type: "authentication_error", code: "invalid_api_key", param: null },
      },
    });
  });

  it("does not depend on the host that a request names", async () => {
    for (const host of ["localhost:1/#@x", "x/health?", "localhost/livez?x=", "/v1/models"]) {
      const data = { method: "POST", path: "/v1/chat/completions", headers: { host }, body: "{}" };
      const status = (await rawRequest(fixture.gateway.proxyUrl, data)).status;
      expect({ host, isRefused: [400, 401].includes(status) }).toEqual({ host, isRefused: true });
    }
  });
});

describe("an answer", () => {
  it("keeps characters and tool calls that its upstream sends in pieces", async () => {
    const call = { index: 1, id: "call_1", type: "function", function: { name: "f", arguments: '{"a":' } };
    const body = chatEvents(
      { choices: [{ index: 0, delta: { content: "北京 🦉" } }] },
      { choices: [{ index: 0, delta: { tool_calls: [call] } }] },
      { choices: [{ index: 0, delta: { tool_calls: [{ index: 1, function: { arguments: "1}" } }] } }] },
    );
    const url = await writing(async (response) => {
      response.writeHead(200, { "content-type": "text/event-stream; charset=UTF-8" });
      for (const byte of Buffer.from(body)) {
        response.write(Uint8Array.of(byte));
        await turn();
      }
      response.end();
    });
    const minted = await fixture.gateway.mint(url);
    for (const stream_options of [undefined, { include_usage: true }])
      expect(
        (await post(fixture.gateway, minted, "/v1/chat/completions", { ...CHAT, stream: true, stream_options })).text,
      ).toBe(body);
  });

  it("keeps events without choices that report no usage", async () => {
    const text = chatEvents(
      { choices: [], prompt_filter_results: [{ prompt_index: 0 }] },
      { choices: [{ index: 0, delta: { content: "a" } }] },
      { choices: [], usage: null },
    );
    const sink = await reportUpstream(() => eventStream(text));
    const minted = await fixture.gateway.mint(sink.url);
    const answer = await post(fixture.gateway, minted, "/v1/chat/completions", { ...CHAT, stream: true });
    expect(answer.text).toBe(text);
  });

  it("arrives while its upstream still writes", async () => {
    let open: ServerResponse | undefined;
    const url = await writing((response) => {
      open = response;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n');
    });
    const response = await fixture.gateway.chat(await fixture.gateway.mint(url), { stream: true });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toContain("one");
    open?.end("data: [DONE]\n\n");
    expect((await reader?.read())?.value).toContain("[DONE]");
  });

  it("has no header by which its upstream names a key, a cookie or an address", async () => {
    const headers = {
      "content-type": "application/json",
      "x-goog-api-key": "sk-upstream",
      "set-cookie": "a=b",
      location: "http://internal:1/",
      server: "ray",
    };
    for (const [status, seen] of [
      [200, 200],
      [302, 502],
      [400, 400],
    ] as const) {
      const sink = await reportUpstream(() => ({ status, headers, body: JSON.stringify(CHAT_ANSWER) }));
      const answer = await post(fixture.gateway, await fixture.gateway.mint(sink.url), "/v1/chat/completions", CHAT);
      const leaked = Object.keys(headers).filter((name) => name !== "content-type" && answer.headers.has(name));
      expect({ status: answer.status, leaked }).toEqual({ status: seen, leaked: [] });
    }
  });

  it("that the token limit left empty is an answer", async () => {
    const body = {
      choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "length" }],
      usage: chatUsage(5, 0),
      error: null,
    };
    const sink = await reportUpstream(() => jsonAnswer(body));
    const minted = await fixture.gateway.mint(sink.url);
    const answer = await post(fixture.gateway, minted, "/v1/chat/completions", { ...CHAT, max_tokens: 1 });
    expect({ status: answer.status, body: JSON.parse(answer.text) }).toEqual({ status: 200, body });
    expect(await rowOf(fixture.gateway, minted, answer)).toMatchObject({ output_tokens: 0, error_code: "" });
  });

  it("may not be kept by a cache on the way", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const headers = { "x-api-key": minted.secret };
    const answers = {
      unknown: await fetch(`${fixture.gateway.proxyUrl}/v1/absent`, { headers }),
      models: await fetch(`${fixture.gateway.proxyUrl}/v1/models`, { headers }),
      limits: await fetch(`${fixture.gateway.proxyUrl}/v1/limits`, { headers }),
    };
    for (const [name, answer] of Object.entries(answers))
      expect({ name, cache: answer.headers.get("cache-control") }).toEqual({ name, cache: "no-store" });
  });

  it.each([
    ["an event stream", "text/event-stream"],
    ["JSON", "application/json"],
  ])("of %s without a byte is no success: another attempt is made", async (_, type) => {
    const sink = await reportUpstream(() =>
      sink.asked.length % 2 === 1
        ? (response: ServerResponse) => response.writeHead(200, { "content-type": type }).end()
        : jsonAnswer(CHAT_ANSWER),
    );
    const minted = await fixture.gateway.mint(sink.url);
    const answer = await post(fixture.gateway, minted, "/v1/chat/completions", CHAT);
    expect({ status: answer.status, asked: sink.asked.length }).toEqual({ status: 200, asked: 2 });
    expect(await rowOf(fixture.gateway, minted, answer)).toMatchObject({ total_tokens: 33 });
  });
});

describe("requests that end in any way", () => {
  it.each(["/v1/chat/completions", MESSAGES, "/v1/responses"])("on %s give their slots back", async (path) => {
    let status = 200;
    const sink = await reportUpstream(() =>
      status === 200 ? { ...eventStream("data: {}\n\n"), open: true } : jsonAnswer({ error: {} }, status),
    );
    const minted = await fixture.gateway.mint(sink.url, "plain", {
      max_in_flight: 2,
      max_retries: 0,
      ...speaking(path),
    });
    const send = async (signal: AbortSignal | null = null) =>
      await fetch(`${fixture.gateway.proxyUrl}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
        body: JSON.stringify({ model: minted.model.model_name, input: "a", ...CHAT, stream: true }),
        signal,
      });
    for (let round = 0; round < 4; round += 1) {
      const left = new AbortController();
      await send(left.signal);
      left.abort();
    }
    status = 500;
    for (let round = 0; round < 4; round += 1) expect((await send()).status).toBe(502);
    const load = await waitFor(
      async () => await fixture.gateway.loadOf(minted.model.model_name),
      ({ inFlight, queued }) => inFlight + queued === 0,
    );
    expect(load).toEqual({ inFlight: 0, queued: 0 });
  });
});
