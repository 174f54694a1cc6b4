/** The bundles made before a start: in an image, and for a systemd service. */
import { chmodSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { buildConsole } from "../console/build.ts";
import { writeBundle } from "../local/workerd/bundle.ts";
import { BUILT_WORKER } from "./images.ts";

const ROOT = join(import.meta.dirname, "../..");

/**
 * Bundles the console and the Worker into dist/, readable by the users of images and units, who are not the one that builds.
 * Throws esbuild's BuildFailure, which names file and line.
 */
export async function bundleAll(): Promise<void> {
  await buildConsole();
  const folder = join(ROOT, BUILT_WORKER);
  await writeBundle(folder);
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644);
}
