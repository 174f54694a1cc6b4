/** What is bundled before a start: in an image, and for a service of systemd. */
import { join } from "node:path";
import { buildConsole } from "../console/build.ts";
import { writeBundle } from "../local/workerd/bundle.ts";
import { BUILT_WORKER } from "./images.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Bundles the console and the Worker into dist/. Throws esbuild's BuildFailure, which names file and line. */
export async function bundleAll(): Promise<void> {
  await buildConsole();
  await writeBundle(join(ROOT, BUILT_WORKER));
}
