/** Isolates that vanish without closing a connection (docs/rules/admission.md#leases-of-isolates). */
import { beforeEach, expect, it, vi } from "vitest";
import type { AdmissionEntry } from "../../domain/admission/admission-entry.ts";
import { SilentMembers } from "./silent-members.ts";

const LEASE_MS = 25_000;
const EVERY_MS = 2_000;

beforeEach(() => vi.useFakeTimers());

/** A Cell in which each of these isolates has one request. */
function cellWith(...members: readonly string[]) {
  const ended: string[] = [];
  const quiet: string[] = [];
  const lapsed: string[] = [];
  const entries = members.map((member) => ({ member }) as AdmissionEntry);
  const silent = new SilentMembers({
    leaseMs: LEASE_MS,
    everyMs: EVERY_MS,
    admission: {
      liveOf: (member) => entries.filter((entry) => entry.member === member),
      giveUp: (entry, awaited) => {
        ended.push(entry.member);
        entries.splice(entries.indexOf(entry), 1);
        awaited?.(() => lapsed.push(entry.member));
      },
      quiet: (member) => quiet.push(member),
    },
    later: (delayMs, run) => void setTimeout(run, delayMs),
  });
  /** Time passes, with a sweep every two seconds, while these isolates call. */
  const pass = (ms: number, ...heard: readonly string[]): void => {
    for (let passed = 0; passed < ms; passed += EVERY_MS) {
      for (const member of heard) silent.heard(member, undefined);
      silent.sweep();
    }
  };
  return { silent, ended, quiet, lapsed, pass };
}

it("ends the requests of an isolate that was silent for as long as that, and of no other", () => {
  const { ended, pass } = cellWith("gone", "here", "gone", "never heard");
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
  silent.heard("idle", undefined);
  pass(10_000, "gone", "here");
  pass(60_000, "here");
  const lives = ["gone", "here", "idle"].map((member) => silent.lifeFor(member, "life"));
  expect(lives).toEqual(["life/1", "life", "life"]);
});

it("lets rows wait until the isolate is heard again, and at most five minutes", () => {
  const { silent, lapsed, pass } = cellWith("back", "gone");
  pass(4_000, "back", "gone");
  pass(60_000);
  expect(lapsed).toEqual([]);
  silent.heard("back", undefined);
  expect(lapsed).toEqual(["back"]);
  vi.advanceTimersByTime(299_999);
  expect(lapsed).toEqual(["back"]);
  vi.advanceTimersByTime(1);
  expect(lapsed).toEqual(["back", "gone"]);
});

it("waits for the longest lease that an isolate states, or the Cell's own if that is longer", () => {
  const { silent, ended, pass } = cellWith("longer", "shorter");
  silent.heard("longer", 45_000);
  silent.heard("longer", 10_000);
  silent.heard("longer", undefined);
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

it("reports an isolate that falls quiet, once each time", () => {
  const { quiet, pass } = cellWith("gone", "here");
  pass(2_000, "gone", "here");
  expect(quiet).toEqual([]);
  pass(2_000, "here");
  expect(quiet).toEqual(["gone"]);
  pass(8_000, "here");
  expect(quiet).toEqual(["gone"]);
  pass(2_000, "gone", "here");
  pass(4_000, "here");
  expect(quiet).toEqual(["gone", "gone"]);
});
