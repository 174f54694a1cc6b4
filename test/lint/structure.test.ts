/** The structure rules report the defects of their fixtures and nothing else in them. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { upwardArrows } from "./arrows.ts";
import { deadExports } from "./dead-exports.ts";
import { equalNames } from "./equal-names.ts";
import { readModules } from "./modules.ts";

const fixture = (rule: string) => readModules(join(import.meta.dirname, "fixtures/structure", rule));

describe("equal-names", () => {
  const modules = fixture("equal-names");
  const files = ["edge/adapters/answer.ts", "edge/domain/lease.ts"];

  it("refuses one name for two things of a room, and lets a module pass a name on", () => {
    expect(equalNames(modules, [])).toEqual(["Refusal is exported by edge/adapters/answer.ts, edge/domain/lease.ts"]);
  });

  it("lets an exception with a reason pass", () => {
    expect(equalNames(modules, [{ name: "Refusal", files, reason: "both are sent" }])).toEqual([]);
  });

  it("refuses an exception that names other files, is not needed or states no reason", () => {
    expect(equalNames(modules, [{ name: "Refusal", files: files.slice(1), reason: "both are sent" }])).toEqual([
      "Refusal is exported by edge/adapters/answer.ts, edge/domain/lease.ts",
      "equal-names.json: Refusal is not exported by exactly edge/domain/lease.ts",
    ]);
    expect(equalNames(modules, [{ name: "Refusal", files, reason: " " }])).toEqual([
      "equal-names.json: the entry of Refusal states no reason",
    ]);
  });
});

describe("arrows", () => {
  it("refuses circles between the entries of a folder, drawn by types too, and names the arrow to turn", () => {
    expect(upwardArrows(fixture("arrows"))).toEqual([
      [
        "control: api imports services, but services -> health -> api",
        "  control/api/routes.ts imports { Verb } from control/services/verb.ts",
      ].join("\n"),
      [
        "edge: ports.ts imports domain, but domain -> ports.ts",
        "  edge/ports.ts imports { Core } from edge/domain/core.ts",
      ].join("\n"),
    ]);
  });
});

describe("dead-exports", () => {
  const modules = fixture("dead-exports");
  const dead = [
    "edge/worker.ts: Cell: no other module imports it",
    "edge/worker.ts: default: nothing uses it",
    "shared/tokens.ts: nobodys: nothing uses it",
    "shared/tokens.ts: OnlyInside: no other module imports it",
    "shared/tokens.ts: testedOnly: only tests use it",
    "shared/tokens.ts: first: only tests use it",
    "shared/tokens.ts: second: nothing uses it",
    "test/uses.ts: helper: nothing uses it",
  ];

  it("refuses what no other module imports and what only tests run", () => {
    expect(deadExports(modules, [])).toEqual(dead);
  });

  it("lets exceptions with a reason pass and refuses those that are not needed", () => {
    const runtime = { name: "default", files: ["edge/worker.ts"], reason: "the runtime calls it" };
    const needless = { name: "counted", files: ["shared/tokens.ts"], reason: "none" };
    expect(deadExports(modules, [runtime])).toEqual(dead.filter((line) => !line.includes("default")));
    expect(deadExports(modules, [runtime, needless])).toContain(
      "dead-exports.json: counted of shared/tokens.ts needs no exception",
    );
  });
});
