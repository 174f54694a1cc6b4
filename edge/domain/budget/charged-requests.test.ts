import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Actual, plusUsed } from "./amounts.ts";
import type { SettleLine } from "./api.ts";
import { ChargedRequests } from "./charged-requests.ts";
import { limitsWith } from "./testing/world.ts";

const DRAWN = { bucketTokens: 30, termTokens: 40, nanoUsd: 50 };
const used = (tokens: number): Actual => ({ tokens, nanoUsd: tokens * 2 });

function line(amount: number, request?: SettleLine["request"]): SettleLine {
  const tags = { tenant: "l:0", key: "l:0" };
  const base = {
    purse: null,
    limits: limitsWith({}),
    tags,
    released: DRAWN,
    used: used(amount),
    kind: "settled",
  } as const;
  return request === undefined ? base : { ...base, request };
}

/** What is charged for lines in all, and how many tokens go back to the bucket; each by an object that starts anew. */
function sum(lines: readonly SettleLine[]) {
  let stored: ChargedRequests["all"] = [];
  let total = used(0);
  let returnedTokens = 0;
  for (const each of lines) {
    const charged = new ChargedRequests(JSON.parse(JSON.stringify(stored)) as ChargedRequests["all"]);
    const due = charged.due(each);
    stored = charged.all;
    total = plusUsed(total, due.used);
    returnedTokens += due.returnedTokens;
  }
  return { tokens: total.tokens, nanoUsd: total.nanoUsd, returnedTokens };
}

describe("a request whose end may be told twice", () => {
  it("is charged once, the larger of estimate and use, and its tokens go back once, in whatever order that is told", () => {
    fc.assert(
      fc.property(fc.nat(100), fc.nat(100), fc.boolean(), (estimate, end, late) => {
        const lost = line(estimate, { id: "r", goesOn: true, since: false });
        const ended = line(end, { id: "r", goesOn: false, since: false });
        const charged = Math.max(estimate, end);
        expect(sum(late ? [ended, lost] : [lost, ended])).toEqual({ ...used(charged), returnedTokens: 30 });
      }),
    );
  });

  it("is charged what it used since, when the life that lost sight of it has it back", () => {
    const lost = line(40, { id: "r", goesOn: true, since: false });
    const since = [5, 6].map((amount) => line(amount, { id: "r", goesOn: true, since: true }));
    const end = line(9, { id: "r", goesOn: false, since: true });
    expect(sum([lost, ...since, end])).toEqual({ ...used(60), returnedTokens: 30 });
    expect(sum([lost, ...since, end, lost])).toEqual({ ...used(60), returnedTokens: 30 });
  });

  it("is charged the largest of what is told by lives each of which lost sight of it", () => {
    const tells = fc.array(fc.record({ amount: fc.nat(100), goesOn: fc.boolean() }), { minLength: 1 });
    fc.assert(
      fc.property(tells, (told) => {
        const lines = told.map(({ amount, goesOn }) => line(amount, { id: "r", goesOn, since: false }));
        const largest = Math.max(...told.map(({ amount }) => amount));
        expect(sum(lines)).toEqual({ ...used(largest), returnedTokens: 30 });
      }),
    );
  });

  it("is another than every other, and than sums of many", () => {
    const lines = [
      line(1),
      line(2, { id: "a", goesOn: true, since: false }),
      line(4, { id: "b", goesOn: false, since: false }),
      line(8),
    ];
    expect(sum(lines)).toEqual({ ...used(15), returnedTokens: 120 });
  });

  it("is remembered among the latest thousand", () => {
    const charged = new ChargedRequests([]);
    for (let at = 0; at < 1_500; at += 1) charged.due(line(1, { id: `r${at}`, goesOn: true, since: false }));
    expect(charged.all).toHaveLength(1_000);
    expect(charged.due(line(9, { id: "r1499", goesOn: false, since: false })).used).toEqual(used(8));
    expect(charged.due(line(9, { id: "r499", goesOn: false, since: false })).used).toEqual(used(9));
  });
});
