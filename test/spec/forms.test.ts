/**
 * Forms: audio and images that clients upload (docs/rules/request-bodies.md#forms,
 * docs/rules/upstream-calls.md#attempts, docs/rules/settlement-and-rows.md#cost).
 */
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { mintAt, sha256, useRouteUpstream } from "../harness/upstream-routes.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const upstream = useRouteUpstream();

async function mint(): Promise<Minted> {
  return await mintAt(fixture.gateway, upstream, { cost_per_image: 0.04 });
}

async function post(minted: Minted, path: string, init: RequestInit): Promise<Response> {
  return await fetch(`${fixture.gateway.proxyUrl}${path}`, {
    method: "POST",
    ...init,
    headers: { authorization: `Bearer ${minted.secret}`, ...(init.headers as Record<string, string> | undefined) },
  });
}

type Part = readonly [string, string | Uint8Array<ArrayBuffer>];

/** A form with its parts in this order; bytes become files. */
function formOf(parts: readonly Part[]): FormData {
  const form = new FormData();
  for (const [name, value] of parts) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, new File([value], "speech; of.wav", { type: "audio/wav" }));
  }
  return form;
}

const transcriptions = "/v1/audio/transcriptions";

describe("a form", () => {
  mainRows(2)([
    ["the model first, large", ["model", "file", "user"], 5_000_000],
    ["the file first, small", ["file", "user", "model"], 1000],
    ["the model first, small", ["model", "file", "user"], 1000],
    ["the file first, large", ["file", "user", "model"], 5_000_000],
  ])("with %s, arrives whole with another model", async (_, order, size) => {
    const minted = await mint();
    const file = new Uint8Array(randomBytes(size));
    const values: Record<string, string | Uint8Array<ArrayBuffer>> = {
      model: minted.model.model_name,
      file,
      user: "ünïcode",
    };
    const response = await post(minted, `${transcriptions}?a=b`, {
      body: formOf(order.map((name) => [name, values[name] ?? ""])),
    });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 200,
      body: { text: "hello world" },
    });
    const [call] = upstream.seen(minted.mark);
    expect({ path: call?.path, fields: call?.fields }).toEqual({
      path: `${transcriptions}?a=b`,
      fields: { model: "upstream-name", user: "ünïcode" },
    });
    expect(call?.files["file"]).toEqual({ name: "speech; of.wav", type: "audio/wav", size, sha256: sha256(file) });
    expect(call?.headers["content-length"]).toBe(String(call?.size));
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      request_type: "audio",
      estimated_tokens: 1,
      input_tokens: 11,
      output_tokens: 22,
      cost_usd: 0.231,
      status_code: 200,
    });
  });

  it("of undeclared length streams through as well", async () => {
    const minted = await mint();
    const file = new Uint8Array(randomBytes(3_000_000));
    const encoded = new Request("http://x", {
      method: "POST",
      body: formOf([
        ["model", minted.model.model_name],
        ["file", file],
      ]),
    });
    const response = await post(minted, transcriptions, {
      body: encoded.body,
      headers: { "content-type": encoded.headers.get("content-type") ?? "" },
      duplex: "half",
    } as RequestInit);
    await response.text();
    expect(upstream.seen(minted.mark)[0]?.files["file"]?.sha256).toBe(sha256(file));
  });

  mainRows(1)([
    ["/v1/images/edits", [["n", "3"]], [], 0.12],
    ["/v1/images/variations", [], [["n", "2"]], 0.08],
    ["/v1/images/edits", [], [], 0.04],
  ] as const)("of %s is billed by its images, wherever it says how many: %j, %j", async (path, before, after, cost) => {
    const minted = await mint();
    const file = new Uint8Array(randomBytes(600_000));
    const parts: Part[] = [["model", minted.model.model_name], ...before, ["image", file], ...after];
    const response = await post(minted, path, { body: formOf(parts) });
    expect(response.status).toBe(200);
    await response.text();
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      request_type: "image",
      cost_usd: cost,
      total_tokens: 0,
    });
  });

  it("may be JSON where the route takes both", async () => {
    const minted = await mint();
    const body = { model: minted.model.model_name, images: [{ image_url: "data:image/png;base64,AA==" }], n: 2 };
    const response = await post(minted, "/v1/images/edits", {
      body: JSON.stringify(body),
      headers: { "content-type": "application/json; charset=utf-8" },
    });
    expect(response.status).toBe(200);
    await response.text();
    expect(upstream.seen(minted.mark)[0]?.json).toEqual({ ...body, model: "upstream-name" });
  });
});

describe("a form is refused", () => {
  const boundary = { "content-type": "multipart/form-data; boundary=b" };
  const field = (name: string, value: string): string =>
    `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

  mainRows(1)([
    ["with two models", boundary, (m: string) => `${field("model", m)}${field("model", m)}--b--`, "invalid_multipart"],
    ["without a boundary", { "content-type": "multipart/form-data" }, () => "x", "invalid_multipart"],
    ["as no form at all", { "content-type": "text/plain" }, () => "x", "invalid_multipart"],
    ["empty", boundary, () => "", "invalid_multipart"],
    ["that breaks off", boundary, (model: string) => field("model", model), "invalid_multipart"],
    ["without model", boundary, () => `${field("file", "x")}--b--`, "model_required"],
    ["with a blank model", boundary, () => `${field("model", " ")}--b--`, "model_required"],
  ])("%s", async (_, headers, body, code) => {
    const minted = await mint();
    const response = await post(minted, transcriptions, { body: body(minted.model.model_name), headers });
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code } },
    });
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      admission: "rejected",
      status_code: 400,
      request_type: "audio",
      cost_usd: 0,
    });
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  it("for a model that is not registered, though its file is still being sent", async () => {
    const minted = await mint();
    const file = new Uint8Array(randomBytes(5_000_000));
    for (const order of [
      [
        ["model", "absent"],
        ["file", file],
      ],
      [
        ["file", file],
        ["model", "absent"],
      ],
    ] as const) {
      const response = await post(minted, transcriptions, { body: formOf(order) });
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 404,
        body: { error: { code: "model_not_found" } },
      });
    }
  });

  it("with a second model after a large file, which the upstream has by then", async () => {
    const minted = await mint();
    const parts: Part[] = [
      ["model", minted.model.model_name],
      ["file", new Uint8Array(randomBytes(2_000_000))],
      ["model", "another"],
    ];
    const response = await post(minted, transcriptions, { body: formOf(parts) });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_multipart" } },
    });
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  it("for more images than its budget has left, but for one request that reached it", { tags: ["check"] }, async () => {
    const minted = await mint();
    const path = `/tenants/${minted.tenant.id}/budget`;
    await fixture.gateway.must("PATCH", path, { budget_tokens: null, budget_cost_usd: 10, budget_period: "lifetime" });
    const edit = async (n: string) => {
      const image = new Uint8Array(randomBytes(600 * 1024));
      const parts = formOf([
        ["model", minted.model.model_name],
        ["image", image],
        ["n", n],
      ]);
      const response = await post(minted, "/v1/images/edits", { body: parts });
      await response.text();
      return response.status;
    };
    // use can exceed a limit by one request (docs/rules/budgets.md#term-budgets)
    const statuses = (await Promise.all(Array.from({ length: 6 }, async () => await edit("1000")))).toSorted(
      (a, b) => a - b,
    );
    expect({ statuses, served: upstream.seen(minted.mark).length }).toEqual({
      statuses: [200, 403, 403, 403, 403, 403],
      served: 1,
    });
  });

  it("above the body cap, declared or not, and the client reads why", { tags: ["check"] }, async () => {
    const minted = await mint();
    const encoded = new Request("http://x", {
      method: "POST",
      body: formOf([
        ["model", minted.model.model_name],
        ["file", new Uint8Array(34 * 1024 * 1024)],
      ]),
    });
    const response = await post(minted, transcriptions, {
      body: encoded.body,
      headers: { "content-type": encoded.headers.get("content-type") ?? "" },
      duplex: "half",
    } as RequestInit);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 413,
      body: { error: { code: "request_too_large" } },
    });
    expect(upstream.seen(minted.mark)).toEqual([]);
  });

  it("by no upstream when the client leaves while it uploads: the slot comes back", { tags: ["check"] }, async () => {
    const minted = await mint();
    const client = new AbortController();
    const parts = formOf([
      ["model", minted.model.model_name],
      ["file", new Uint8Array(randomBytes(1_000_000))],
    ]);
    const encoded = new Request("http://x", { method: "POST", body: parts });
    const whole = new Uint8Array(await encoded.clone().arrayBuffer());
    const halting = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(whole.subarray(0, 700_000)),
    });
    const answered = post(minted, transcriptions, {
      body: halting,
      headers: { "content-type": encoded.headers.get("content-type") ?? "" },
      duplex: "half",
      signal: client.signal,
    } as RequestInit);
    await waitFor(
      async () => await fixture.gateway.loadOf(minted.model.model_name),
      ({ inFlight }) => inFlight === 1,
    );
    client.abort();
    await expect(answered).rejects.toThrow();
    await waitFor(
      async () => await fixture.gateway.loadOf(minted.model.model_name),
      ({ inFlight }) => inFlight === 0,
    );
    const rows = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (found) => found.length === 1,
    );
    // the tokens that a recording of a minute is reserved with
    expect(rows[0]).toMatchObject({ status_code: 499, cost_usd: 11 });
  });
});
