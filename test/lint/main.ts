/**
 * `npm run lint`: oxlint, and the rules about the source tree that it does not have. Shows every finding, and fails when there
 * is one. It then gives the deliberately bad files below `fixtures` to the same rules, which must find exactly the lines of
 * `fixtures/findings.txt`, so that no rule stops working unnoticed (docs/rules/tests.md#guards-have-bad-fixtures).
 */
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { upwardArrows } from "./arrows.ts";
import { citationFaults } from "./citations.ts";
import { deadExports } from "./dead-exports.ts";
import { equalNames } from "./equal-names.ts";
import { readModules, type SourceModule } from "./modules.ts";

const ROOT = join(import.meta.dirname, "../..");
const FIXTURES = "test/lint/fixtures";
/** Below it are small repositories, one for each rule that is not oxlint's. */
const STRUCTURE = `${FIXTURES}/structure`;
const LINTED = ["edge", "control", "shared", "browser", "infra", "test", "vitest.config.ts"];

interface Rule {
  readonly find: (modules: readonly SourceModule[], root: string) => readonly string[];
  /** What to do about a finding. */
  readonly cure: string;
}

const RULES: Readonly<Record<string, Rule>> = {
  arrows: {
    find: upwardArrows,
    cure: "Move what is imported into a module below both, or turn the import around.",
  },
  citations: {
    find: (_modules, root) => citationFaults(root),
    cure: "Cite a file, a heading or a test of this repository.",
  },
  "dead-exports": {
    find: deadExports,
    cure: "Remove `export` or the code, or import it: test/lint/dead-exports.ts has the rule.",
  },
  "equal-names": {
    find: equalNames,
    cure: "Give one of them a name of its own, or let one module export it and the others import it.",
  },
};
const FIXTURE_CURE =
  "Repair the rule that no longer works, or change fixtures/findings.txt where the rule was meant to change.";

function oxlint(args: readonly string[], stdout: "inherit" | "pipe") {
  return spawnSync(process.execPath, [join(ROOT, "node_modules/oxlint/bin/oxlint"), "--type-aware", ...args], {
    cwd: ROOT,
    encoding: "utf8",
    stdio: ["ignore", stdout, "inherit"],
  });
}

/** What the rules find in the bad files, as lines of `findings.txt`. */
function fixtureFindings(): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "gateway-lint-"));
  // Nobody reads a file that is too long, so that it is made for the run.
  const long = join(folder, "too-long.ts");
  writeFileSync(long, `export {};${"\n".repeat(401)}`);
  const { stdout } = oxlint(["--format=json", "--ignore-pattern", STRUCTURE, FIXTURES, long], "pipe");
  rmSync(folder, { recursive: true });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { readonly code: string; readonly filename: string }[] };
  const nameOf = (path: string): string => (path === long ? basename(long) : path.slice(FIXTURES.length + 1));
  const found = Object.entries(RULES).flatMap(([name, { find }]) => {
    const root = join(ROOT, STRUCTURE, name);
    return find(readModules(root), root).map((line) => `${name}: ${line}`);
  });
  return [...diagnostics.map(({ code, filename }) => `${nameOf(filename)}: ${code}`), ...found];
}

/** Where the bad files are not found as they must be, and bad files of oxlint's rules without an expectation. */
function fixtureFaults(): readonly string[] {
  const found = fixtureFindings();
  const expected = readFileSync(join(ROOT, FIXTURES, "findings.txt"), "utf8")
    .trimEnd()
    .split("\n");
  const files = globSync("{edge,control,shared,browser}/**/*.ts", { cwd: join(ROOT, FIXTURES) });
  const text = files.map((path) => readFileSync(join(ROOT, FIXTURES, path), "utf8")).join("");
  const idle = files.filter(
    (path) => !text.includes(`/${basename(path)}"`) && !expected.some((line) => line.startsWith(path)),
  );
  return [
    ...expected.filter((line) => !found.includes(line)).map((line) => `no longer found: ${line}`),
    ...found.filter((line) => !expected.includes(line)).map((line) => `not in findings.txt: ${line}`),
    ...idle.map((path) => `${path}: breaks no rule, and no other fixture imports it`),
  ];
}

function report(name: string, findings: readonly string[], cure: string): void {
  process.stdout.write([`${name}: ${findings.length} findings`, ...findings, ""].join("\n"));
  if (findings.length === 0) return;
  process.stdout.write(`  ${cure}\n\n`);
  process.exitCode = 1;
}

// The rules that know types need those of the client.
const client = spawnSync(process.execPath, [join(ROOT, "infra/client.ts")], { stdio: "inherit" });
process.exitCode = oxlint(["--ignore-pattern", FIXTURES, ...LINTED], "inherit").status || (client.status ?? 1);
const modules = readModules(ROOT);
for (const [name, { find, cure }] of Object.entries(RULES)) report(name, find(modules, ROOT), cure);
report("fixtures", fixtureFaults(), FIXTURE_CURE);
