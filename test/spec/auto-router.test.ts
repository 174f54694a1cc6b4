/** `auto` on the real stack (docs/rules/auto-router.md): a choice of the gateway, and why it was made. */
import { describe, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { UsageLogDetail } from "../../shared/schema/usage-reads.ts";
import { startChatScript } from "../harness/chat-script.ts";
import { useGateway } from "../harness/fixture.ts";
import { startGatedUpstream } from "../harness/gated-upstream.ts";
import type { Minted } from "../harness/gateway.ts";
import { AUTO_ROUTER_SETTINGS } from "../harness/global-setup.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

/**
 * A tenant with a cheap model `minted.model` and a dear one, and no other model. The list of models may be a second old, but
 * a request without candidates reads it again: it has both models from then on.
 */
async function scene(cheap: object = {}, dear: object = {}): Promise<{ minted: Minted; dear: Model }> {
  const { gateway, upstream } = fixture;
  const minted = await gateway.mint(upstream.url, "plain", { ...cheap });
  const other = await gateway.must<Model>("POST", "/models", {
    model_name: `dear-${minted.mark}`,
    upstream_model: "plain",
    api_base: upstream.url,
    input_cost_per_token: 0.1,
    output_cost_per_token: 0.1,
    ...dear,
  });
  await allow(minted, []);
  expect((await ask(minted)).code).toBe("no_model_available");
  await allow(minted, [minted.model, other]);
  return { minted, dear: other };
}

async function allow({ tenant }: Minted, models: readonly Model[]): Promise<void> {
  const allowed_models = ["no such model", ...models.map(({ model_name }) => model_name)];
  await fixture.gateway.must("PATCH", `/tenants/${tenant.id}/allowlist`, { allowed_models });
}

async function ask(minted: Minted, body: object = {}, signal?: AbortSignal) {
  const response = await fixture.gateway.chat(minted, { body: { model: "auto", ...body }, ...(signal && { signal }) });
  const json = (await response.json()) as { error?: { code: string } };
  return {
    status: response.status,
    code: json.error?.code,
    model: response.headers.get("x-gateway-model"),
    id: response.headers.get("x-gateway-request-id") ?? "",
  };
}

async function explained(id: string): Promise<UsageLogDetail> {
  const logs = await waitFor(
    async () => {
      const response = await fixture.gateway.admin("GET", `/usage/logs/${id}`);
      return response.status === 200 ? [(await response.json()) as UsageLogDetail] : [];
    },
    ([log]) => log !== undefined && log.auto_route !== null,
  );
  return logs[0] as UsageLogDetail;
}

describe("auto", () => {
  it("is the cheaper of two models in header, row and upstream, explained even without a trace", async () => {
    const { minted, dear } = await scene();
    const { status, model, id } = await ask(minted);
    expect({ status, model }).toEqual({ status: 200, model: minted.model.model_name });
    const log = await explained(id);
    expect(log).toMatchObject({ model: minted.model.model_name, has_trace: false, spans: [], request_type: "chat" });
    expect(log.auto_route).toMatchObject({
      chosen: minted.model.model_name,
      source: "none",
      tags: [],
      candidates: [
        { model: minted.model.model_name, score: 1 },
        { model: dear.model_name, score: 0.6 },
      ],
    });
  });

  it("follows tags, and what tools, images, JSON and room ask of a model", async () => {
    const cannot = { tags: ["coding"], context_window: 600, supports_function_calling: false, supports_vision: false };
    const can = { supports_function_calling: true, supports_tool_choice: true, supports_vision: true, tags: ["math"] };
    const { minted, dear } = await scene(
      { ...cannot, supports_tool_choice: false, supports_response_schema: false },
      { ...can, supports_response_schema: true, context_window: 0 },
    );
    const user = (content: unknown) => ({ messages: [{ role: "user", content }] });
    const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };
    const image = [{ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }];
    expect((await ask(minted, user(`plain ${minted.mark}`))).model).toBe(minted.model.model_name);
    for (const body of [
      user("solve this equation"),
      { tools: [tool] },
      { tool_choice: "required" },
      { response_format: { type: "json_object" } },
      { max_tokens: 700 },
      user(image),
    ]) {
      const { status, model } = await ask(minted, body);
      expect({ body: JSON.stringify(body).slice(0, 40), status, model }).toEqual({
        body: JSON.stringify(body).slice(0, 40),
        status: 200,
        model: dear.model_name,
      });
    }
  });

  it("avoids at once a disabled model, one in maintenance or not allowed; without one it is 503", async () => {
    const { gateway } = fixture;
    const { minted, dear } = await scene();
    expect((await ask(minted)).model).toBe(minted.model.model_name);
    await gateway.must("PUT", `/models/${minted.model.id}`, { ...addressOf(minted.model), enabled: false });
    expect((await ask(minted)).model).toBe(dear.model_name);
    await gateway.must("PUT", `/models/${minted.model.id}`, { ...addressOf(minted.model), enabled: true });
    const health = { maintenance_until: new Date(Date.now() + 3_600_000).toISOString() };
    await gateway.must("PUT", `/models/${minted.model.id}/health/config`, health);
    expect((await ask(minted)).model).toBe(dear.model_name);
    await allow(minted, [minted.model]);
    const none = await ask(minted);
    expect({ status: none.status, code: none.code, model: none.model }).toEqual({
      status: 503,
      code: "no_model_available",
      model: null,
    });
    const log = await explained(none.id);
    expect({ model: log.model, status_code: log.status_code, chosen: log.auto_route?.chosen }).toEqual({
      model: "",
      status_code: 503,
      chosen: null,
    });
    await allow(minted, [dear]);
    expect((await ask(minted)).model).toBe(dear.model_name);
  });

  it("follows the classifier, which is asked once for a text, and heuristics without it", {
    tags: ["check"],
  }, async () => {
    const { gateway } = fixture;
    const script = await startChatScript();
    try {
      const name = AUTO_ROUTER_SETTINGS.classifier_model;
      script.say(name, 'Certainly: ["Poetry"]');
      const fields = { model_name: name, upstream_model: name, api_base: script.url };
      const classifier = await gateway.must<Model>("POST", "/models", fields);
      const { minted, dear } = await scene({ tags: ["math"] }, { tags: ["poetry"] });
      const riddle = (mark: string) => ({ messages: [{ role: "user", content: `solve this riddle ${mark}` }] });
      // Each Worker process remembers the answers that it got.
      const processes = Number(process.env["TEST_WORKERS"] ?? "1");
      const asked: Awaited<ReturnType<typeof ask>>[] = [];
      for (let at = 0; at <= processes; at += 1) asked.push(await ask(minted, riddle("1")));
      for (const answer of asked) expect(answer).toMatchObject({ status: 200, model: dear.model_name });
      const questions = script.seen(name);
      expect(questions.length).toBeLessThanOrEqual(processes);
      for (const question of questions)
        expect(question).toMatchObject({
          messages: [
            { role: "system", content: expect.stringContaining("Tags: math, poetry") as string },
            { role: "user", content: "solve this riddle 1" },
          ],
          max_tokens: 32,
          temperature: 0,
        });
      const log = await explained(asked[0]?.id ?? "");
      expect(log.auto_route).toMatchObject({
        chosen: dear.model_name,
        source: "classifier",
        tags: ["poetry"],
        candidates: [
          { model: dear.model_name, score: 0.8 },
          { model: minted.model.model_name, score: 0.5 },
        ],
      });
      expect(JSON.stringify(log.auto_route)).not.toContain("riddle");

      await gateway.must("DELETE", `/models/${classifier.id}`);
      const without = await ask(minted, riddle("2"));
      expect(without.model).toBe(minted.model.model_name);
      expect((await explained(without.id)).auto_route).toMatchObject({ source: "heuristic", tags: ["math"] });
      // the classifier's calls leave no rows
      const rows = await waitFor(
        async () => await gateway.rows(minted.tenant.id, "&status=success"),
        (found) => found.length > asked.length,
      );
      expect({ rowCount: rows.length, seenCount: script.seen(name).length }).toEqual({
        rowCount: asked.length + 1,
        seenCount: questions.length,
      });
    } finally {
      await script.close();
    }
  });

  it("avoids an unhealthy model until its upstream is another one", { tags: ["check"] }, async () => {
    const { gateway, upstream } = fixture;
    const { minted, dear } = await scene({
      api_base: upstream.at("refuses", "status=401"),
      health: { failure_threshold: 1 },
    });
    const path = `/models/${minted.model.id}`;
    await gateway.must("POST", `${path}/health/check`);
    const avoided = await ask(minted);
    expect(avoided.model).toBe(dear.model_name);
    const [excluded] = (await explained(avoided.id)).auto_route?.excluded ?? [];
    expect(excluded).toEqual({ model: minted.model.model_name, condition: "unhealthy" });
    await gateway.must("PUT", path, { ...addressOf(minted.model), api_base: upstream.url });
    // the list of models may be a second old
    await waitFor(
      async () => await ask(minted),
      ({ model }) => model === minted.model.model_name,
    );
  });

  it("avoids a full model", { tags: ["check"] }, async () => {
    const { gateway } = fixture;
    const gated = await startGatedUpstream();
    try {
      const { minted, dear } = await scene({ api_base: gated.url, max_in_flight: 1 });
      const held = gateway.chat(minted);
      await waitFor(
        async () => gated.seen(minted.mark).length,
        (seen) => seen === 1,
      );
      // 0.4 of the cheap one that is full against 0.6 of the dear one. The report of the load may be 100 ms old: a request
      // that was routed by an older one waits for the cheap model, and has to leave.
      const hello = { messages: [{ role: "user", content: "hello" }], stream: false };
      await waitFor(
        async () => await ask(minted, hello, AbortSignal.timeout(2_000)).catch(() => null),
        (answer) => answer?.model === dear.model_name,
      );
      gated.release();
      expect((await held).status).toBe(200);
    } finally {
      await gated.close();
    }
  });

  it("is no model on any other path", async () => {
    const { minted } = await scene();
    for (const path of ["/v1/completions", "/v1/embeddings", "/v1/responses"]) {
      const response = await fetch(`${fixture.gateway.proxyUrl}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "auto", input: "x", prompt: "x" }),
      });
      expect({ path, status: response.status, body: await response.json() }).toMatchObject({
        path,
        status: 404,
        body: { error: { code: "model_not_found" } },
      });
    }
  });

  it("never fails for a hostile body", { tags: ["check"] }, async () => {
    const { minted } = await scene();
    const bodies = [
      { messages: null },
      { messages: [null, 1, { role: "user" }, { role: "user", content: [null, { text: 7 }, { type: "image_url" }] }] },
      { messages: [{ role: "user", content: "\ud800 ``` =>" }], tools: {}, tool_choice: [], response_format: "json" },
      { messages: { length: 1e308 }, functions: "", function_call: 0 },
    ];
    for (const body of bodies) expect([200, 400, 503]).toContain((await ask(minted, body)).status);
  });
});

const addressOf = ({ upstream_model, api_base }: Model) => ({ upstream_model, api_base });
