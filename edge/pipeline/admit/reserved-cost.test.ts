/** The reservation of an admission request in budgets of money (docs/rules/budgets.md#reserved-cost). */
import fc from "fast-check";
import { expect, it } from "vitest";
import { modelOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { run } from "../run.ts";

const FREE = { ...modelOf().prices, input: 0, output: 0 };
const CHAT = { model: "tiny", messages: [{ role: "user", content: "12345678" }], max_tokens: 100 };

/** The nano-USD that a request reserves, and the Cell's bill if its permit were lost. */
async function reserved(prices: Partial<typeof FREE>, path: string, body: object | FormData) {
  const world = new TestPipeline();
  world.maxBodyBytes = 2_000_000;
  world.model = modelOf({ prices: { ...FREE, ...prices } });
  world.upstream = async () => new Response(null, { status: 404 });
  const form = body instanceof FormData;
  const headers = { authorization: world.received().request.headers.get("authorization") ?? "" };
  const init = form
    ? { body, headers }
    : { body: JSON.stringify(body), headers: { ...headers, "content-type": "application/json" } };
  await run(world.received(init, path));
  await world.settled();
  const [request] = world.requests;
  return [request?.need.nanoUsd, request?.estimate.costUsd];
}

it("is the estimate at the dearest price that a part of its tokens may have", async () => {
  const path = "/v1/chat/completions";
  expect(await reserved({ output: 0.001 }, path, CHAT)).toEqual([100_000_000, 0.1]);
  expect(await reserved({ output: 0.001, reasoning_output: 0.0001 }, path, CHAT)).toEqual([100_000_000, 0.1]);
  expect(await reserved({ output: 0.001, reasoning_output: 0.002 }, path, CHAT)).toEqual([200_000_000, 0.1]);
  expect(await reserved({ input: 0.001, cached_input: 0.01 }, path, CHAT)).toEqual([60_000_000, 0.006]);
});

it("covers the dearest of the prices of parts, on each side", async () => {
  const path = "/v1/chat/completions";
  expect(await reserved({ input: 0.001, cache_write: 0.002 }, path, CHAT)).toEqual([12_000_000, 0.006]);
  expect(await reserved({ input: 0.001, audio_input: 0.003 }, path, CHAT)).toEqual([18_000_000, 0.006]);
  expect(await reserved({ input: 0.001, image_input: 0.004 }, path, CHAT)).toEqual([24_000_000, 0.006]);
  expect(await reserved({ output: 0.001, audio_output: 0.002 }, path, CHAT)).toEqual([200_000_000, 0.1]);
  expect(await reserved({ output: 0.001, image_output: 0.003 }, path, CHAT)).toEqual([300_000_000, 0.1]);
});

it("is the larger of images and their tokens, which are not known before they are made", async () => {
  const body = { model: "tiny", prompt: "a cat", n: 2 };
  const path = "/v1/images/generations";
  expect(await reserved({ image: 0.04 }, path, body)).toEqual([80_000_000, 0.08]);
  expect(await reserved({ image: 0.04, image_output: 0.000_04 }, path, body)).toEqual([499_200_000, 0.08]);
  expect(await reserved({ input: 0.000_005, output: 0.000_01 }, path, body)).toEqual([156_000_000, 0.156]);
});

it("is a minute of audio, whose length is not known before it was read", async () => {
  const form = new FormData();
  form.set("model", "tiny");
  form.set("file", new File(["x"], "x.wav"));
  expect(await reserved({ input_second: 0.002 }, "/v1/audio/transcriptions", form)).toEqual([120_000_000, 0.12]);
});

it("is that of all images, wherever in a form or in a document their number is", async () => {
  const path = fc.constantFrom("/v1/images/edits", "/v1/images/variations", "/v1/images/generations");
  const fields = fc.constantFrom("model", "prompt", "user", "image", "mask");
  const order = fc.uniqueArray(fields, { minLength: 5, maxLength: 5 });
  const bytes = fc.constantFrom(10, 65_536, 262_144, 600_000);
  const count = fc.option(fc.integer({ min: 1, max: 1000 }), { nil: null });
  await fc.assert(
    fc.asyncProperty(path, order, fc.nat({ max: 5 }), bytes, count, async (route, names, at, size, n) => {
      const values = { model: "tiny", prompt: "a cat", user: "u", image: "i".repeat(size), mask: "m" };
      const entries: [string, string | number][] = names.map((name) => [name, values[name]]);
      if (n !== null) entries.splice(at, 0, ["n", n]);
      const form = new FormData();
      for (const [name, value] of entries)
        form.append(name, ["image", "mask"].includes(name) ? new File([String(value)], "x.png") : String(value));
      const body = route === "/v1/images/generations" ? Object.fromEntries(entries) : form;
      expect(await reserved({ image: 0.5 }, route, body)).toEqual([(n ?? 1) * 500_000_000, (n ?? 1) * 0.5]);
    }),
    { numRuns: propertyRuns(200) },
  );
});
