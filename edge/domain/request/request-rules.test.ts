import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isKeySecret } from "../../../shared/access/api-key.ts";
import { isSafePath, upstreamUrl } from "../../../shared/network/upstream-url.ts";
import { atOnce } from "../../../shared/steps.ts";
import { scanTopLevel as scanTopLevelInSteps, type TopLevel } from "../../../shared/wire/json-top-level.ts";
import { usagePlan } from "../../../test/harness/edge/usage-plan.ts";
import { asJson, asPlain, clientHeaders, forwardedHeaders, upstreamHeaders } from "../upstream/headers.ts";
import { rewriteBody } from "../upstream/request-body.ts";
import { BytePieces, concat } from "../wire/bytes/byte-pieces.ts";
import { fnv1a64 } from "../wire/bytes/fnv1a.ts";
import { wholeDocument } from "../wire/json/document.ts";
import { readCredential } from "./credential.ts";
import type { EstimateRule } from "./route-class.ts";
import { sessionIdOf } from "./session-id.ts";

const scanTopLevel = (...given: Parameters<typeof scanTopLevelInSteps>) => atOnce(scanTopLevelInSteps(...given));

const secret = `sk_${"a".repeat(48)}`;

describe("a credential", () => {
  it.each([
    [{}, { kind: "none" }],
    [{ authorization: `Bearer ${secret}` }, { kind: "secret", secret }],
    [{ authorization: `bearer ${secret}` }, { kind: "secret", secret }],
    [{ "x-api-key": secret }, { kind: "secret", secret }],
    [{ authorization: "Bearer wrong", "x-api-key": secret }, { kind: "malformed" }],
    [{ authorization: secret }, { kind: "malformed" }],
    [{ authorization: "" }, { kind: "malformed" }],
    [{ authorization: `Bearer ${secret} extra` }, { kind: "malformed" }],
    [{ authorization: "Bearer eyJ.x.y" }, { kind: "token", token: "eyJ.x.y" }],
    [{ "x-api-key": " eyJ.x.y " }, { kind: "token", token: "eyJ.x.y" }],
  ])("of %j is %j", (headers, expected) => {
    const isToken = (text: string): boolean => text.startsWith("eyJ");
    expect(readCredential(new Headers(headers as Record<string, string>), isKeySecret, isToken)).toEqual(expected);
  });
});

describe("headers", () => {
  it("travel upstream without credentials, hop-by-hop headers and what the platform added", () => {
    const dropped = [
      "host",
      "content-length",
      "authorization",
      "x-api-key",
      "accept-encoding",
      "connection",
      "x-gateway-boons",
      "keep-alive",
      "te",
      "trailer",
      "transfer-encoding",
      "upgrade",
      "proxy-authorization",
      "cf-ray",
      "x-envoy-retry-on",
      "x-forwarded-for",
      "x-real-ip",
      "cookie",
      "forwarded",
      "x-forwarded",
      "true-client-ip",
      "x-original-url",
      "x-rewrite-url",
      "x-http-method-override",
      "x-http-method",
      "x-method-override",
      "openai-organization",
      "openai-project",
      "x-gateway-session-id",
      "x-gateway-anything",
    ];
    const headers = new Headers([
      ...dropped.map((name): [string, string] => [name, "v"]),
      ["content-type", "application/json"],
      ["openai-beta", "b"],
    ]);
    expect(forwardedHeaders(headers)).toEqual({ "content-type": "application/json", "openai-beta": "b" });
  });

  const ANTHROPIC = { "anthropic-version": "2023-06-01" };
  it.each([
    ["openai", "bearer", { authorization: "Bearer k" }],
    ["openai", "api-key", { "api-key": "k" }],
    ["openai", "none", {}],
    ["anthropic", "x-api-key", { ...ANTHROPIC, "x-api-key": "k" }],
    ["anthropic", "bearer", { ...ANTHROPIC, authorization: "Bearer k" }],
  ])("carry the credential as a model of the API %s with the scheme %s says", (api_dialect, auth_scheme, expected) => {
    const client = new Headers({ authorization: "Bearer own", "x-api-key": "own", "api-key": "own" });
    const access = { api_dialect, auth_scheme };
    expect(upstreamHeaders(client, access, "k")).toEqual(expected);
    expect(Object.values(upstreamHeaders(client, access, ""))).not.toContain("k");
  });

  it("choose a version of Anthropic's API at its own models only", () => {
    const client = new Headers({ "anthropic-version": "2099-01-01", "anthropic-beta": "b" });
    const sent = (api_dialect: string) => upstreamHeaders(client, { api_dialect, auth_scheme: "bearer" }, null);
    expect({ openai: sent("openai"), anthropic: sent("anthropic") }).toEqual({
      openai: {},
      anthropic: { "anthropic-version": "2099-01-01", "anthropic-beta": "b" },
    });
  });

  it.each([
    ["llm-d", ["x-prefiller-host-port", "x-encoder-hosts-ports", "x-data-parallel-host-port", "x-session-token"]],
    ["llm-d's latencies", ["x-slo-ttft-ms", "x-slo-tpot-ms", "x-prediction-based-scheduling"]],
    ["inference gateways", ["x-gateway-destination-endpoint", "x-llm-d-model-name-rewrite", "x-ai-eg-model"]],
    ["vLLM and SGLang", ["x-request-id", "x-data-parallel-rank", "x-smg-target-worker", "x-sgl-routing-key"]],
    ["Dynamo", ["x-worker-instance-id", "x-prefill-instance-id", "x-dp-rank", "x-dynamo-routing-mode"]],
    ["AIBrix and KubeAI", ["routing-strategy", "external-filter", "x-label-selector"]],
    ["Amazon", ["x-amzn-sagemaker-target-model", "x-amzn-sagemaker-inference-component", "x-amz-target"]],
    ["Azure and Google", ["azureml-model-deployment", "x-vertex-ai-llm-request-type"]],
    ["LiteLLM", ["x-litellm-api-key", "x-litellm-tags", "x-pass-authorization"]],
    ["other gateways", ["x-portkey-custom-host", "helicone-target-url", "x-openrouter-cache", "x-bt-endpoint-name"]],
    ["accounts", ["openai-project", "x-dashscope-workspace", "x-model-authorization", "anthropic-workspace-id"]],
    ["accounts of others", ["x-hf-bill-to", "ai-resource-group", "chatgpt-account-id", "x-snowflake-role"]],
    [
      "who pays",
      ["x-friendli-team", "compartmentid", "opc-compartment-id", "opc-conversation-store-id", "x-billing-id"],
    ],
    [
      "addresses and places",
      ["x-any-url", "x-base-uri", "x-api-base", "x-any-host", "x-cloud-id", "x-cluster", "org-id"],
    ],
    ["data of others", ["x-any-namespace", "x-any-database", "x-snowflake-warehouse", "x-conversationstore-id"]],
    ["answers kept by a key of the client", ["idempotency-key", "x-idempotency-key"]],
    ["turns before others", ["x-baseten-priority", "x-fal-queue-priority"]],
    ["models", ["model", "x-ms-oai-image-generation-deployment", "x-selected-model", "x-higress-llm-model"]],
    ["functions and pods", ["function-id", "nvcf-poll-seconds", "target-pod", "x-policy-id", "x-msh-context-cache"]],
    ["Bifrost, TrueFoundry and vLLM's router", ["x-bf-vk", "x-bf-api-key", "x-tfy-metadata", "x-vsr-skip-processing"]],
    ["keys", ["x-any-api-key", "any-token", "x-any-authorization", "x-any-secret", "x-virtual-key", "x-any-auth"]],
    ["words", ["x-any-model-name", "x-tenant", "x-organisation-id", "x-user-id", "any-deployment-id", "x-models"]],
    ["words alone", ["user", "tenant", "project", "region", "provider", "backend", "role", "model-id", "model-name"]],
    ["front ends", ["x-amzn-oidc-data", "x-consumer-id", "x-userinfo", "x-jwt-assertion", "x-goog-iap-jwt-assertion"]],
    ["certificates", ["x-client-cert", "client-cert-chain", "x-ssl-client-s-dn", "modal-key", "modal-secret"]],
    ["callers", ["client-ip", "x-client-ip", "x-cluster-client-ip", "fastly-client-ip", "x-original-host", "via"]],
    ["users", ["remote-user", "x-remote-user", "x-auth-request-email", "x-ms-client-principal-id", "x-webauth-user"]],
  ])("that steer an upstream do not reach it: %s", (_, steering) => {
    const client = new Headers([...steering, "x-kept"].map((name) => [name, "v"]));
    expect(Object.keys(forwardedHeaders(client))).toEqual(["x-kept"]);
  });

  it("that only look like those reach it", () => {
    const honest =
      "x-dynamo-session-id x-amzn-trace-id x-ghost-writer x-database64 x-stainless-lang x-stainless-helper-method anthropic-version anthropic-dangerous-direct-browser-access traceparent tracestate baggage user-agent x-user-agent accept-language http-referer x-ms-client-request-id x-correlation-id x-modeling x-client-name priority x-session-id openai-beta anthropic-beta x-title x-dashscope-sse".split(
        " ",
      );
    const client = new Headers(honest.map((name) => [name, "v"]));
    expect(Object.keys(forwardedHeaders(client)).toSorted()).toEqual(honest.toSorted());
  });

  it("that the client's connection names end at the gateway", () => {
    const headers = new Headers({
      connection: "close, X-Hop,, not a name , content-length",
      "x-hop": "1",
      "x-end": "2",
    });
    expect(forwardedHeaders(headers)).toEqual({ "x-end": "2" });
  });

  it("of a body that was read as JSON say so, whatever the client called it", () => {
    for (const kept of [
      "application/json",
      "application/json; charset=utf-8",
      "Application/vnd.api+JSON ; charset=UTF-8",
    ])
      expect(asJson({ "content-type": kept })).toEqual({ "content-type": kept });
    for (const other of [
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=b",
      "text/plain;charset=UTF-8",
      "application/json; charset=utf-7",
      "application/json, multipart/form-data; boundary=b",
    ])
      expect(asJson({ "content-type": other })).toEqual({ "content-type": "application/json" });
    expect(asJson({ "content-encoding": "deflate" })).toEqual({ "content-type": "application/json" });
  });

  it("describe a form to the upstream as it was read", () => {
    const form = { "content-type": "multipart/form-data; boundary=b" };
    expect(asPlain({ ...form, "content-encoding": "deflate" })).toEqual(form);
  });

  it("may have a name that every object has, come together when they come twice, and have no _", () => {
    const headers = new Headers([
      ["constructor", "1"],
      ["__proto__", "2"],
      ["X_Forwarded_For", "2"],
      ["x-a", "3"],
      ["x-a", "4"],
    ]);
    expect(Object.entries(forwardedHeaders(headers))).toEqual([
      ["constructor", "1"],
      ["x-a", "3, 4"],
    ]);
  });

  it("come back as content-type, and what they say of limits and the request", () => {
    const said = {
      "retry-after": "3",
      "retry-after-ms": "2900",
      "x-should-retry": "true",
      "request-id": "req_1",
      "openai-processing-ms": "12",
      metadata: "[{}]",
      "anthropic-ratelimit-tokens-remaining": "0",
    };
    const others = { "set-cookie": "a=b", server: "x", "x-request-id": "r", "anthropic-organization-id": "o" };
    const headers = new Headers({ "content-type": "text/event-stream", ...said, ...others });
    expect(clientHeaders(headers, "text/event-stream")).toEqual({ "content-type": "text/event-stream", ...said });
    expect(clientHeaders(headers, null)).toEqual(said);
  });

  it.each([
    ["request-id", "x".repeat(256), true],
    ["request-id", "x".repeat(257), false],
    ["request-id", "a\u0080b", false],
    ["metadata", "x".repeat(8192), true],
    ["retry-after", "0", true],
    ["retry-after", "Wed, 21 Oct 2026 07:28:00 GMT", true],
    ["retry-after", "-5", false],
    ["retry-after", "1.5", true],
    ["retry-after", "soon", false],
    ["retry-after-ms", "2.5", true],
    ["retry-after-ms", "-1", false],
  ])("come back if they are short and readable: %s %j, %j", (name, value, passed) => {
    expect(clientHeaders(new Headers({ [name]: value }), null)).toEqual(passed ? { [name]: value } : {});
  });

  it("come back as at most 32, and no rate limit displaces another", () => {
    const many = Array.from({ length: 1500 }, (_, nth) => [`anthropic-ratelimit-${nth}`, "1"] as const);
    const names = Object.keys(clientHeaders(new Headers([...many, ["request-id", "r"], ["retry-after", "1"]]), null));
    expect({ count: names.length, named: names.filter((name) => !name.startsWith("anthropic")) }).toEqual({
      count: 26,
      named: ["request-id", "retry-after"],
    });
  });
});

describe("where a request goes", () => {
  it.each([
    ["http://h/v1", "/v1/chat/completions", "?a=1", "http://h/v1/chat/completions?a=1"],
    ["http://h/v1/", "/v1/chat/completions", "", "http://h/v1/chat/completions"],
    ["http://h", "/v1/models", "", "http://h/v1/models"],
    ["http://h/v1", "/other", "", "http://h/v1/other"],
    ["http://h/v1/chat/completions", "/v1/chat/completions", "", "http://h/v1/chat/completions/v1/chat/completions"],
  ])("%s + %s%s is %s", (base, path, search, expected) => {
    expect(upstreamUrl(base, path, search)).toBe(expected);
  });

  it.each([
    ["/v1/a", true],
    ["/v1/..a", true],
    ["/v1/../a", false],
    ["/v1/a\\b", true],
    ["/v1\\..\\a", false],
    ["/..", false],
    ["/%2E%2e/a", false],
    ["/a%2Fb", false],
    ["/a%5cb", false],
    ["/v1/..;/admin", false],
    ["/v1/..;a=b", false],
    ["/v1/..%3b/admin", false],
    ["/v1/..%253Ba=b", false],
    ["/v1/..a;/b", true],
    ["/v1/%252e%252E/a", false],
    ["/a%25252Fb", false],
    ["/a%2525b", true],
  ])("%s is safe: %s", (path, safe) => {
    expect(isSafePath(path)).toBe(safe);
  });
});

describe("the body that goes upstream", () => {
  const rewrite = (text: string, addUsage: boolean): string => {
    const given = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const edits = addUsage ? usagePlan((name) => given[name]).edits : new Map();
    return new TextDecoder().decode(concat(rewriteBody(...scanned(text), 'up"stream', edits)));
  };
  const scanned = (text: string): [BytePieces, TopLevel] => {
    const bytes = new TextEncoder().encode(text);
    const top = scanTopLevel(bytes);
    if (top === null) throw new Error("the test's body is an object");
    return [new BytePieces([bytes]), top];
  };

  it("differs in the model, and in the usage option when it is added", () => {
    expect(rewrite('{"model" : "a", "x":1.0}', false)).toBe('{"model" : "up\\"stream", "x":1.0}');
    expect(rewrite('{"model":"a"}', true)).toBe('{"model":"up\\"stream","stream_options":{"include_usage":true}}');
    expect(rewrite('{"stream_options":{"a":1,"include_usage":false},"model":"a"}', true)).toBe(
      '{"stream_options":{"a":1,"include_usage":true},"model":"up\\"stream"}',
    );
    expect(rewrite('{"model":"a","stream_options":null}', true)).toBe(
      '{"model":"up\\"stream","stream_options":{"include_usage":true}}',
    );
  });
});

describe("members that are changed", () => {
  it("are replaced, added or removed, and everything else stays", () => {
    const names = ["model", "a", "b", "c", "d", "e"];
    const changes = fc.dictionary(
      fc.constantFrom(...names.slice(1), "new"),
      fc.option(fc.jsonValue(), { nil: undefined }),
    );
    const orders = fc.shuffledSubarray(names, { minLength: 1 }).filter((order) => order.includes("model"));
    fc.assert(
      fc.property(
        orders,
        fc.array(fc.jsonValue(), { minLength: 6, maxLength: 6 }),
        changes,
        fc.nat(2),
        (order, values, changed, indent) => {
          const given = Object.fromEntries(order.map((name, at) => [name, name === "model" ? "m" : values[at]]));
          const bytes = new TextEncoder().encode(JSON.stringify(given, null, indent));
          const top = scanTopLevel(bytes);
          if (top === null) throw new Error("the test's body is an object");
          const edits = new Map(Object.entries(changed));
          const sent: unknown = JSON.parse(
            new TextDecoder().decode(concat(rewriteBody(new BytePieces([bytes]), top, "upstream", edits))),
          );
          const expected: unknown = JSON.parse(JSON.stringify({ ...given, ...changed, model: "upstream" }));
          expect(sent).toEqual(expected);
        },
      ),
    );
  });
});

describe("a session id", () => {
  const sourceOf = (
    root: object,
    rule: EstimateRule = "messages",
    tenantId = "00000000-0000-4000-8000-00000000000a",
    headers: Record<string, string> = {},
  ) => ({ headers: new Headers(headers), document: wholeDocument({ ...root }), rule, tenantId });

  it.each([
    [{ "x-gateway-session-id": " a ", "x-session-id": "b" }, { session_id: "c" }, "a"],
    [{ "x-session-id": "b" }, { session_id: "c" }, "b"],
    [{ "x-session-id": " " }, { session_id: "c", metadata: { session_id: "d" } }, "c"],
    [{}, { session_id: 5, metadata: { session_id: "d" }, user: "e" }, "d"],
    [{}, { metadata: "odd", user: "e" }, "e"],
    [{ "x-session-id": "x".repeat(300) }, {}, "x".repeat(200)],
    [{}, { user: `${"x".repeat(199)}🙂` }, "x".repeat(199)],
    [{}, { session_id: "\ud800", metadata: { session_id: "a\udc00b" }, user: "e" }, "e"],
    [{}, { metadata: [{ session_id: "d" }], user: "e" }, "e"],
  ])("is what the client states first: %j, %j", (headers, root, id) => {
    expect(sessionIdOf(sourceOf(root, "any", undefined, headers as Record<string, string>), true)).toEqual({
      id,
      source: "client",
    });
  });

  it("is derived from every conversation, and from nothing else", () => {
    const idOf = (root: object, rule: EstimateRule) => sessionIdOf(sourceOf(root, rule), true);
    const user = { role: "user", content: "u" };
    const chat = idOf({ messages: [{ role: "system", content: "s" }, user] }, "messages");
    expect(chat.source).toBe("derived");
    expect(idOf({ system: "s", messages: [user] }, "any")).toEqual(chat);
    expect(idOf({ system: [{ type: "text", text: "s" }], messages: [user] }, "any")).toEqual(chat);
    expect(idOf({ instructions: "s", input: "u" }, "responses")).toEqual(chat);
    expect(idOf({ instructions: "s", input: [user, { role: "assistant", content: "a" }] }, "responses")).toEqual(chat);
    for (const rule of ["input", "prompt", "speech", "nothing", "any"] as const)
      expect(idOf({ input: "u", prompt: "u" }, rule)).toEqual({ id: "", source: "none" });
  });

  it("is FNV-1a 64 over the tenant's bytes and the seed", () => {
    expect(fnv1a64([])).toBe("cbf29ce484222325");
    expect(fnv1a64([new TextEncoder().encode("a")])).toBe("af63dc4c8601ec8c");
    expect(fnv1a64([new TextEncoder().encode("foo"), new TextEncoder().encode("bar")])).toBe("85944171f73967e8");
  });

  it("is derived from leading system texts and the first user text only", () => {
    const tenant = "00000000-0000-4000-8000-00000000000a";
    const idOf = (messages: unknown, other = tenant) => sessionIdOf(sourceOf({ messages }, "messages", other), true);
    const start = [
      { role: "system", content: "s" },
      { role: "user", content: [{ type: "text", text: "u" }] },
    ];
    expect(idOf(start)).toEqual(idOf([...start, { role: "assistant", content: "a" }, { role: "user", content: "v" }]));
    expect(idOf(start)).not.toEqual(idOf(start, tenant.replace("a", "b")));
    expect(idOf([])).toEqual({ id: "", source: "none" });
    expect(sessionIdOf(sourceOf({ messages: start }), false)).toEqual({ id: "", source: "none" });
  });
});
