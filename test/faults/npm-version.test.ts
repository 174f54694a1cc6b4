/**
 * The whole of `npm version` in a copy of this checkout (docs/contributing.md#releases).
 *
 * @module-tag long
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { changelogSection } from "../../infra/release/changelog.ts";
import { dataFolderFixture, RELEASED_WORKER_FACTS } from "../../infra/release/fixture-path.ts";

const ROOT = join(import.meta.dirname, "../..");
/** What is no part of a checkout, or is linked. */
const LEFT_OUT = /^(node_modules|\.git|\.data|\.wrangler|dist|coverage)($|\/)/;
const IDENTITY = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "Release",
  GIT_AUTHOR_EMAIL: "release@example.com",
  GIT_COMMITTER_NAME: "Release",
  GIT_COMMITTER_EMAIL: "release@example.com",
};

const folder = mkdtempSync(join(tmpdir(), "gateway-release-test-"));
const read = (name: string): string => readFileSync(join(folder, name), "utf8");
const git = (...args: readonly string[]): string =>
  execFileSync("git", args, { cwd: folder, env: { ...process.env, ...IDENTITY }, encoding: "utf8" }).trim();
const current = (): string => (JSON.parse(read("package.json")) as { version: string }).version;

/** Runs a command as a person does: without what npm and the tier of this test told this process. */
function run(command: string, args: readonly string[]) {
  const own = Object.entries(process.env).filter(([name]) => !/^(npm|test)_/i.test(name));
  const env = { ...Object.fromEntries(own), ...IDENTITY, npm_config_update_notifier: "false" };
  return spawnSync(command, args, { cwd: folder, env, encoding: "utf8" });
}

const npmVersion = (what: string) => run("npm", ["version", what, "-m", "Release %s"]);

/** A file with one more entry of "Unreleased". */
function addEntry(): void {
  writeFileSync(
    join(folder, "CHANGELOG.md"),
    read("CHANGELOG.md").replace("## Unreleased\n", "## Unreleased\n\n- Entry.\n"),
  );
}

beforeAll(() => {
  cpSync(ROOT, folder, { recursive: true, filter: (from) => !LEFT_OUT.test(relative(ROOT, from)) });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  git("init", "--quiet");
  // The ignored folder is a link here.
  writeFileSync(join(folder, ".git/info/exclude"), "/node_modules\n");
  addEntry();
  git("add", "--all");
  git("commit", "--quiet", "--message", "Before");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("makes one commit with a tag, and the version is in all its places", () => {
  const before = current();
  const entries = changelogSection(read("CHANGELOG.md"), "Unreleased");
  const { status, stderr } = npmVersion("minor");
  expect({ status, stderr }).toMatchObject({ status: 0 });
  const now = current();
  expect(now).not.toBe(before);
  expect(git("log", "-2", "--format=%s").split("\n")).toEqual([`Release ${now}`, "Before"]);
  expect(git("tag", "--points-at", "HEAD")).toBe(`v${now}`);
  expect(git("status", "--short")).toBe("");
  expect(changelogSection(read("CHANGELOG.md"), now)).toBe(entries);
  expect(changelogSection(read("CHANGELOG.md"), "Unreleased")).toBe("");
  // The tests that hold the version and the chart together pass on the commit of the release.
  const vitest = ["infra/launch.mjs", "vitest", "run", "--project", "unit"];
  const tests = ["test/lint/version.test.ts", "infra/helm/chart.test.ts", "infra/release"];
  const held = run(process.execPath, [...vitest, ...tests]);
  expect(held.status, `${held.stdout}${held.stderr}`).toBe(0);
});

const writeFacts = (version: string): void =>
  writeFileSync(join(folder, RELEASED_WORKER_FACTS), JSON.stringify({ version }));

it.each([
  ["there is no entry", () => {}, /"Unreleased" has no entry/],
  [
    "the data folder of this version is not kept",
    addEntry,
    /data-folder-\S+ is missing: run npm run fixture:data-folder/,
  ],
  [
    "its Worker is not kept",
    () => writeFileSync(join(folder, dataFolderFixture(current())), ""),
    /released-worker.json is of \S+, not \S+: run npm run release:bundle/,
  ],
  [
    "the next version has a section already",
    () => {
      writeFacts(current());
      const next = current().replace(/\d+$/, "1");
      writeFileSync(join(folder, "CHANGELOG.md"), `${read("CHANGELOG.md")}\n## ${next}\n\n- Entry.\n`);
    },
    /there is a section \S+ already/,
  ],
])("changes nothing when %s", (_case, prepare, reason) => {
  prepare();
  git("add", "--all");
  git("commit", "--quiet", "--allow-empty", "--message", "Prepared");
  const before = git("rev-parse", "HEAD");
  const { status, stderr } = npmVersion("patch");
  expect(status).not.toBe(0);
  expect(stderr).toMatch(reason);
  expect(git("status", "--short")).toBe("");
  expect(git("rev-parse", "HEAD")).toBe(before);
});
