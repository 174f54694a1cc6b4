/** `package.json` alone has the version (docs/contributing.md#version): everything else reads it there. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { changelogSection } from "../../infra/release/changelog.ts";
import { chartVersion, versionPattern } from "../../infra/release/chart-version.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (name: string): string => readFileSync(join(ROOT, name), "utf8");
const { version } = JSON.parse(read("package.json")) as { version: string };

it("is in no other file that is run, built or deployed", () => {
  const literal = versionPattern(version);
  const files = globSync(
    "{{edge,control,shared,browser,infra,test}/**/*.{ts,tsx,mjs,json,yml,yaml,sh},*.{ts,toml,yaml}}",
    {
      cwd: ROOT,
      exclude: (name) => /node_modules|fixtures|infra\/helm/.test(name),
    },
  );
  expect(files.length).toBeGreaterThan(1000);
  expect(files.filter((name) => read(name).search(literal) >= 0)).toEqual([]);
});

it("is that of the chart", () => {
  expect(chartVersion(read("infra/helm/gateway/Chart.yaml"))).toBe(version);
});

it("is that of the lock file, and has a section in the changelog", () => {
  const lock = JSON.parse(read("package-lock.json")) as {
    version: string;
    packages: Record<string, { version?: string }>;
  };
  expect([lock.version, lock.packages[""]?.version]).toEqual([version, version]);
  expect(changelogSection(read("CHANGELOG.md"), version)).toMatch(/\S/);
});
