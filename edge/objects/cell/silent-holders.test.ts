/** Isolates that vanish without closing a connection (docs/rules/admission.md#between-owners). */
import { expect, it } from "vitest";
import type { AdmissionEntry } from "./admission-entry.ts";
import { SilentHolders } from "./silent-holders.ts";

const SILENT_MS = 25_000;
const EVERY_MS = 2_000;

function cellWith(...holders: readonly (string | undefined)[]) {
  const clock = { nowMs: 1_000_000 };
  const ended: (string | undefined)[] = [];
  const entries = holders.map((holder) => ({ request: { holder } }) as AdmissionEntry);
  const silent = new SilentHolders({
    silentMs: SILENT_MS,
    now: () => clock.nowMs,
    entries: { all: () => entries },
    abandon: (entry) => void ended.push(entry.request.holder),
  });
  /** Time passes, with a sweep every two seconds, while these isolates call. */
  const pass = (ms: number, ...heard: readonly string[]): void => {
    for (let passed = 0; passed < ms; passed += EVERY_MS) {
      clock.nowMs += EVERY_MS;
      for (const holder of heard) silent.heard(holder);
      silent.sweep();
    }
  };
  return { clock, silent, ended, pass };
}

it("ends the requests of an isolate that was silent for longer than a request waits, and of no other", () => {
  const { ended, pass } = cellWith("gone", "here", "gone", undefined, "never heard");
  pass(10_000, "gone", "here");
  pass(24_000, "here");
  expect(ended).toEqual([]);
  pass(2_000, "here");
  expect(ended).toEqual(["gone", "gone"]);
});

it("takes nobody to be silent after this object was paused itself, or its clock was set", () => {
  for (const stepMs of [60_000, -3_600_000]) {
    const { clock, ended, pass } = cellWith("here");
    pass(10_000, "here");
    clock.nowMs += stepMs;
    pass(20_000);
    expect(ended).toEqual([]);
    pass(10_000);
    expect(ended).toEqual(["here"]);
  }
});
