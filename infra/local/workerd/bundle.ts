/** Bundles the Worker into one ES module for workerd, and lists the Durable Object classes that it exports. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../../..");

/** The Worker as one module. */
interface WorkerBundle {
  readonly code: Uint8Array;
  /** Names that the module exports, `default` among them. */
  readonly exports: readonly string[];
}

/** What this process has bundled, by entry and size. */
const bundled = new Map<string, Promise<WorkerBundle>>();

/**
 * Bundles the Worker, or another `entry` with its exports, once in the life of this process: a later stack has the same
 * bundle. Throws esbuild's BuildFailure, which names file and line.
 */
export async function bundleWorker(minify: boolean, entry = "edge/worker.ts"): Promise<WorkerBundle> {
  const name = `${entry} ${minify}`;
  const making = bundled.get(name) ?? bundle(minify, entry);
  bundled.set(name, making);
  making.catch(() => bundled.delete(name));
  return await making;
}

/** Names of the files of a bundle that is kept in a folder. */
const KEPT = { code: "worker.mjs", exports: "exports.json" } as const;

/** Bundles the Worker into a folder, for a gateway that starts without its sources' packages. */
export async function writeBundle(folder: string): Promise<void> {
  const { code, exports } = await bundleWorker(false);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, KEPT.code), code);
  writeFileSync(join(folder, KEPT.exports), JSON.stringify(exports));
}

/** Reads what {@link writeBundle} wrote. Throws when a file is missing. */
export function readBundle(folder: string): WorkerBundle {
  const exports = JSON.parse(readFileSync(join(folder, KEPT.exports), "utf8")) as readonly string[];
  return { code: readFileSync(join(folder, KEPT.code)), exports };
}

async function bundle(minify: boolean, entry: string): Promise<WorkerBundle> {
  // A gateway whose Worker was bundled before needs no bundler.
  const { build } = await import("esbuild");
  const result = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify,
    metafile: true,
    outfile: "worker.mjs",
    format: "esm",
    target: "es2024",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "browser", "module"],
    external: ["cloudflare:*", "node:*"],
    logLevel: "silent",
  });
  const [file] = result.outputFiles;
  const [output] = Object.values(result.metafile.outputs);
  if (file === undefined || output === undefined) throw new Error("the Worker bundle is empty");
  return { code: file.contents, exports: output.exports };
}
