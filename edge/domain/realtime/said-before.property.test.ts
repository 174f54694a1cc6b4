/**
 * The earlier text that an item is examined with, whatever is added, refused and accepted before it
 * (docs/rules/realtime.md#guardrails).
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SaidBefore } from "./said-before.ts";

/** Characters of earlier text that are examined with an item. */
const READ_TOGETHER = 1_024;

/** Texts of some long runs: of letters, blanks, and characters of two units. */
const run = fc.tuple(fc.constantFrom("a", "-", "長", "😀", " ", "\n", "word "), fc.integer({ min: 1, max: 1_500 }));
const aText = fc
  .array(run, { maxLength: 3 })
  .map((runs) => runs.map(([text, count]) => text.repeat(count).slice(0, count)).join(""));
/** Texts that often are the same, or none. */
const text = fc.oneof(aText, fc.constantFrom("", " ", "hello ".repeat(300)));
/** Adds an item, or lets the upstream refuse or accept the oldest event that is still undecided. */
const step = fc.oneof(
  text.map((said) => ({ said })),
  fc.constantFrom({ isRefused: true }, { isRefused: true, isNewest: true }, { isRefused: false }),
);

interface Item {
  readonly id: string;
  readonly said: string;
  readonly examined: string;
  state: "sent" | "accepted" | "refused";
}

/** The added items in order, and whether the session continues. */
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const contentsOf = (contents: string) => ({ contents: [contents], isSystem: false, beside: [] });
const readBefore = (before: SaidBefore): string =>
  before
    .before(false)
    .flatMap(({ texts }) => texts)
    .join("");

function played(steps: readonly Step[]) {
  const before = new SaidBefore();
  const items: Item[] = [];
  for (const one of steps) {
    if ("said" in one) {
      const id = `event_${items.length + 1}_`;
      const examined = `${readBefore(before)}${one.said}`;
      before.add(contentsOf(one.said), id);
      items.push({ id, said: one.said, examined, state: "sent" });
      continue;
    }
    const open = items.filter(({ state }) => state === "sent");
    const item = "isNewest" in one ? open.at(-1) : open[0];
    if (item === undefined) continue;
    item.state = one.isRefused ? "refused" : "accepted";
    if (one.isRefused && !before.refused(item.id)) return { items, hasEnded: true };
  }
  return { items, hasEnded: false };
}

describe("an item", () => {
  it("is examined behind the last 1,024 characters that the model reads before it", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const { items, hasEnded } = played(steps);
        fc.pre(!hasEnded);
        let read = "";
        // of an item without text there is nothing to find
        for (const { said, examined, state } of items) {
          if (state === "refused" || said === "") continue;
          expect(examined.endsWith(`${read.slice(-READ_TOGETHER)}${said}`)).toBe(true);
          read += said;
        }
      }),
    );
  });

  it("is examined behind what is read before it, with system messages where they stand and first", () => {
    const item = fc.record({ contents: text, isSystem: fc.boolean() });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 8 }), (items) => {
        const before = new SaidBefore();
        const read = { system: "", others: "", all: "" };
        for (const [nth, { contents, isSystem }] of items.entries()) {
          const earlier = before.before(isSystem);
          const systemFirst = [...earlier].sort((a, b) => Number(b.from === "system") - Number(a.from === "system"));
          const ends = [earlier, isSystem ? earlier.filter(({ from }) => from === "system") : systemFirst].map(
            (texts) => texts.flatMap((one) => one.texts).join(""),
          );
          const last = (given: string) => given.slice(-READ_TOGETHER);
          const first = isSystem ? read.system : read.system + read.others;
          expect({
            asGiven: ends[0]?.endsWith(last(read.all)),
            systemFirst: ends[1]?.endsWith(last(first)),
          }).toEqual({ asGiven: true, systemFirst: true });
          before.add({ contents: [contents], isSystem, beside: [] }, `event_${nth + 1}_`);
          read.all += contents;
          read[isSystem ? "system" : "others"] += contents;
        }
      }),
    );
  });

  it("that is refused before another one follows does not end the session", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(text, fc.boolean()), { maxLength: 12 }), (texts) => {
        const steps = texts.flatMap(([said, isRefused]): readonly Step[] => [
          { said },
          isRefused ? { isRefused } : { isRefused: false },
        ]);
        expect(played(steps).hasEnded).toBe(false);
      }),
    );
  });

  it("whose event was forgotten ends the session when refused, and what is no item does not", () => {
    const before = new SaidBefore();
    for (let nth = 1; nth <= 1_030; nth += 1) before.add(contentsOf(`text ${nth}`), `event_${nth}_`);
    expect({
      forgotten: before.refused("event_1_"),
      later: before.refused("event_2000_"),
      own: before.refused("event_gateway_1"),
    }).toEqual({ forgotten: false, later: true, own: true });
  });

  it("is examined behind a whole word, if that is short", () => {
    const before = new SaidBefore();
    before.add(contentsOf(`one harmless${"-".repeat(20)} ${"x".repeat(1_000)}`), "event_1_");
    expect(readBefore(before).startsWith("harmless")).toBe(true);
  });
});
