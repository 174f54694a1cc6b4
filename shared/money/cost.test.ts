import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AMOUNT_MAX, saturated } from "./amount.ts";
import { costUsd, dearestPrices, hasTokenPrice, MAX_COST_USD, type Measure, NO_PART_PRICES } from "./cost.ts";

const prices = {
  input: 0.000_000_15,
  output: 0.000_000_6,
  image: 0.04,
  character: 0.000_015,
  ...(NO_PART_PRICES as Readonly<Record<keyof typeof NO_PART_PRICES, number | null>>),
  input_second: 0.000_1,
};
const NO_PARTS = {
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  audioInputTokens: 0,
  imageInputTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
  imageOutputTokens: 0,
  inputSeconds: 0,
};
const tokens = { ...NO_PARTS, inputTokens: 1_000_001, outputTokens: 3, inputSeconds: 12.345 };

describe("what a request costs (docs/rules/settlement-and-rows.md#cost)", () => {
  it.each<[Measure, number]>([
    [{ kind: "tokens" }, 0.150_001_95],
    [{ kind: "input-tokens" }, 0.150_000_15],
    [{ kind: "images", count: 3 }, 0.12],
    [{ kind: "images", count: 0 }, 0.04],
    [{ kind: "characters", count: 11 }, 0.000_165],
    [{ kind: "characters", count: 0 }, 0],
    [{ kind: "seconds" }, 0.001_234_5],
    [{ kind: "free" }, 0],
  ])("%j is %d USD", (measure, expected) => {
    expect(costUsd(prices, measure, tokens)).toBe(expected);
  });

  it("has no rounding errors of binary fractions", () => {
    const cost = (inputTokens: number) =>
      costUsd({ ...prices, input: 0.1 }, { kind: "input-tokens" }, { ...NO_PARTS, inputTokens, outputTokens: 0 });
    expect({ cost: cost(3), floatProduct: 0.1 * 3 }).toEqual({ cost: 0.3, floatProduct: 0.300_000_000_000_000_04 });
  });

  it("is a number from 0 to the largest amount of a budget, whatever prices and counts are", () => {
    const price = fc.double({ min: 0, noNaN: true, noDefaultInfinity: true });
    const count = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 1, 1e308, Number.MAX_VALUE));
    fc.assert(
      fc.property(price, price, count, count, (input, output, inputTokens, outputTokens) => {
        const at = { ...prices, input, output, image: input, character: output, input_second: input };
        const kinds: readonly Measure[] = [
          { kind: "tokens" },
          { kind: "images", count: inputTokens },
          { kind: "characters", count: outputTokens },
          { kind: "seconds" },
        ];
        for (const measure of kinds) {
          const cost = costUsd(at, measure, { ...NO_PARTS, inputTokens, outputTokens, inputSeconds: outputTokens });
          expect(cost).toBeGreaterThanOrEqual(0);
          expect(cost).toBeLessThanOrEqual(MAX_COST_USD);
        }
      }),
    );
    const at = (input: number) => costUsd({ ...prices, input }, { kind: "input-tokens" }, tokens);
    expect({ huge: at(1e308), tiny: at(5e-324) }).toEqual({ huge: MAX_COST_USD, tiny: 0 });
  });

  it("of a sum of tokens is the sum of the costs", () => {
    const count = fc.nat(10_000_000);
    fc.assert(
      fc.property(count, count, fc.nat(1_000_000), (a, b, priceNano) => {
        const at = { ...prices, input: priceNano / 1e9 };
        const nano = (inputTokens: number) =>
          Math.round(costUsd(at, { kind: "input-tokens" }, { ...NO_PARTS, inputTokens, outputTokens: 0 }) * 1e9);
        expect(nano(a) + nano(b)).toBe(nano(a + b));
      }),
    );
  });
});

describe("parts of tokens (docs/rules/settlement-and-rows.md#parts-of-tokens)", () => {
  const small = fc.nat(10_000_000);
  const priceNano = fc.nat(1_000_000).map((nano) => nano / 1e9);
  const partPrice = fc.option(priceNano);
  const at = fc.record({
    input: priceNano,
    output: priceNano,
    cached_input: partPrice,
    cache_write: partPrice,
    audio_input: partPrice,
    image_input: partPrice,
    reasoning_output: partPrice,
    audio_output: partPrice,
    image_output: partPrice,
  });
  const used = fc.record({
    inputTokens: small,
    outputTokens: small,
    cachedTokens: small,
    cacheWrittenTokens: small,
    audioInputTokens: small,
    imageInputTokens: small,
    reasoningTokens: small,
    audioOutputTokens: small,
    imageOutputTokens: small,
    inputSeconds: fc.constant(0),
  });
  const pico = (of: Partial<typeof prices>, kind: "tokens" | "input-tokens", by: typeof tokens): number =>
    Math.round(costUsd({ ...prices, ...of }, { kind }, by) * 1e12);

  it("cost their own price, and the rest the plain price, exactly", () => {
    const by = { ...tokens, inputTokens: 1000, cachedTokens: 900, outputTokens: 50, reasoningTokens: 20 };
    const of = { cached_input: 0.000_000_015, reasoning_output: 0.000_000_9 };
    expect(costUsd({ ...prices, ...of }, { kind: "tokens" }, by)).toBe(0.000_064_5);
    expect(costUsd({ ...prices, ...of }, { kind: "input-tokens" }, by)).toBe(0.000_028_5);
    expect(costUsd(prices, { kind: "tokens" }, by)).toBe(0.000_18);
  });

  it("cost what each token costs at its price, added up; a part counts as its whole at most", () => {
    fc.assert(
      fc.property(at, used, (of, by) => {
        const each = (count: number, usd: number): bigint => BigInt(count) * BigInt(Math.round(usd * 1e12));
        const side = (whole: number, usd: number, parts: readonly (readonly [number, number | null])[]): bigint => {
          let [rest, sum] = [whole, 0n];
          for (const [count, ofPart] of parts) {
            const part = ofPart === null ? 0 : Math.min(count, rest);
            rest -= part;
            sum += each(part, ofPart ?? 0);
          }
          return sum + each(rest, usd);
        };
        const input = side(by.inputTokens, of.input, [
          [by.cachedTokens, of.cached_input],
          [by.cacheWrittenTokens, of.cache_write],
          [by.audioInputTokens, of.audio_input],
          [by.imageInputTokens, of.image_input],
        ]);
        const output = side(by.outputTokens, of.output, [
          [by.reasoningTokens, of.reasoning_output],
          [by.audioOutputTokens, of.audio_output],
          [by.imageOutputTokens, of.image_output],
        ]);
        expect(costUsd({ ...prices, ...of }, { kind: "tokens" }, by)).toBe(Number(input + output) / 1e12);
        expect(costUsd({ ...prices, ...of }, { kind: "input-tokens" }, by)).toBe(Number(input) / 1e12);
      }),
    );
  });

  it("never cost more than those tokens at the dearest prices, and cost the same without parts", () => {
    fc.assert(
      fc.property(at, used, (of, by) => {
        const plain = { ...NO_PARTS, inputTokens: by.inputTokens, outputTokens: by.outputTokens };
        for (const kind of ["tokens", "input-tokens"] as const) {
          const reserved = pico(dearestPrices({ ...prices, ...of }), kind, plain);
          expect(pico(of, kind, by)).toBeLessThanOrEqual(reserved);
          expect(pico(dearestPrices({ ...prices, ...of }), kind, by)).toBe(reserved);
          const without = { ...of, ...NO_PART_PRICES };
          expect(pico(without, kind, by)).toBe(pico(without, kind, plain));
        }
      }),
    );
  });

  it("have a price if any of them has one above 0", () => {
    fc.assert(
      fc.property(at, (of) => {
        const priced = Object.values(of).some((usd) => usd !== null && usd > 0);
        expect(hasTokenPrice({ ...prices, ...of })).toBe(priced);
      }),
    );
  });

  it("of hostile numbers never pass what was reserved for them", () => {
    const price = fc.option(fc.double());
    const count = fc.oneof(fc.double(), fc.nat());
    fc.assert(
      fc.property(price, price, count, count, (input, cached_input, inputTokens, cachedTokens) => {
        const of = { ...prices, input: input ?? 0, cached_input };
        const by = { ...tokens, inputTokens, cachedTokens };
        expect(costUsd(of, { kind: "input-tokens" }, by)).toBeLessThanOrEqual(
          costUsd(dearestPrices(of), { kind: "input-tokens" }, by),
        );
      }),
    );
  });
});

describe("an amount (docs/rules/budgets.md#amounts)", () => {
  it.each([
    [0, 0],
    [-0, 0],
    [1.9, 1],
    [-1, 0],
    [5e-324, 0],
    [2 ** 53 - 1, 2 ** 53 - 1],
    [2 ** 53, 2 ** 53 - 1],
    [1e308, 2 ** 53 - 1],
    [Number.POSITIVE_INFINITY, 2 ** 53 - 1],
    [Number.NEGATIVE_INFINITY, 0],
    [Number.NaN, 0],
  ])("of %d is %d", (value, amount) => {
    expect(saturated(value)).toBe(amount);
  });

  it("is the value of any cost in nano-USD, whatever the counts and prices", () => {
    fc.assert(
      fc.property(
        fc.record({
          input: fc.double(),
          output: fc.double(),
          image: fc.double(),
          character: fc.double(),
          cached_input: fc.option(fc.double()),
          cache_write: fc.option(fc.double()),
          audio_input: fc.option(fc.double()),
          image_input: fc.option(fc.double()),
          reasoning_output: fc.option(fc.double()),
          audio_output: fc.option(fc.double()),
          image_output: fc.option(fc.double()),
          input_second: fc.double(),
        }),
        fc.constantFrom("tokens", "input-tokens", "images", "characters", "seconds", "free"),
        fc.tuple(fc.double(), fc.double(), fc.double()),
        fc.record({
          cachedTokens: fc.double(),
          cacheWrittenTokens: fc.double(),
          audioInputTokens: fc.double(),
          imageInputTokens: fc.double(),
          reasoningTokens: fc.double(),
          audioOutputTokens: fc.double(),
          imageOutputTokens: fc.double(),
          inputSeconds: fc.double(),
        }),
        (of, kind, [count, inputTokens, outputTokens], parts) => {
          const cost = costUsd(of, { kind, count } as Measure, { ...parts, inputTokens, outputTokens });
          expect(cost >= 0 && Number.isSafeInteger(Math.round(cost * 1e9))).toBe(true);
        },
      ),
    );
  });

  it("never falls when more is counted or the price is higher", () => {
    const count = fc.oneof(fc.nat(), fc.integer({ min: 0, max: AMOUNT_MAX }));
    const price = fc.double({ min: 0, noNaN: true });
    fc.assert(
      fc.property(fc.tuple(count, count), fc.tuple(price, price), (counts, ofEach) => {
        const cost = (inputTokens: number, input: number) =>
          costUsd({ ...prices, input }, { kind: "input-tokens" }, { ...NO_PARTS, inputTokens, outputTokens: 0 });
        const [low, high] = [Math.min, Math.max];
        expect(cost(low(...counts), low(...ofEach))).toBeLessThanOrEqual(cost(high(...counts), high(...ofEach)));
      }),
    );
  });
});
