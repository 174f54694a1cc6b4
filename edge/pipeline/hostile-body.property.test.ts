/**
 * For any JSON in a body: the request is refused with 400, or everything that leaves the pipeline for a budget, the
 * scheduler or the ledger is an amount (docs/rules/budgets.md#amounts). Values are drawn from all of JSON and IEEE 754,
 * for every field that is read, at any price that a model may have.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { API_DIALECTS } from "../../shared/network/upstream-access.ts";
import type { UsageRow } from "../../shared/usage/usage-row.ts";
import { modelOf } from "../../test/harness/edge/pipeline/records.ts";
import { SECRET, TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { propertyRuns } from "../../test/harness/property-runs.ts";
import { speaking } from "../../test/harness/speaking.ts";
import { MODEL_ROUTES } from "../domain/request/route-class.ts";
import { run, runOther } from "./run.ts";

const FIELDS = [
  "model",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "n",
  "input",
  "prompt",
  "messages",
  "instructions",
  "system",
  "stream",
  "stream_options",
  "user",
  "session_id",
  "metadata",
  "response_format",
  "__proto__",
  "constructor",
];

/** A number as JSON may write it; one that is too large for a double is read as Infinity. */
const number = fc.oneof(
  fc
    .double({ noNaN: true })
    .map((value) => (Number.isFinite(value) ? JSON.stringify(value) : `${value < 0 ? "-" : ""}1e400`)),
  fc.integer({ min: -2, max: 2 }).map((off) => String(BigInt(2 ** 53) + BigInt(off))),
  fc.constantFrom("-0", "0", "1", "7", "1e2", "1.0", "1E+3", "1e-7", "5e-324", "1e308", "2147483647", "2147483648"),
);
const digits = fc.bigInt({ min: 0n }).map((value) => JSON.stringify(String(value)));
const text = fc.string({ unit: "binary", maxLength: 40 }).map((value) => JSON.stringify(value));
const halves = fc.constantFrom('"\\ud800"', '"a\\udc00"', '"\\u0000"', '"\\ud83d\\ude00"');
const message = fc
  .tuple(fc.constantFrom("user", "system", "x"), fc.oneof(text, halves, number))
  .map(([role, content]) => `[{"role":"${role}","content":${content}},{"content":[{"text":${content}},${content}]}]`);
const lists = fc.array(
  fc.oneof(
    number,
    text,
    number.map((value) => `[${value},[${value}]]`),
  ),
  { maxLength: 5 },
);
const literal = fc.oneof(
  number,
  digits,
  text,
  halves,
  message,
  lists.map((items) => `[${items.join(",")}]`),
  fc.constantFrom(
    "null",
    "true",
    "false",
    "{}",
    "[]",
    '{"session_id":"s"}',
    '{"session_id":1e400,"include_usage":true}',
  ),
  fc.jsonValue().map((value) => JSON.stringify(value)),
);
const body = fc
  .array(fc.tuple(fc.constantFrom(...FIELDS), literal), { maxLength: 6 })
  .map((members) => `{${[...members.map(([name, value]) => `"${name}":${value}`), '"model":"tiny"'].join(",")}}`);
const price = fc.oneof(
  fc.constantFrom(0, 5e-324, 1e-6, 1e308),
  fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
);
const optional = fc.option(price, { nil: null });
const prices = fc.record({
  input: price,
  output: price,
  image: price,
  character: price,
  audio_second: price,
  cached_input: optional,
  reasoning_output: optional,
  cache_write: optional,
  audio_input: optional,
  audio_output: optional,
  image_input: optional,
  image_output: optional,
  input_second: price,
});

const isAmount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
const isCost = (usd: number): boolean => usd >= 0 && isAmount(Math.round(usd * 1e9));

function expectAmounts(row: UsageRow): void {
  const { cost_usd, energy_wh: _wh, energy_cost_usd: _energy, co2_g: _co2, ...rest } = row;
  for (const [name, value] of Object.entries(rest))
    if (typeof value === "number")
      expect({ name, value, isAmount: isAmount(value) }).toEqual({ name, value, isAmount: true });
  expect({ cost_usd, isCost: isCost(cost_usd) }).toEqual({ cost_usd, isCost: true });
  for (const value of Object.values(row)) expect(typeof value !== "string" || value.isWellFormed()).toBe(true);
}

it("a body of any JSON is refused, or requests amounts", async () => {
  let served = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...MODEL_ROUTES, "/v1/messages", "/v1/rerank"),
      body,
      prices,
      fc.constantFrom(...API_DIALECTS),
      async (path, json, cost, api_dialect) => {
        const world = new TestPipeline();
        world.model = modelOf({ prices: cost, api_dialect });
        world.upstream = async () => new Response(null, { status: 204 });
        const headers = { authorization: `Bearer ${SECRET}`, "content-type": "application/json" };
        const received = world.received({ body: json, headers }, path);
        const documented = (MODEL_ROUTES as readonly string[]).includes(path);
        const roomy = { ...received, config: { ...received.config, maxBodyBytes: 1_000_000 } };
        const response = await (documented ? run(roomy) : runOther(roomy));
        await response.text();
        await world.settled();
        expect([204, 400]).toContain(response.status);
        // What cannot be translated is found when the slot is granted.
        const isTranslated = api_dialect !== speaking(path).api_dialect;
        if (!isTranslated || response.status === 204)
          expect(world.requests.length).toBe(response.status === 204 ? 1 : 0);
        served += world.requests.length;
        for (const { need, costTokens, estimate, row } of world.requests) {
          const amounts = [...Object.values(need), costTokens, estimate.inputTokens, estimate.outputTokens];
          expect({ amounts, areAmounts: amounts.every(isAmount), isCost: isCost(estimate.costUsd) }).toEqual({
            amounts,
            areAmounts: true,
            isCost: true,
          });
          expect({ hasCostTokens: costTokens > 0, hasTermTokens: need.termTokens > 0 }).toEqual({
            hasCostTokens: true,
            hasTermTokens: true,
          });
          expectAmounts(row);
        }
        const settled = world.permit.settlement === null ? [] : [world.permit.settlement.row];
        const rows = [...settled, ...world.recorded];
        expect(rows).toHaveLength(1);
        for (const row of rows) expectAmounts(row);
      },
    ),
    { numRuns: propertyRuns(1500) },
  );
  expect(served).toBeGreaterThan(0);
});
