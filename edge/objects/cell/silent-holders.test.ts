/** Isolates that vanish without closing a connection (docs/rules/admission.md#leases-of-isolates). */
import { expect, it } from "vitest";
import type { AdmissionEntry } from "./admission-entry.ts";
import { SilentHolders } from "./silent-holders.ts";

const SILENT_MS = 30_000;
const EVERY_MS = 2_000;

function cellWith(...holders: readonly (string | undefined)[]) {
  const ended: (string | undefined)[] = [];
  const entries = holders.map((holder) => ({ request: { holder } }) as AdmissionEntry);
  const silent = new SilentHolders({
    silentMs: SILENT_MS,
    everyMs: EVERY_MS,
    entries: { all: () => entries },
    isBack: () => undefined,
    takeBack: (entry) => {
      ended.push(entry.request.holder);
      entries.splice(entries.indexOf(entry), 1);
    },
  });
  /** Time passes, with a sweep every two seconds, while these isolates call. */
  const pass = (ms: number, ...heard: readonly string[]): void => {
    for (let passed = 0; passed < ms; passed += EVERY_MS) {
      for (const holder of heard) silent.heard(holder);
      silent.sweep();
    }
  };
  return { silent, ended, pass };
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
