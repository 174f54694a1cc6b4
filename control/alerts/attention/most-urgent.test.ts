/** The order of what a person has to act on (docs/rules/attention.md#kinds). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SEVERITIES } from "../../../shared/catalogues/alerts.ts";
import { ATTENTION_KINDS, type AttentionItem } from "../../../shared/schema/attention.ts";
import { mostUrgent } from "./get-attention.ts";

const NOW_MS = Date.parse("2026-11-21T08:00:00.000Z");
const iso = (ms: number): string => new Date(ms).toISOString();

describe("the order", () => {
  it("is that of severity, kind and age, muted ones last, and at most 200 are shown", () => {
    const item = fc.record({
      kind: fc.constantFrom(...ATTENTION_KINDS),
      entity_type: fc.constant("gateway" as const),
      entity_id: fc.string(),
      name: fc.string(),
      detail: fc.string(),
      since: fc.option(
        fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(NOW_MS) }).map((at) => at.toISOString()),
      ),
      severity: fc.constantFrom(...SEVERITIES),
      alert_key: fc.constant(null),
      muted_until: fc.option(fc.constant(iso(NOW_MS))),
    });
    const rankOf = ({ kind, severity, muted_until }: AttentionItem): readonly number[] => [
      Number(muted_until !== null),
      -SEVERITIES.indexOf(severity),
      ATTENTION_KINDS.indexOf(kind),
    ];
    fc.assert(
      fc.property(fc.array(item, { maxLength: 300, size: "max" }), (items) => {
        const shown = mostUrgent(items);
        const kindsOf = (list: readonly AttentionItem[]): Set<string> => new Set(list.map(({ kind }) => kind));
        expect({ count: shown.length, kinds: kindsOf(shown) }).toEqual({
          count: Math.min(200, items.length),
          kinds: kindsOf(items),
        });
        for (const [at, one] of shown.entries()) {
          const before = shown[at - 1];
          if (before === undefined) continue;
          const [was, is] = [rankOf(before), rankOf(one)];
          const step = is.map((rank, part) => rank - (was[part] ?? 0)).find((difference) => difference !== 0) ?? 0;
          expect(step).toBeGreaterThanOrEqual(0);
          if (step === 0) expect((before.since ?? "") <= (one.since ?? "")).toBe(true);
        }
      }),
      { numRuns: 50 },
    );
  });
});
