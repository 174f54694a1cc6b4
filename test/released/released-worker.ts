/** The Worker of the last release, as it was bundled for it (`npm run release:bundle`). */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { RELEASED_WORKER_FACTS } from "../../infra/release/fixture-path.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures");

export const RELEASED_BUNDLE = join(FIXTURES, "released-worker.mjs.gz");
export const RELEASED_FACTS = join(import.meta.dirname, "../..", RELEASED_WORKER_FACTS);

/** What the bundle is. */
export interface ReleasedFacts {
  /** The version of package.json at that commit. */
  readonly version: string;
  readonly commit: string;
  /** Of the bundle before compression. */
  readonly sha256: string;
}

/** The bundle. Throws when the two files do not belong together. */
export function readReleasedWorker(): { readonly code: Uint8Array; readonly version: string } {
  const { version, sha256 } = JSON.parse(readFileSync(RELEASED_FACTS, "utf8")) as ReleasedFacts;
  const code = gunzipSync(readFileSync(RELEASED_BUNDLE));
  if (createHash("sha256").update(code).digest("hex") !== sha256)
    throw new Error("the released bundle is not the one that its facts describe: run `npm run release:bundle`");
  return { code, version };
}
