/** Isolates that vanish without closing a connection (docs/rules/admission.md#leases-of-isolates). */
import { expect, it } from "vitest";
import type { AdmissionEntry } from "./admission-entry.ts";
import { SilentHolders } from "./silent-holders.ts";

const LEASE_MS = 25_000;
const EVERY_MS = 2_000;

function cellWith(...holders: readonly (string | undefined)[]) {
  const ended: (string | undefined)[] = [];
  const quiet: (string | undefined)[] = [];
  const entries = holders.map((holder) => ({ request: { holder } }) as AdmissionEntry);
  const silent = new SilentHolders({
    leaseMs: LEASE_MS,
    everyMs: EVERY_MS,
    entries: { all: () => entries },
    isBack: () => undefined,
    takeBack: (entry) => {
      ended.push(entry.request.holder);
      entries.splice(entries.indexOf(entry), 1);
    },
    unheard: ({ request }) => quiet.push(request.holder),
  });
  /** Time passes, with a sweep every two seconds, while these isolates call. */
  const pass = (ms: number, ...heard: readonly string[]): void => {
    for (let passed = 0; passed < ms; passed += EVERY_MS) {
      for (const holder of heard) silent.heard(holder);
      silent.sweep();
    }
  };
  return { silent, ended, quiet, pass };
}

it("ends the requests of an isolate that was silent for as long as that, and of no other", () => {
  const { silent, ended, pass } = cellWith("gone", "here", "gone", undefined, "never heard");
  silent.heard(undefined);
  pass(10_000, "gone", "here");
  pass(28_000, "here");
  expect(ended).toEqual([]);
  pass(2_000, "here");
  expect(ended).toEqual(["gone", "gone"]);
  pass(60_000, "here");
  expect(ended).toEqual(["gone", "gone"]);
});

it("shows an isolate another life when something was taken back from it, and nobody else", () => {
  const { silent, pass } = cellWith("gone", "here");
  silent.heard("idle");
  pass(10_000, "gone", "here");
  pass(60_000, "here");
  const lives = ["gone", "here", "idle"].map((holder) => silent.lifeFor(holder, "life"));
  expect(lives).toEqual(["life/1", "life", "life"]);
});

it("waits for the longest lease that an isolate states, or the Cell's own if that is longer", () => {
  const { silent, ended, pass } = cellWith("longer", "shorter");
  silent.heard("longer", 45_000);
  silent.heard("longer", 10_000);
  silent.heard("longer");
  silent.heard("shorter", 10_000);
  pass(30_000);
  expect(ended).toEqual([]);
  pass(2_000);
  expect(ended).toEqual(["shorter"]);
  pass(18_000);
  expect(ended).toEqual(["shorter"]);
  pass(2_000);
  expect(ended).toEqual(["shorter", "longer"]);
});

it.each([Number.NaN, -1, Number.NEGATIVE_INFINITY, 0])("takes a lease of %s to be its own", (leaseMs) => {
  const { silent, ended, pass } = cellWith("odd");
  silent.heard("odd", leaseMs);
  pass(30_000);
  expect(ended).toEqual([]);
  pass(2_000);
  expect(ended).toEqual(["odd"]);
});

it.each([Number.POSITIVE_INFINITY, 1e300, 300_001])(
  "takes a lease of %s to be the longest that there can be",
  (leaseMs) => {
    const { silent, ended, pass } = cellWith("odd");
    silent.heard("odd", leaseMs);
    pass(304_000);
    expect(ended).toEqual([]);
    pass(4_000);
    expect(ended).toEqual(["odd"]);
  },
);

it("reports each request of an isolate that falls quiet, once each time", () => {
  const { quiet, pass } = cellWith("gone", "here", "gone", undefined);
  pass(2_000, "gone", "here");
  expect(quiet).toEqual([]);
  pass(2_000, "here");
  expect(quiet).toEqual(["gone", "gone"]);
  pass(8_000, "here");
  expect(quiet).toEqual(["gone", "gone"]);
  pass(2_000, "gone", "here");
  pass(4_000, "here");
  expect(quiet).toEqual(["gone", "gone", "gone", "gone"]);
});
