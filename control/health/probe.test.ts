/**
 * What the health worker requests from an upstream, and its verdict on the answer (docs/rules/health.md#classification,
 * docs/rules/health.md#probes).
 *
 * @module-tag check
 */
import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { modelRecordSchema, storeKeys } from "../../shared/records.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { ModelHealthDetail } from "../../shared/schema/model-health.ts";
import { type HealthScene, startHealthScene } from "../../test/harness/health-scene.ts";
import { jsonAnswer } from "../../test/harness/http-sink.ts";
import { models } from "../db/schema/models.ts";

let scene: HealthScene;

beforeAll(async () => {
  scene = await startHealthScene();
});
afterEach(async () => {
  await scene.clear();
});
afterAll(async () => {
  await scene.close();
});

async function detail(model: Model): Promise<ModelHealthDetail> {
  return await scene.send("GET", `/models/${model.id}/health`);
}

/** The model as the cells have it. */
async function hotCopy(model: Model) {
  const [text] = await scene.control.store.get([storeKeys.model(model.model_name)]);
  return modelRecordSchema.parse(JSON.parse(text ?? ""));
}

describe("a model", () => {
  it.each<[string, HealthScene["answers"], string, RegExp, number]>([
    [
      "rejects, and its catalog lists the model",
      { completions: { status: 404 }, models: { body: '{"data":[{"id":"m"}]}' } },
      "degraded",
      /check model_type/,
      1,
    ],
    [
      "rejects, and its catalog does not",
      { completions: { status: 400 }, models: { body: '{"data":[]}' } },
      "unhealthy",
      /does not list/,
      1,
    ],
    [
      "rejects, and its catalog has a wildcard",
      { completions: { status: 422 }, models: { body: '{"data":[{"id":"m"},{"id":"*"}]}' } },
      "unhealthy",
      /wildcard/,
      1,
    ],
    ["rejects everything", { completions: { status: 404 }, models: { status: 404 } }, "unhealthy", /cannot be read/, 1],
    ["is overloaded", { completions: { status: 503 } }, "degraded", /^http 503$/, 3],
    [
      "redirects",
      { completions: { status: 302, headers: { location: "/v1/elsewhere" } } },
      "degraded",
      /^http 302$/,
      1,
    ],
    ["lies", { completions: { body: "<h1>welcome\u0000</h1>" } }, "healthy", /^http 200$/, 1],
  ])("whose upstream %s is classified", async (_what, answers, status, message, calls) => {
    const model = await scene.model({ upstream_model: "m", health: { failure_threshold: 1 } });
    scene.answers = answers;
    await scene.tick();
    expect((await detail(model)).checks).toMatchObject([{ status, message: expect.stringMatching(message) }]);
    expect(await scene.summary(model)).toMatchObject({ status, alert_state: status === "unhealthy" ? "firing" : "ok" });
    expect(scene.upstream.asked.filter(({ url }) => url.endsWith("/completions"))).toHaveLength(calls);
    expect(await hotCopy(model)).toMatchObject({ health_status: status });
  });

  it.each([
    ["takes only the other limit", "", 200],
    ["needs more output than the limit", "Could not finish: max_tokens or model output limit was reached", 400],
  ])("that %s is healthy", async (_, otherwise, http_status) => {
    const model = await scene.model({ upstream_model: "m" });
    scene.upstream.answer = ({ body }) => {
      const message = body.includes("max_completion_tokens") ? otherwise : "Unsupported parameter: 'max_tokens'";
      return jsonAnswer({ error: { message } }, message === "" ? 200 : 400);
    };
    await scene.tick();
    expect((await detail(model)).checks).toMatchObject([{ status: "healthy", http_status }]);
    expect(scene.upstream.asked.map(({ body }) => Object.keys(JSON.parse(body)).at(-1))).toEqual([
      "max_tokens",
      "max_completion_tokens",
    ]);
  });

  it("whose upstream answers with very many parts is made, and they are not parsed", async () => {
    const model = await scene.model();
    scene.answers = { completions: { body: `{"usage":{},"x":${"[".repeat(400_000)}${"]".repeat(400_000)}}` } };
    const parsing = vi.spyOn(JSON, "parse");
    await scene.tick();
    const longest = Math.max(...parsing.mock.calls.map(([text]) => text.length));
    expect({ status: (await detail(model)).checks[0]?.status, isLong: longest > 100_000 }).toEqual({
      status: "healthy",
      isLong: false,
    });
  });

  it("shows the beginning of the answer, never the credential", async () => {
    const model = await scene.model({ api_key: "sk-very-secret" });
    scene.answers = { completions: { status: 401, body: `wrong key sk-very-secret ${"x".repeat(9000)}` } };
    await scene.tick();
    const [check] = (await detail(model)).checks;
    expect(check?.response_excerpt).toMatch(/^wrong key \[credential\] x+$/);
    expect(check?.response_excerpt).toHaveLength(500);
  });

  it.each([
    ["as it was sent, without the blanks around it", " sk-very-secret ", "sk-very-secret"],
    ["within JSON", 'sk/"very"secret', JSON.stringify({ key: 'sk/"very"secret' })],
    ["within JSON that escapes slashes", 'sk/"very"secret', '{"key":"sk\\/\\"very\\"secret"}'],
    ["within an address", "sk/very+secret", "?key=sk%2Fvery%2Bsecret"],
  ])("does not show the credential %s", async (_, api_key, body) => {
    const model = await scene.model({ api_key });
    scene.answers = { completions: { status: 401, body } };
    await scene.tick();
    const [check] = (await detail(model)).checks;
    expect(check?.response_excerpt).toContain("[credential]");
    expect(check?.response_excerpt).not.toContain("secret");
  });

  it("without an address or endpoints is probed at the default upstream", async () => {
    const model = await scene.model({ api_base: "" });
    await scene.tick();
    expect((await detail(model)).summary).toMatchObject({ status: "healthy" });
    expect(scene.upstream.asked).toMatchObject([{ url: "/v1/chat/completions" }]);
  });

  it.each([
    [{ api_key: "enc:v1:AAAA" }, "the stored credential cannot be read"],
    [{ api_base: "http://169.254.169.254/v1" }, "no answer: address blocked"],
  ])("with %j in its row is unhealthy, and no upstream is called", async (columns, message) => {
    const model = await scene.model();
    await scene.control.connection.db.update(models).set(columns).where(eq(models.id, model.id));
    await scene.tick();
    expect((await detail(model)).checks).toMatchObject([{ status: "unhealthy", message }]);
    expect(scene.upstream.asked).toEqual([]);
  });

  it("is probed in the way of its type", async () => {
    await scene.model({ model_type: "embedding" });
    await scene.model({ model_type: "audio_speech" });
    await scene.model({ model_type: "audio_transcription", upstream_model: "whisper" });
    await scene.tick();
    const asked = scene.upstream.asked.toSorted((a, b) => a.url.localeCompare(b.url));
    expect(asked.map(({ url }) => url)).toEqual(["/v1/audio/speech", "/v1/audio/transcriptions", "/v1/embeddings"]);
    expect(asked[1]?.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
    expect(asked[1]?.body).toMatch(/name="model"\r\n\r\nwhisper[\s\S]*filename="silence.wav"[\s\S]*RIFF/);
  });

  it("of Anthropic's API is asked for a message and its models, with its own key header", async () => {
    const fields = { api_dialect: "anthropic", auth_scheme: "x-api-key", api_key: "k", upstream_model: "m" };
    const model = await scene.model({ ...fields, health: { failure_threshold: 1 } });
    scene.upstream.answer = ({ method }) => (method === "POST" ? { status: 404 } : { body: '{"data":[{"id":"m"}]}' });
    await scene.tick();
    expect((await detail(model)).checks).toMatchObject([{ status: "degraded" }]);
    expect(scene.upstream.asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "POST /v1/messages",
      "GET /v1/models?limit=1000",
    ]);
    const headers = { "x-api-key": "k", "anthropic-version": "2023-06-01" };
    for (const asked of scene.upstream.asked) {
      expect(asked.headers).toMatchObject(headers);
      expect(asked.headers).not.toHaveProperty("authorization");
    }
    await scene.send("PATCH", `/models/${model.id}`, { auth_scheme: "none", api_dialect: "openai" });
    await scene.tick();
    expect(scene.upstream.asked.at(-1)?.headers).not.toHaveProperty("x-api-key");
  });

  it.each<[HealthScene["answers"][string], string]>([
    [{ body: '{"data":[{"id":"m"}]}' }, "healthy"],
    [{ body: '{"data":[{"id":"n"}]}' }, "unhealthy"],
    [{ body: '{"data":[{"id":"*"}]}' }, "unknown"],
    [{ body: "nonsense" }, "unknown"],
    [{ status: 404 }, "unknown"],
    [{ status: 503 }, "degraded"],
    [{ status: 403 }, "unhealthy"],
  ])("and draws images is looked up: a catalog that answers %j makes it %s", async (models, status) => {
    const fields = { model_type: "image", upstream_model: "m", health: { failure_threshold: 1 } };
    const model = await scene.model(fields);
    scene.answers = { models };
    await scene.tick();
    expect(await scene.summary(model)).toMatchObject({ status });
    expect(scene.upstream.asked.every(({ method }) => method === "GET")).toBe(true);
  });

  it("reads a catalog once a minute, with a slash at its end if it is not found without", async () => {
    const fields = ["m", "n", "o"].map((upstream_model) => ({ upstream_model, model_type: "image" }));
    const models = await Promise.all(fields.map(async (each) => await scene.model(each)));
    scene.upstream.answer = ({ url }) => (url === "/v1/models/" ? { body: '{"data":[{"id":"m"}]}' } : { status: 404 });
    await scene.tick();
    expect(scene.upstream.asked.map(({ url }) => url)).toEqual(["/v1/models", "/v1/models/"]);
    const found = await Promise.all(models.map(async (model) => (await detail(model)).checks[0]?.status));
    expect(found.toSorted()).toEqual(["healthy", "unhealthy", "unhealthy"]);
    await scene.pass(60_000);
    await scene.send("POST", `/models/${models[0]?.id ?? ""}/health/check`);
    expect(scene.upstream.asked).toHaveLength(4);
  });
});
