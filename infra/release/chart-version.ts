/** The version in the Helm chart, whose files write it in their own form (docs/contributing.md#version). */
import { globSync } from "node:fs";

const FILES = "infra/helm/{gateway/Chart.yaml,testing/**/*.yaml}";

/** The files of the chart and of its tests that may contain the version, relative to `root`. */
export const chartFiles = (root: string): readonly string[] => globSync(FILES, { cwd: root }).toSorted();

/** The version in a `Chart.yaml`. Throws Error if it has none. */
export function chartVersion(chart: string): string {
  const [, version] = /^appVersion: "?([^"\s]+)"?$/m.exec(chart) ?? [];
  if (version === undefined) throw new Error("Chart.yaml: appVersion is missing");
  return version;
}

/** Matches a version as a whole: not as a part of a longer number. */
export const versionPattern = (version: string): RegExp =>
  new RegExp(`(?<![\\d.])${version.replaceAll(".", "\\.")}(?![\\d.])`, "g");
