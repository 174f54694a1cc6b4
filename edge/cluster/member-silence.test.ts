/** Isolates that vanish without closing a connection (docs/rules/admission.md#leases-of-isolates). */
import { expect, it } from "vitest";
import { MemberSilence } from "./member-silence.ts";

const LEASE_MS = 25_000;
const EVERY_MS = 2_000;

function cell() {
  const silence = new MemberSilence(LEASE_MS, EVERY_MS);
  const gone: string[] = [];
  const quiet: string[] = [];
  /** Time passes, with an interval every two seconds, while these isolates call. */
  const pass = (ms: number, ...heard: readonly string[]): void => {
    for (let passed = 0; passed < ms; passed += EVERY_MS) {
      for (const member of heard) silence.heard(member);
      const now = silence.pass();
      gone.push(...now.gone);
      quiet.push(...now.quiet);
    }
  };
  return { silence, gone, quiet, pass };
}

it("takes an isolate to be gone that was silent for longer than its lease, and no other", () => {
  const { gone, pass } = cell();
  pass(10_000, "gone", "here");
  pass(28_000, "here");
  expect(gone).toEqual([]);
  pass(2_000, "here");
  expect(gone).toEqual(["gone"]);
  pass(60_000, "here");
  expect(gone).toEqual(["gone"]);
});

it("says that an isolate was not known, or taken to be gone", () => {
  const { silence, pass } = cell();
  expect({ first: silence.heard("back"), second: silence.heard("back") }).toEqual({ first: true, second: false });
  pass(30_000);
  expect(silence.heard("back")).toBe(false);
  pass(34_000);
  expect(silence.heard("back")).toBe(true);
});

it("waits for the longest lease that an isolate states, or the Cell's own if that is longer", () => {
  const { silence, gone, pass } = cell();
  silence.heard("longer", 45_000);
  silence.heard("longer", 10_000);
  silence.heard("longer");
  silence.heard("shorter", 10_000);
  pass(30_000);
  expect(gone).toEqual([]);
  pass(2_000);
  expect(gone).toEqual(["shorter"]);
  pass(18_000);
  expect(gone).toEqual(["shorter"]);
  pass(2_000);
  expect(gone).toEqual(["shorter", "longer"]);
});

it.each([Number.NaN, -1, Number.NEGATIVE_INFINITY, 0])("takes a lease of %s to be its own", (leaseMs) => {
  const { silence, gone, pass } = cell();
  silence.heard("odd", leaseMs);
  pass(30_000);
  expect(gone).toEqual([]);
  pass(2_000);
  expect(gone).toEqual(["odd"]);
});

it.each([Number.POSITIVE_INFINITY, 1e300, 300_001])(
  "takes a lease of %s to be the longest that there can be",
  (leaseMs) => {
    const { silence, gone, pass } = cell();
    silence.heard("odd", leaseMs);
    pass(304_000);
    expect(gone).toEqual([]);
    pass(4_000);
    expect(gone).toEqual(["odd"]);
  },
);

it("reports an isolate that falls quiet, once each time", () => {
  const { quiet, pass } = cell();
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
