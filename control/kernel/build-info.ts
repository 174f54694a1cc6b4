/**
 * What this installation was built from. `package.json` is the only place that has the version (docs/upgrades.md#version).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The version, and what whoever built an image says of it; null: nothing was said. */
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

/** The version with `GATEWAY_GIT_SHA` and `GATEWAY_BUILT_AT`. */
export function readBuildInfo(env: Readonly<Record<string, string | undefined>>): BuildInfo {
  return { version: readVersion(), git_sha: env["GATEWAY_GIT_SHA"] ?? null, built_at: env["GATEWAY_BUILT_AT"] ?? null };
}
