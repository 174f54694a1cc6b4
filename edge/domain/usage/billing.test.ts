import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isAmount } from "../../../shared/money/amount.ts";
import { MAX_COST_USD, type Measure, NO_PART_PRICES } from "../../../shared/money/cost.ts";
import type { ModelRecord } from "../../../shared/records.ts";
import { nanoUsdOf } from "../budget/amounts.ts";
import {
  type BilledAnswer,
  bill,
  clientStatus,
  NOTHING_BILLED,
  reservedCostUsd,
  totalTokens,
  UNSEEN_STREAM,
  unbelievedCount,
} from "./billing.ts";
import { NO_PARTS } from "./reported-counts.ts";
import { type SeenUsage, UsageScan } from "./usage-scan.ts";

describe("what is billed", () => {
  const model = {
    hidden_reasoning: false,
    prices: { input: 0.5, output: 2, image: 0, character: 0, audio_second: 0, ...NO_PART_PRICES, input_second: 0 },
  };
  const tokens = { kind: "tokens" } as const;
  const estimate = { inputTokens: 10, outputTokens: 20, totalTokens: 30, statedOutputTokens: null, answers: 1 };
  const answered = (changes: Partial<SeenUsage>, complete: boolean, stream = false): BilledAnswer => ({
    usage: {
      reported: null,
      parts: NO_PARTS,
      outputReported: false,
      upToDate: false,
      final: false,
      seenTokens: 0,
      bytes: 1,
      ...changes,
    },
    complete,
    stream,
  });
  const reported = { inputTokens: 4, outputTokens: 5, totalTokens: null };
  const sumAlone = { inputTokens: null, outputTokens: null, totalTokens: 62 };
  const soFar = { outputReported: true, upToDate: true };
  const last = { ...soFar, final: true };
  const inputAlone = { inputTokens: 4, outputTokens: null, totalTokens: null };

  it.each<[string, BilledAnswer | null, number, number]>([
    ["the estimate, when nothing answered", null, 10, 20],
    ["what was reported", answered({ reported, outputReported: true, upToDate: true, seenTokens: 9 }, true), 4, 5],
    ["what was reported at the end of an answer that was left then", answered({ reported, ...last }, false), 4, 5],
    ["the estimate of one that reports as it goes, when it was left", answered({ reported, ...soFar }, false), 10, 20],
    ["no output, where none is counted", answered({ reported: inputAlone }, true), 4, 0],
    [
      "the estimate of an output that was left before it was reported",
      answered({ reported: inputAlone }, false),
      10,
      20,
    ],
    ["the estimate, when nothing was reported", answered({ seenTokens: 3 }, true), 10, 20],
    ["the estimate, when what is reported is how it began", answered({ reported }, true), 4, 20],
    [
      "what was reported before the last content",
      answered({ reported, outputReported: true, seenTokens: 3 }, true),
      4,
      5,
    ],
    [
      "what was seen since then, when it is more",
      answered({ reported, outputReported: true, seenTokens: 6 }, true),
      4,
      6,
    ],
    ["what was seen, when that is more", answered({ seenTokens: 900 }, false), 10, 900],
    ["what was seen after the report, when that is more", answered({ reported, seenTokens: 900 }, false), 10, 900],
    ["what was seen beside a report on the way", answered({ reported, ...soFar, seenTokens: 900 }, false), 10, 900],
    [
      "what was reported before the end, when that is more",
      answered({ reported: { inputTokens: 40, outputTokens: 30, totalTokens: null }, ...soFar }, false),
      40,
      30,
    ],
    ["the input of an answer without a byte", answered({ bytes: 0 }, true), 10, 0],
    ["the estimate of one that was left before its first byte", answered({ bytes: 0 }, false), 10, 20],
    ["the input of a stream that was left before its first event", UNSEEN_STREAM, 10, 0],
    ["what was seen of a stream that was left", answered({ seenTokens: 9 }, false, true), 10, 9],
    ["what a stream reported, and what came since", answered({ reported, seenTokens: 9 }, false, true), 4, 9],
    ["what a stream reported before it was left", answered({ reported, ...soFar, seenTokens: 3 }, false, true), 4, 5],
    ["the estimate of a whole stream without a report", answered({ seenTokens: 3 }, true, true), 10, 20],
    ["the estimate of a whole answer that reports only a sum", answered({ reported: sumAlone }, true), 10, 20],
  ])("is %s", (_, answer, inputTokens, outputTokens) => {
    const costUsd = inputTokens * 0.5 + outputTokens * 2;
    expect(bill(model, estimate, tokens, answer)).toEqual({ ...NOTHING_BILLED, inputTokens, outputTokens, costUsd });
  });

  it("is at most 2,048 tokens of output for an answer that was left, whatever its client allowed", () => {
    const large = { ...estimate, outputTokens: 8_000, statedOutputTokens: 100_000 };
    const outputs = [null, answered({ bytes: 0 }, false), UNSEEN_STREAM, answered({ seenTokens: 10 }, false, true)];
    const owed = (hidden_reasoning: boolean) =>
      outputs.map((answer) => bill({ ...model, hidden_reasoning }, large, tokens, answer).outputTokens);
    expect({ shown: owed(false), hidden: owed(true) }).toEqual({
      shown: [2_048, 2_048, 0, 10],
      hidden: [2_048, 2_048, 2_048, 2_048],
    });
  });

  it("is the input alone where no text is created", () => {
    const owed = (answer: BilledAnswer | null): object => bill(model, estimate, { kind: "input-tokens" }, answer);
    expect(owed(null)).toMatchObject({ inputTokens: 10, outputTokens: 0, costUsd: 5 });
    expect(owed(answered({}, true))).toMatchObject({ inputTokens: 10, outputTokens: 0 });
    expect(owed(answered({ reported: sumAlone }, true))).toMatchObject({ inputTokens: 62, outputTokens: 0 });
    const both = { ...reported, totalTokens: 62 };
    expect(owed(answered({ reported: both }, true))).toMatchObject({ inputTokens: 4, outputTokens: 0 });
  });

  it("is nothing where tokens are only counted, whatever is reported", () => {
    const counted = answered({ reported: { ...inputAlone, inputTokens: 50_000 } }, true);
    expect(bill(model, estimate, { kind: "free" }, counted)).toEqual(NOTHING_BILLED);
  });

  it("is the reserved minute of audio when neither seconds nor tokens are reported", () => {
    const priced = { hidden_reasoning: false, prices: { ...model.prices, input_second: 0.5 } };
    const owed = (answer: BilledAnswer | null): number => bill(priced, estimate, { kind: "seconds" }, answer).costUsd;
    expect(owed(answered({}, true))).toBe(30);
    expect(owed(answered({ parts: { ...NO_PARTS, inputSeconds: 7 } }, true))).toBe(3.5);
    expect(owed(null)).toBe(30);
  });

  describe("of images and audio", () => {
    const nano = (usd: number): number => Math.round(usd * 1e9);
    const prices: ModelRecord["prices"] = {
      ...model.prices,
      input: 0.000_005,
      output: 0.000_01,
      image_input: 0.000_008,
      image_output: 0.000_03,
      audio_input: 0.000_006,
    };
    const none = { inputTokens: 0, outputTokens: 0, totalTokens: 1, statedOutputTokens: null, answers: 1 };
    const images = { kind: "images", count: 2 } as const;
    const seconds = { kind: "seconds" } as const;
    const many = { bytes: 1e6, outputReported: true, upToDate: true };
    const image = { ...many, reported: { inputTokens: 334, outputTokens: 4160, totalTokens: null } };
    const imageParts = { ...NO_PARTS, imageInputTokens: 323 };
    const heard = { ...many, reported: { inputTokens: 140, outputTokens: 45, totalTokens: null } };
    const heardParts = { ...NO_PARTS, audioInputTokens: 138 };
    const cost = (of: Partial<typeof prices>, measure: Measure, answer: BilledAnswer | null): number =>
      nano(bill({ hidden_reasoning: false, prices: { ...prices, ...of } }, none, measure, answer).costUsd);

    it("is that of the tokens that are reported, an image's output being the image", () => {
      const made = answered({ ...image, parts: imageParts }, true);
      expect(cost({}, images, made)).toBe(323 * 8_000 + 11 * 5_000 + 4160 * 30_000);
      expect(cost({ image_output: null }, images, made)).toBe(323 * 8_000 + 11 * 5_000 + 4160 * 10_000);
      const apart = { ...imageParts, imageOutputTokens: 4100 };
      expect(cost({}, images, answered({ ...image, parts: apart }, true))).toBe(
        323 * 8_000 + 11 * 5_000 + 4100 * 30_000 + 60 * 10_000,
      );
      expect(cost({ image: 1 }, images, made)).toBe(323 * 8_000 + 11 * 5_000 + 4160 * 30_000);
      const text = answered({ ...heard, parts: heardParts }, true);
      expect(cost({ input_second: 1 }, seconds, text)).toBe(138 * 6_000 + 2 * 5_000 + 45 * 10_000);
    });

    it("is that of images and seconds where no token has a price, or none is reported", () => {
      const free = { input: 0, output: 0, ...NO_PART_PRICES };
      expect(cost({ ...free, image: 1 }, images, answered({ ...image, parts: imageParts }, true))).toBe(2e9);
      expect(cost({ image: 1 }, images, answered(many, true))).toBe(2e9);
      expect(cost({}, images, answered(many, true))).toBe(0);
      const lasting = answered({ ...many, parts: { ...NO_PARTS, inputSeconds: 3 } }, true);
      expect(cost({ input_second: 1 }, seconds, lasting)).toBe(3e9);
      expect(cost(free, seconds, answered({ ...heard, parts: heardParts }, true))).toBe(0);
    });

    it("is what was reserved when no credible report has come, and never less than was seen", () => {
      const oneImage = 6240 * 8_000 + 2 * 6240 * 30_000;
      const minute = 1000 * 8_000 + 1000 * 30_000;
      const lie = answered({ ...image, parts: { ...NO_PARTS, imageInputTokens: 2 ** 32 } }, true);
      expect([cost({}, images, lie), cost({}, images, null), cost({}, images, answered(many, false))]).toEqual([
        oneImage,
        oneImage,
        oneImage,
      ]);
      expect([cost({}, seconds, null), cost({}, seconds, answered(many, true))]).toEqual([minute, minute]);
      expect(cost({}, seconds, answered({ bytes: 1e6, seenTokens: 9000 }, false, true))).toBe(9000 * 10_000);
      expect(cost({ input_second: 0.001 }, seconds, null)).toBe(60_000_000);
      expect(cost({}, images, answered({ ...many, bytes: 0 }, true))).toBe(0);
    });

    it("is at most what is reserved, for as many tokens as are reserved", () => {
      const usd = fc.integer({ min: 0, max: 100 }).map((micro) => micro / 1e6);
      const part = fc.option(usd);
      const of = fc.record({
        input: usd,
        output: usd,
        image: usd,
        input_second: usd,
        cached_input: part,
        cache_write: part,
        audio_input: part,
        audio_output: part,
        image_input: part,
        image_output: part,
        reasoning_output: part,
      });
      const count = fc.integer({ min: 0, max: 1000 });
      const names = Object.keys(NO_PARTS);
      const parts = fc.record(
        Object.fromEntries(names.map((name) => [name, name === "inputSeconds" ? fc.nat(60) : count])),
      ) as fc.Arbitrary<typeof NO_PARTS>;
      const kinds = fc.constantFrom<Measure>(images, seconds, tokens, { kind: "input-tokens" });
      fc.assert(
        fc.property(
          of,
          kinds,
          parts,
          count,
          count,
          fc.boolean(),
          fc.boolean(),
          (priced, measure, seen, input, output, complete, isReported) => {
            const record = { hidden_reasoning: false, prices: { ...prices, ...priced } };
            const reported = isReported ? { inputTokens: input, outputTokens: output, totalTokens: null } : null;
            const stated = { ...estimate, inputTokens: 1000, outputTokens: 1000, totalTokens: 2000 };
            const owed = bill(record, stated, measure, answered({ ...many, reported, parts: seen }, complete));
            expect(nano(owed.costUsd)).toBeLessThanOrEqual(nano(reservedCostUsd(record, stated, measure)));
          },
        ),
      );
    });
  });

  it("is the last report of a complete stream, also when content came after it", () => {
    const content = 'data: {"choices":[{"delta":{"content":"one "}}]}\n\n';
    const usage = 'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":6}}\n\n';
    const scan = new UsageScan({ content: true });
    scan.push(new TextEncoder().encode(`${content.repeat(5)}${usage}${content}data: [DONE]\n\n`));
    const owed = (complete: boolean): object =>
      bill(model, estimate, tokens, { usage: scan.usage(), complete, stream: true });
    expect(owed(true)).toMatchObject({ inputTokens: 7, outputTokens: 6 });
    expect(owed(false)).toMatchObject({ inputTokens: 7, outputTokens: 6 });
  });

  it("has parts that never exceed their wholes, and seconds only where audio is read", () => {
    const count = fc.oneof(fc.nat({ max: 100 }), fc.maxSafeNat());
    fc.assert(
      fc.property(
        fc.option(
          fc.record({ inputTokens: fc.option(count), outputTokens: fc.option(count), totalTokens: fc.option(count) }),
        ),
        fc.record(Object.fromEntries(Object.keys(NO_PARTS).map((name) => [name, count]))) as unknown as fc.Arbitrary<
          typeof NO_PARTS
        >,
        fc.record({ outputReported: fc.boolean(), upToDate: fc.boolean(), final: fc.boolean(), bytes: fc.nat() }),
        fc.boolean(),
        (all, parts, usage, complete) => {
          const seen = answered({ ...usage, reported: all, parts }, complete);
          const owed = bill(model, estimate, tokens, seen);
          const believed = unbelievedCount(estimate, tokens, seen) === null;
          const within = (name: keyof typeof NO_PARTS, whole: number) => [
            name,
            believed ? Math.min(parts[name], whole) : 0,
          ];
          const { cachedTokens, cacheWrittenTokens, audioInputTokens, imageInputTokens, ...others } = parts;
          const ofInput = { cachedTokens, cacheWrittenTokens, audioInputTokens, imageInputTokens };
          expect(owed).toMatchObject({
            ...Object.fromEntries(Object.keys(ofInput).map((name) => within(name as never, owed.inputTokens))),
            ...Object.fromEntries(Object.keys(others).map((name) => within(name as never, owed.outputTokens))),
            inputSeconds: 0,
          });
          const seconds = { kind: "seconds" } as const;
          const isReported = parts.inputSeconds > 0 || all !== null;
          const isHeard = isReported && unbelievedCount(estimate, seconds, seen) === null;
          expect(bill(model, estimate, seconds, seen).inputSeconds).toBe(isHeard ? parts.inputSeconds : 60);
        },
      ),
    );
  });

  const all = (inputTokens: number, outputTokens: number | null = null) => ({
    inputTokens,
    outputTokens,
    totalTokens: null,
  });
  const MANY = 2 ** 31;
  it.each<[string, Partial<SeenUsage>, number | null]>([
    ["1,000 times the estimate", { reported: all(20_000, 10_000) }, null],
    ["more than 1,000 times the estimate", { reported: all(20_000, 10_001) }, 30_001],
    ["1,000 times the bytes", { reported: all(40_000), bytes: 40 }, null],
    ["more than 1,000 times the bytes", { reported: all(40_001), bytes: 40 }, 40_001],
    ["2^31 tokens", { reported: all(MANY), bytes: MANY }, null],
    ["more than 2^31 tokens", { reported: all(MANY, 1), bytes: MANY }, MANY + 1],
    ["cached tokens alone", { parts: { ...NO_PARTS, cachedTokens: 30_001 } }, 30_001],
    ["reasoning tokens alone", { parts: { ...NO_PARTS, reasoningTokens: 30_001 } }, 30_001],
    ["seconds where none count", { parts: { ...NO_PARTS, inputSeconds: 30_001 } }, null],
  ])("is the estimate when a report cannot be true: %s", (_what, usage, unbelieved) => {
    const seen = answered({ ...last, reported: all(1, 1), ...usage }, true);
    expect(unbelievedCount(estimate, tokens, seen)).toBe(unbelieved);
    const owed = bill(model, estimate, tokens, seen);
    const believed = { input: seen.usage.reported?.inputTokens, output: seen.usage.reported?.outputTokens ?? 0 };
    expect({ input: owed.inputTokens, output: owed.outputTokens }).toEqual(
      unbelieved === null ? believed : { input: 10, output: 20 },
    );
  });

  it("is the minute that was reserved when the reported length of audio cannot be true", () => {
    const audio = { kind: "seconds" } as const;
    const priced = { hidden_reasoning: false, prices: { ...model.prices, input_second: 2 } };
    const lasting = (inputSeconds: number) => answered({ parts: { ...NO_PARTS, inputSeconds } }, true);
    expect(bill(priced, estimate, audio, lasting(30_000)).costUsd).toBe(60_000);
    expect(bill(priced, estimate, audio, lasting(30_001)).costUsd).toBe(120);
  });

  it("is the number of images, whatever form the answer has, and nothing for an empty answer", () => {
    const images = { kind: "images", count: 3 } as const;
    const priced = { hidden_reasoning: false, prices: { ...model.prices, image: 2 } };
    expect(bill(priced, estimate, images, answered({ bytes: 0 }, true)).costUsd).toBe(0);
    expect(bill(priced, estimate, images, answered({}, true)).costUsd).toBe(6);
  });

  it("is a safe integer with a finite cost, whatever is reported and seen", () => {
    const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(
        fc.record({ inputTokens: fc.option(count), outputTokens: fc.option(count), totalTokens: fc.option(count) }),
        fc.record({ outputReported: fc.boolean(), upToDate: fc.boolean(), final: fc.boolean(), seenTokens: count }),
        fc.boolean(),
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        (all, usage, complete, price) => {
          const prices = { ...model.prices, input: price, output: price };
          const owed = bill(
            { hidden_reasoning: false, prices },
            estimate,
            tokens,
            answered({ ...usage, reported: all }, complete),
          );
          expect(Number.isSafeInteger(owed.inputTokens + owed.outputTokens)).toBe(true);
          expect(Number.isFinite(owed.costUsd)).toBe(true);
          const seen = Math.min(usage.seenTokens, Number.MAX_SAFE_INTEGER - owed.inputTokens);
          if (!usage.upToDate || !(complete || usage.final)) expect(owed.outputTokens).toBeGreaterThanOrEqual(seen);
        },
      ),
    );
  });

  it.each([
    [200, 200],
    [204, 204],
    [302, 502],
    [400, 400],
    [429, 429],
    [500, 502],
    [503, 502],
    [519, 502],
    [520, 520],
    [529, 529],
    [530, 502],
  ])("an upstream's %i reaches the client as %i", (upstream, client) => {
    expect(clientStatus(upstream)).toBe(client);
  });
});

it("what is billed is amounts that budgets count, whatever an upstream reports and models cost", () => {
  const price = fc.oneof(
    fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(0, 5e-324, 1e308),
  );
  const reported = fc.option(fc.maxSafeNat());
  const stated = fc.oneof(fc.maxSafeNat(), fc.constant(1e308));
  fc.assert(
    fc.property(price, price, reported, reported, stated, (input, output, inputTokens, outputTokens, statedTokens) => {
      const model = {
        hidden_reasoning: false,
        prices: {
          input,
          output,
          image: 0,
          character: 0,
          audio_second: 0,
          ...NO_PART_PRICES,
          input_second: 0,
        },
      };
      const stated = { statedOutputTokens: statedTokens, answers: 1 };
      const estimate = { inputTokens: 7, outputTokens: statedTokens, totalTokens: 15, ...stated };
      const usage = {
        reported: { inputTokens, outputTokens, totalTokens: null },
        parts: NO_PARTS,
        outputReported: false,
        upToDate: false,
        final: false,
        seenTokens: statedTokens,
        bytes: 1,
      };
      for (const answer of [null, { usage, complete: false, stream: false }]) {
        const billed = bill(model, estimate, { kind: "tokens" }, answer);
        expect(isAmount(totalTokens(billed))).toBe(true);
        expect(isAmount(nanoUsdOf(billed.costUsd))).toBe(true);
        expect(billed.costUsd).toBeLessThanOrEqual(MAX_COST_USD);
      }
    }),
  );
});
