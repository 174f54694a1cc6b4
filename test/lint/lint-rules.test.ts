/**
 * Linter rules enforce what the code relies on; here each rule meets a file that breaks it. A fixture that passes means
 * that the rule no longer works (docs/architecture.md#dependency-direction, docs/rules/tests.md#guards-have-bad-fixtures).
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const FIXTURES = "test/lint/fixtures";
/** A folder of fixtures whose rules are not the linter's: `structure.test.ts` expects their findings. */
const STRUCTURE = "structure/";

/** Fixture -> the rule that must report it. */
const EXPECTED: Readonly<Record<string, string>> = {
  "shared/imports-hono.ts": "no-restricted-imports",
  "shared/imports-room.ts": "no-restricted-imports",
  "edge/imports-control.ts": "no-restricted-imports",
  "edge/domain/imports-adapter.ts": "no-restricted-imports",
  "edge/domain/imports-package.ts": "no-restricted-imports",
  "edge/domain/reads-clock.ts": "no-restricted-globals",
  "edge/domain/takes-chance.ts": "no-restricted-properties",
  "edge/domain/calls-fetch.ts": "no-restricted-globals",
  "edge/domain/prints.ts": "no-restricted-globals",
  "edge/pipeline/imports-adapter.ts": "no-restricted-imports",
  "edge/routes/imports-object.ts": "no-restricted-imports",
  "edge/objects/imports-adapter.ts": "no-restricted-imports",
  "edge/objects/imports-pipeline.ts": "no-restricted-imports",
  "control/imports-edge.ts": "no-restricted-imports",
  "control/services/imports-hono.ts": "no-restricted-imports",
  "control/publish/imports-service.ts": "no-restricted-imports",
  "control/kernel/imports-alerts.ts": "no-restricted-imports",
  "control/api/imports-drizzle.ts": "no-restricted-imports",
  "control/provisioner/core/imports-port.ts": "no-restricted-imports",
  "control/provisioner/core/reads-clock.ts": "no-restricted-properties",
  "browser/imports-control.ts": "no-restricted-imports",
  "browser/ui/imports-data.ts": "no-restricted-imports",
  "browser/data/imports-page.ts": "no-restricted-imports",
  "browser/pages/first/imports-page.ts": "no-restricted-imports",
  "control/cycle-a.ts": "no-cycle",
  "control/floats.ts": "no-floating-promises",
  "control/any.ts": "no-explicit-any",
  "control/default-export.ts": "no-default-export",
  "control/prints.ts": "no-console",
  "control/too-long.ts": "max-lines",
};

/** Files that the fixtures only import, or that break a rule of another test. */
const INNOCENT = [
  "citations/cites.ts",
  "edge/thing.ts",
  "edge/adapters/open.ts",
  "edge/objects/cell.ts",
  "edge/pipeline/step.ts",
  "control/verb.ts",
  "control/alerts/sink.ts",
  "control/services/verb.ts",
  "control/cycle-b.ts",
  "browser/data/api.ts",
  "browser/pages/first/first.ts",
  "browser/pages/second/second.ts",
];

interface Diagnostic {
  readonly code: string;
  readonly filename: string;
}

function lint(): readonly Diagnostic[] {
  const run = spawnSync(
    process.execPath,
    [join(ROOT, "node_modules/oxlint/bin/oxlint"), "--type-aware", "--format=json", FIXTURES],
    {
      cwd: ROOT,
      encoding: "utf8",
    },
  );
  return (JSON.parse(run.stdout) as { diagnostics: Diagnostic[] }).diagnostics;
}

describe("lint rules", () => {
  const found = lint();

  it.each(Object.entries(EXPECTED))("%s is refused by %s", (file, rule) => {
    expect(existsSync(join(ROOT, FIXTURES, file))).toBe(true);
    const rules = found.filter((entry) => entry.filename.endsWith(`${FIXTURES}/${file}`)).map((entry) => entry.code);
    expect(rules.some((code) => code.includes(rule))).toBe(true);
  });

  it("has an expectation for every fixture", () => {
    const files = readdirSync(join(ROOT, FIXTURES), { recursive: true, encoding: "utf8" }).filter(
      (name) => name.endsWith(".ts") && !name.startsWith(STRUCTURE),
    );
    expect(files.sort()).toEqual([...Object.keys(EXPECTED), ...INNOCENT].sort());
  });
});
