import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ActualUsage, plus } from "../amounts.ts";
import { ChargedRequests, type ReportedRequest } from "./charged-requests.ts";
import type { StoredCharged } from "./stored.ts";

const DRAWN_TOKENS = 30;
const used = (tokens: number): ActualUsage => ({ tokens, nanoUsd: tokens * 2 });

/** A life's report of requests: that it adopted one, or the use of one. */
interface Word {
  readonly life: number;
  readonly adopts?: string;
  readonly amount?: number;
  readonly request?: Pick<ReportedRequest, "id" | "goesOn" | "since">;
}

const adopts = (life: number, adopted = "r"): Word => ({ life, adopts: adopted });
const lost = (life: number, amount: number, since = false): Word => ({
  life,
  amount,
  request: { id: "r", goesOn: true, since },
});
const ends = (life: number, amount: number, since = false): Word => ({
  life,
  amount,
  request: { id: "r", goesOn: false, since },
});

function toldOf({ amount = 0, request = { id: "", goesOn: false, since: false } }: Word): ReportedRequest {
  return { ...request, used: used(amount), drawn: used(DRAWN_TOKENS) };
}

/** The total result of reports, each received by an object that restarts from its stored state. */
function sum(words: readonly Word[]) {
  let stored: StoredCharged = [];
  let total = used(0);
  const came = { returnedTokens: 0, releases: 0, takes: 0, holdsAnew: 0 };
  for (const word of words) {
    const charged = new ChargedRequests(JSON.parse(JSON.stringify(stored)) as StoredCharged);
    if (word.adopts === undefined) {
      const due = charged.reported(toldOf(word), word.life);
      total = plus(total, due.used);
      came.returnedTokens += due.returns ? DRAWN_TOKENS : 0;
      came.releases += due.releases ? 1 : 0;
    } else {
      const drawn = charged.adopted(word.adopts, word.life);
      came.takes += drawn === "older" ? 1 : 0;
      came.holdsAnew += drawn === "nowhere" ? 1 : 0;
    }
    stored = charged.takeChanged() ?? stored;
  }
  return { tokens: total.tokens, nanoUsd: total.nanoUsd, ...came };
}

describe("a request that several lives of a cell report", () => {
  it("is debited once, above what it had drawn at once and the rest when that returns", () => {
    const charged = new ChargedRequests([]);
    charged.adopted("r", 2);
    const debits = [lost(1, 20), lost(1, 40), ends(2, 45)].map(
      (word) => charged.reported(toldOf(word), word.life).debit.tokens,
    );
    expect(debits).toEqual([0, 40 - DRAWN_TOKENS, 45 - (40 - DRAWN_TOKENS)]);
  });

  it("is charged its largest reported use and gives tokens back once, in any report order", () => {
    const words = [adopts(2), adopts(3), lost(1, 20), lost(2, 25), ends(3, 22)];
    const order = fc.shuffledSubarray(words, { minLength: words.length });
    fc.assert(
      fc.property(order, (heard) => {
        const { tokens, nanoUsd, returnedTokens } = sum(heard);
        expect({ tokens, nanoUsd, returnedTokens }).toEqual({ ...used(25), returnedTokens: 30 });
      }),
    );
  });

  it("holds what it drew once: what it takes over or holds again is released, and no more", () => {
    // Drawn by life 1, which is charged for it.
    const out = (heard: readonly Word[]) => {
      const { holdsAnew, releases } = sum(heard);
      return 1 + holdsAnew - releases;
    };
    expect(out([ends(1, 5)])).toBe(0);
    expect(out([adopts(2), ends(2, 5)])).toBe(0);
    expect(out([lost(1, 5), adopts(2), ends(2, 5)])).toBe(0);
    expect(out([adopts(2), lost(1, 5), ends(2, 5)])).toBe(0);
    expect(out([adopts(2), ends(2, 5), lost(1, 5)])).toBe(0);
    expect(out([adopts(2), lost(2, 5), adopts(3), ends(3, 5)])).toBe(0);
    expect(out([adopts(3), adopts(2), lost(2, 5), ends(3, 5)])).toBe(0);
  });

  it("is charged what it used since, when the life that lost contact with it has it back", () => {
    const words = [lost(1, 40), lost(1, 5, true), lost(1, 6, true), ends(1, 9, true)];
    expect(sum(words)).toMatchObject({ ...used(60), returnedTokens: 30 });
    expect(sum([...words, lost(1, 40)])).toMatchObject({ ...used(60), returnedTokens: 30 });
  });

  it("is distinct from every other request", () => {
    const other: Word = { life: 1, amount: 4, request: { id: "b", goesOn: false, since: false } };
    expect(sum([lost(1, 2), other])).toMatchObject({ ...used(6), returnedTokens: 60 });
  });

  it("is remembered among the latest thousand, and stored when something has changed", () => {
    const charged = new ChargedRequests([]);
    expect(charged.takeChanged()).toBeNull();
    for (let at = 0; at < 1_500; at += 1) charged.adopted(`r${at}`, 1);
    expect(charged.takeChanged()).toHaveLength(1_000);
    expect(charged.takeChanged()).toBeNull();
    charged.reported(toldOf(ends(1, 1)), 1);
    expect(charged.takeChanged()).toHaveLength(1_000);
  });
});
