/**
 * Who is refused and how (docs/rules/errors.md#data-plane-codes, docs/rules/authentication.md#credentials,
 * docs/rules/errors.md#refusal-order, docs/rules/settlement-and-rows.md#refusals).
 */
import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";

const fixture = useGateway();

async function post(path: string, body: string, headers: Record<string, string>): Promise<Response> {
  return await fetch(`${fixture.gateway.proxyUrl}${path}`, { method: "POST", body, headers });
}

/** Sends a request whose path is sent as it is written, and whose body never comes. */
async function raw(
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; body: unknown }> {
  return await new Promise((resolve, reject) => {
    const outgoing = request(fixture.gateway.proxyUrl, { method, path, headers }, (incoming) => {
      let text = "";
      incoming.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      incoming.on("end", () => {
        outgoing.destroy();
        resolve({ status: incoming.statusCode ?? 0, body: JSON.parse(text) });
      });
    });
    outgoing.on("error", reject);
    if (method === "GET") outgoing.end();
    else outgoing.flushHeaders();
  });
}

async function expectError(
  response: Response,
  status: number,
  code: string,
  message: string,
  param: string | null = null,
): Promise<void> {
  expect({ status: response.status, body: await response.json() }).toEqual({
    status,
    body: { error: { message, type: expect.any(String), code, param } },
  });
  expect(response.headers.get("content-type")).toContain("application/json");
  expect(response.headers.get("x-gateway-request-id")).toMatch(/^[0-9a-f-]{36}$/);
}

const chatPath = "/v1/chat/completions";
const bearer = (minted: Minted): Record<string, string> => ({ authorization: `Bearer ${minted.secret}` });

describe("a credential", () => {
  it.each([
    [{}, "missing_api_key", "missing bearer token"],
    [{ authorization: "Bearer nonsense" }, "invalid_api_key", "invalid api key"],
    [{ authorization: "Basic abc" }, "invalid_api_key", "invalid api key"],
    [{ authorization: `Bearer sk_${"0".repeat(48)}` }, "invalid_api_key", "invalid api key"],
    [{ "x-api-key": "" }, "invalid_api_key", "invalid api key"],
  ])("of %j is 401 on every path", async (headers, code, message) => {
    for (const path of [chatPath, "/v1/nowhere"]) {
      const response = await post(path, "{}", headers as Record<string, string>);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      await expectError(response, 401, code, message);
    }
  });

  it("that is refused gets its answer on every path while the client still sends a large body", async () => {
    for (const path of [chatPath, "/v1/audio/transcriptions", "/v1/nowhere"]) {
      const response = await post(path, "x".repeat(8_000_000), { authorization: `Bearer sk_${"0".repeat(48)}` });
      await expectError(response, 401, "invalid_api_key", "invalid api key");
    }
  });

  it.each([
    ["/health", "ok"],
    ["/livez", "ok"],
    ["/ready", "ready"],
    ["/readyz", "ready"],
  ])("is not needed for %s", async (path, text) => {
    const response = await fetch(`${fixture.gateway.proxyUrl}${path}`);
    expect(response.headers.get("x-gateway-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(response.headers.get("x-request-id")).toBe(response.headers.get("x-gateway-request-id"));
    expect({ status: response.status, body: await response.text() }).toEqual({ status: 200, body: text });
  });
});

describe("a body", () => {
  it("is refused when it is no JSON object or names no known model, and the refusal has its row", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    for (const body of ["{", "[]", '"text"', "", '{"model":"m"} trailing']) {
      const response = await post(chatPath, body, bearer(minted));
      expect(response.headers.get("x-should-retry")).toBe("false");
      await expectError(response, 400, "invalid_json", "request body is not valid JSON");
    }
    for (const body of [{}, { model: "" }, { model: "  " }, { model: 5 }, { model: null }]) {
      await expectError(
        await post(chatPath, JSON.stringify(body), bearer(minted)),
        400,
        "model_required",
        "model is required",
        "model",
      );
    }
    const unknown = await post(chatPath, JSON.stringify({ model: "no-such-model" }), bearer(minted));
    const requestId = unknown.headers.get("x-gateway-request-id");
    await expectError(unknown, 404, "model_not_found", "model 'no-such-model' is not registered", "model");
    expect(await fixture.gateway.row(minted.tenant.id, requestId)).toMatchObject({
      admission: "rejected",
      status_code: 404,
      model: "",
      total_tokens: 0,
      cost_usd: 0,
      ttft_ms: 0,
      upstream_status: 0,
    });
    expect(fixture.upstream.seen(minted.mark)).toEqual([]);
  });

  it("above the cap is 413, declared or not", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const declared = await raw("POST", chatPath, { ...bearer(minted), "content-length": "33554433" });
    expect({ status: declared.status, body: declared.body }).toMatchObject({
      status: 413,
      body: { error: { code: "request_too_large", message: "request body too large" } },
    });
    const undeclared = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < 34; at += 1) controller.enqueue(new Uint8Array(1_048_576));
        controller.close();
      },
    });
    const response = await fetch(`${fixture.gateway.proxyUrl}${chatPath}`, {
      method: "POST",
      body: undeclared,
      headers: bearer(minted),
      duplex: "half",
    } as RequestInit);
    await expectError(response, 413, "request_too_large", "request body too large");
  });
});

describe("a path", () => {
  it("that is unknown is 404 without a row; an unsafe one is 400", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    for (const path of ["/v1/nowhere", "/", "/v1/models/x"]) {
      await expectError(await post(path, "{}", bearer(minted)), 404, "unknown_endpoint", "unknown endpoint");
    }
    const get = await fetch(`${fixture.gateway.proxyUrl}${chatPath}`, { headers: bearer(minted) });
    await expectError(get, 404, "unknown_endpoint", "unknown endpoint");
    for (const path of ["/v1/%2E%2e/x", "/v1/chat%2fcompletions", "/v1/a%5Cb", "/v1/../v1/models"]) {
      const refused = await raw("GET", path, bearer(minted));
      expect({ path, status: refused.status, body: refused.body }).toMatchObject({
        path,
        status: 400,
        body: { error: { code: "invalid_path", message: "invalid request path" } },
      });
    }
    const last = await post(chatPath, "{", bearer(minted));
    await fixture.gateway.row(minted.tenant.id, last.headers.get("x-gateway-request-id"));
    const rows = await fixture.gateway.rows(minted.tenant.id);
    expect(rows.map((row) => row.status_code)).toEqual([400, 400, 400, 400, 400]);
  });
});

describe("the listing of models", () => {
  it("shows the models that the caller may use, with what is known of them, and writes no row", async () => {
    const known = { context_window: 4096, supports_vision: true, input_cost_per_token: 0.25 };
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", known);
    const disabled = await fixture.gateway.mint(fixture.upstream.url, "plain", { enabled: false });
    const response = await fetch(`${fixture.gateway.proxyUrl}/v1/models`, { headers: bearer(minted) });
    const { object, data } = (await response.json()) as { object: string; data: { id: string }[] };
    expect(object).toBe("list");
    expect(data.find((entry) => entry.id === minted.model.model_name)).toEqual({
      id: minted.model.model_name,
      object: "model",
      created: Math.floor(Date.parse(minted.model.created_at) / 1000),
      owned_by: "gateway",
      model_type: "chat",
      enabled: true,
      context_window: 4096,
      input_modalities: ["text", "image"],
      output_modalities: ["text"],
      capabilities: ["system_messages", "vision"],
      prices_usd: { input: 0.25, output: 0.01 },
    });
    expect(data.map((entry) => entry.id)).toEqual(data.map((entry) => entry.id).sort());
    expect(data.some((entry) => entry.id === disabled.model.model_name)).toBe(false);
    const refused = await fixture.gateway.chat({ ...minted, model: disabled.model });
    await expectError(refused, 403, "model_disabled", "model is disabled", "model");
    await fixture.gateway.row(minted.tenant.id, refused.headers.get("x-gateway-request-id"));
    expect(await fixture.gateway.rows(minted.tenant.id)).toHaveLength(1);
  });

  it("is narrowed by the lists of tenant and key", async () => {
    const [minted, other] = await Promise.all([
      fixture.gateway.mint(fixture.upstream.url),
      fixture.gateway.mint(fixture.upstream.url),
    ]);
    const names = [minted.model.model_name, other.model.model_name];
    const listed = async (): Promise<readonly string[]> => {
      const response = await fetch(`${fixture.gateway.proxyUrl}/v1/models`, { headers: bearer(minted) });
      const { data } = (await response.json()) as { data: { id: string }[] };
      return names.filter((name) => data.some(({ id }) => id === name));
    };
    expect(await listed()).toEqual(names);
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}`, { allowed_models: [names[1]] });
    expect(await listed()).toEqual([names[1]]);
    await fixture.gateway.must("PATCH", `/keys/${minted.key.id}`, { allowed_models: [names[0]] });
    expect(await listed()).toEqual([]);
  });
});
