/** @module-tag check */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runPhases } from "./run-phases.ts";
import type { Step } from "./steps.ts";
import { summary } from "./summary.ts";

function scripts(): { readonly folder: string; readonly step: (name: string, script: string) => Step } {
  const folder = mkdtempSync(join(tmpdir(), "gateway-phases-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const step = (name: string, script: string): Step => {
    const file = join(folder, `${name}.mjs`);
    writeFileSync(file, script);
    return { name, run: [file] };
  };
  return { folder, step };
}

describe("the steps of a tier", () => {
  it("run at the same time in different lanes", async () => {
    const { folder, step } = scripts();
    const meet = (own: string, other: string): Step =>
      step(
        own,
        `import { existsSync, writeFileSync } from "node:fs";
         writeFileSync(${JSON.stringify(join(folder, own))}, "");
         while (!existsSync(${JSON.stringify(join(folder, other))})) await new Promise((next) => setTimeout(next, 5));`,
      );
    const results = await runPhases([[[meet("a", "b")], [meet("b", "a")]]], folder, {});
    expect(
      results.map(({ name, outcome }) => ({ name, outcome })).toSorted((x, y) => x.name.localeCompare(y.name)),
    ).toEqual([
      { name: "a", outcome: "passed" },
      { name: "b", outcome: "passed" },
    ]);
  });

  it("start no further one after a failure, and let the others end", async () => {
    const { folder, step } = scripts();
    const phases = [
      [[step("fails", "process.exit(3)"), step("after", "")], [step("beside", "setTimeout(() => {}, 50)")]],
      [[step("later", "")]],
    ];
    const results = await runPhases(phases, folder, {});
    const outcomes = Object.fromEntries(results.map(({ name, outcome }) => [name, outcome]));
    expect(outcomes).toEqual({ fails: "FAILED", beside: "passed" });
  });

  it("all run when the tier continues after a failure", async () => {
    const { folder, step } = scripts();
    const phases = [[[step("fails", "process.exit(3)"), step("after", "")]], [[step("later", "")]]];
    const results = await runPhases(phases, folder, {}, true);
    expect(results.map(({ name, outcome }) => ({ name, outcome }))).toEqual([
      { name: "fails", outcome: "FAILED" },
      { name: "after", outcome: "passed" },
      { name: "later", outcome: "passed" },
    ]);
  });

  it("continue after a step that this machine cannot run", async () => {
    const { folder, step } = scripts();
    const lane = [step("impossible", "process.exit(77)"), step("after", "")];
    const results = await runPhases([[lane]], folder, {});
    expect(results.map(({ outcome }) => outcome)).toEqual(["skipped", "passed"]);
  });

  it("get the variables of the tier and their own", async () => {
    const { folder, step } = scripts();
    const check = step("env", "process.exit(process.env.OF_TIER === 'tier' && process.env.OWN === 'own' ? 0 : 1)");
    const [result] = await runPhases([[[{ ...check, env: { OWN: "own" } }]]], folder, { OF_TIER: "tier" });
    expect(result?.outcome).toBe("passed");
  });
});

describe("the summary", () => {
  it("lists every step, the twenty slowest files, what failed and the number of tests", () => {
    const files = Array.from({ length: 30 }, (_, at) => ({
      project: "unit",
      file: `${at}.test.ts`,
      durationMs: at * 1000,
      passed: 2,
      failures: at === 3 ? [{ title: "adds", error: "expected 2 to be 3\nat all" }] : [],
    }));
    const lines = summary([{ name: "units", outcome: "FAILED", durationMs: 61_200 }], files).split("\n");
    expect({
      step: lines[0],
      slowest: lines[3],
      listed: lines.filter((line) => line.includes("s  unit       ")).length,
      failed: lines.slice(-5, -2),
    }).toEqual({
      step: "   61 s  units  FAILED",
      slowest: "   29 s  unit       29.test.ts",
      listed: 20,
      failed: ["3.test.ts > adds", "    expected 2 to be 3", "    at all"],
    });
    expect(lines.at(-1)).toBe("60 passed, 1 failed");
  });
});
