/** Deduplication: what becomes a reference, and that references lead back (docs/rules/compression.md#deduplication). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../../shared/crypto/sha256.ts";
import { atOnce } from "../../../shared/steps.ts";
import { blocksOf, withBlocks } from "./block.ts";
import { passesFor } from "./passes.ts";
import { referenceTo, referredHash, repeatsOf } from "./repeats.ts";

const LIMITS = { minTokens: 8, maxRepeats: 64 };
const hashed = (texts: readonly string[]) => new Map(texts.map((text) => [text, sha256Hex(text)]));

/** The texts with references; null if there are none. */
function deduplicated(texts: readonly string[], limits = LIMITS): readonly string[] | null {
  const repeats = atOnce(repeatsOf(texts, atOnce(blocksOf(texts, limits.minTokens, 64)), limits));
  return repeats === null ? null : withBlocks(texts, repeats.refer(hashed(repeats.originals)));
}

const LONG = `${"A paragraph that the agent has read before. ".repeat(40)}end`;
const CODE = `const value = ${"1 + ".repeat(300)}1;`;

describe("a later text that equals an earlier one", () => {
  it("becomes a reference to it; the first stays", () => {
    const reference = `[ref:${sha256Hex(LONG)}] (identical to the block above)`;
    expect(referenceTo(sha256Hex(LONG))).toBe(reference);
    expect(deduplicated([LONG, "x", LONG, LONG])).toEqual([LONG, "x", reference, reference]);
    expect(deduplicated([LONG, `${LONG}.`])).toBeNull();
  });

  it("also inside of other text", () => {
    const fence = (text: string) => `${text}\n\`\`\`js\n${CODE}\n\`\`\``;
    expect(deduplicated([fence("first"), fence("second")])).toEqual([
      fence("first"),
      fence("second").replace(CODE, referenceTo(sha256Hex(CODE))),
    ]);
  });

  it("is left when that would save less than the tool costs, or when it has no UTF-8", () => {
    const small = "eight tokens are in here, and some more";
    expect(deduplicated([small, small])).toBeNull();
    expect(deduplicated([`${LONG}\ud800`, `${LONG}\ud800`])).toBeNull();
    expect(deduplicated([LONG, LONG], { ...LIMITS, minTokens: 5000 })).toBeNull();
    expect(
      deduplicated([LONG, LONG, LONG], { ...LIMITS, maxRepeats: 1 })?.filter((text) => text === LONG),
    ).toHaveLength(2);
  });

  it("has a reference that restores it, and its original is kept from lossy passes", () => {
    const text = fc.constantFrom(LONG, CODE, `a\n\`\`\`\n${CODE}\n\`\`\`\nb`, `${LONG}\n\n${LONG}`, "short", "");
    fc.assert(
      fc.property(fc.array(text, { maxLength: 8 }), (texts) => {
        const blocks = atOnce(blocksOf(texts, LIMITS.minTokens, 64));
        const repeats = atOnce(repeatsOf(texts, blocks, LIMITS));
        if (repeats === null) return;
        const byReference = new Map(
          [...hashed(repeats.originals)].map(([original, hash]) => [referenceTo(hash), original]),
        );
        const referring = repeats.refer(hashed(repeats.originals));
        const restored = referring.map((block) => ({
          ...block,
          current: byReference.get(block.current) ?? block.current,
        }));
        expect(withBlocks(texts, restored)).toEqual(texts);
        const firsts = referring.filter(
          ({ current, original }) => current === original && repeats.originals.includes(original),
        );
        expect(firsts.every(({ referred }) => referred)).toBe(true);
      }),
    );
  });
});

describe("the model's argument", () => {
  const hash = sha256Hex("x");
  it.each([hash, `ref:${hash}`, `[ref:${hash}]`, ` ${hash.toUpperCase()} `])("%s names a text", (given) => {
    expect(referredHash(given)).toBe(hash);
  });
  it.each([undefined, null, 5, {}, "", hash.slice(1), `${hash}0`, `../${hash}`, "x".repeat(1_000_000)])(
    "that is something else names none",
    (given) => {
      expect(referredHash(given)).toBeNull();
    },
  );
});

describe("which passes run", () => {
  const settings = { compression_code_compaction: true, compression_dedup: false, compression_allow_lossy: false };
  const policy = { enabled: true, code_compaction: false, dedup: true, allow_lossy: false };
  it.each([
    [null, false, { code: true, dedup: false, lossy: false }],
    [null, true, { code: true, dedup: false, lossy: true }],
    [policy, false, { code: false, dedup: true, lossy: false }],
    [policy, true, { code: false, dedup: true, lossy: true }],
    [{ ...policy, allow_lossy: true }, false, { code: false, dedup: true, lossy: true }],
    [{ ...policy, enabled: false }, false, null],
    [{ ...policy, enabled: false }, true, null],
  ])("policy %j, lossy asked: %j", (given, lossyAsked, passes) => {
    expect(passesFor(given, settings, lossyAsked)).toEqual(passes);
  });
});
