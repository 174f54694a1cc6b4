/**
 * The steps of `npm version <next>` (docs/contributing.md#releases), run by npm: `check` before the version changes, `write` after
 * it, with the new version in `package.json`. `notes <tag>` prints the text of the release with that tag; it needs no package.
 * Exit code 1 with one line when a release cannot be made.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readVersion } from "../../control/kernel/build-info.ts";
import { chartDigest } from "../helm/helm.ts";
import { releasedChangelog, releaseNotes } from "./changelog.ts";
import { chartFiles, chartVersion, versionPattern } from "./chart-version.ts";
import { dataFolderFixture, RELEASED_WORKER_FACTS } from "./fixture-path.ts";

const ROOT = join(import.meta.dirname, "../..");
const CHANGELOG = join(ROOT, "CHANGELOG.md");

/** All checks that can stop a release run first, because npm does not undo its changes when a later step fails. */
function check(): void {
  const version = readVersion();
  releasedChangelog(readFileSync(CHANGELOG, "utf8"), process.env["npm_new_version"] ?? "the next version");
  if (!existsSync(join(ROOT, dataFolderFixture(version))))
    throw new Error(`${dataFolderFixture(version)} is missing: run npm run fixture:data-folder on the tag v${version}`);
  const bundled = JSON.parse(readFileSync(join(ROOT, RELEASED_WORKER_FACTS), "utf8")) as { readonly version: string };
  if (bundled.version !== version)
    throw new Error(
      `${RELEASED_WORKER_FACTS} is of ${bundled.version}, not ${version}: run npm run release:bundle -- v${version}`,
    );
}

function write(): void {
  const version = readVersion();
  writeFileSync(CHANGELOG, releasedChangelog(readFileSync(CHANGELOG, "utf8"), version));
  const before = versionPattern(chartVersion(readFileSync(join(ROOT, "infra/helm/gateway/Chart.yaml"), "utf8")));
  const digest = chartDigest();
  const files = chartFiles(ROOT).map((name) => join(ROOT, name));
  for (const path of files) writeFileSync(path, readFileSync(path, "utf8").replace(before, version));
  // The rendered files differ only in the version, and are now of the new chart.
  for (const path of files) writeFileSync(path, readFileSync(path, "utf8").replace(digest, chartDigest()));
}

function notes(): void {
  process.stdout.write(
    `${releaseNotes(readFileSync(CHANGELOG, "utf8"), readVersion(), process.argv[3] ?? "missing")}\n`,
  );
}

const STEPS: Readonly<Record<string, () => void>> = { check, write, notes };

try {
  const step = STEPS[process.argv[2] ?? ""];
  if (step === undefined) throw new Error("usage: infra/release/main.ts check|write|notes <tag>");
  step();
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
