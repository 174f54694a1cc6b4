/** The parts of package.json and package-lock.json that the images need. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Lock } from "./images.ts";

const ROOT = join(import.meta.dirname, "../..");

/** package-lock.json. */
export function readLock(): Lock {
  return JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Lock;
}

/** Name, version and license of the gateway. */
export function readProject(): { readonly name: string; readonly version: string; readonly license: string } {
  return JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as ReturnType<typeof readProject>;
}
