/**
 * What this installation was built from. `package.json` is the only place that has the version (docs/contributing.md#version).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { envText } from "../../shared/env/env-fields.ts";

/** The version, and the commit and time that the image was built with; null if not set. */
export interface BuildInfo {
  readonly version: string;
  readonly git_sha: string | null;
  readonly built_at: string | null;
}

/** The version in `package.json`, such as `1.2.3`. */
export function readVersion(): string {
  const text = readFileSync(join(import.meta.dirname, "../../package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Environment variables of the build. */
export const buildVariables = {
  GATEWAY_GIT_SHA: envText("").describe(
    "Commit that the image was built from, shown by `GET /api/v1/version`. Set it when you build the image.",
  ),
  GATEWAY_BUILT_AT: envText("").describe("When the image was built, shown by `GET /api/v1/version`."),
};

/** The version, and what the variables say. */
export function readBuildInfo(env: Readonly<Record<string, string | undefined>>): BuildInfo {
  const { GATEWAY_GIT_SHA: sha, GATEWAY_BUILT_AT: builtAt } = z.object(buildVariables).parse(env);
  return { version: readVersion(), git_sha: sha || null, built_at: builtAt || null };
}
