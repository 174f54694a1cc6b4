/** Bundles the Worker into one ES module for workerd, and lists the Durable Object classes that it exports. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "esbuild";
import { hashOfSources } from "../../sources.ts";

const ROOT = join(import.meta.dirname, "../../..");

/** The Worker as one module. */
interface WorkerBundle {
  readonly code: Uint8Array;
  /** Names that the module exports, `default` among them. */
  readonly exports: readonly string[];
}

/** The bundles of this process, by entry and size. */
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
const KEPT = { code: "worker.mjs", exports: "exports.json", madeOf: "made-of" } as const;

/** The module to bundle. */
interface BundleSource {
  /** See {@link bundleWorker}. */
  readonly entry?: string | undefined;
  /** The folder of a Worker that was bundled before: nothing is bundled. */
  readonly built?: string | undefined;
}

/**
 * Writes the Worker into a folder: for a gateway that starts without the packages of its sources, and for the next start, which
 * only rebuilds bundles whose sources have changed.
 */
export async function writeBundle(folder: string, { entry, built }: BundleSource = {}): Promise<WorkerBundle> {
  const sources = built ?? `${entry} ${hashOfSources(["edge", "shared", "infra/local/workerd"])}`;
  const kept = built === undefined ? keptBundle(folder, sources) : undefined;
  if (kept !== undefined) return kept;
  const bundle = built === undefined ? await bundleWorker(false, entry) : readBundle(built);
  mkdirSync(folder, { recursive: true });
  const write = (name: string, content: string | Uint8Array): void =>
    writeFileSync(join(folder, name), content, { mode: 0o600 });
  write(KEPT.code, bundle.code);
  write(KEPT.exports, JSON.stringify(bundle.exports));
  write(KEPT.madeOf, madeOf(sources, bundle));
  return bundle;
}

/** The code too: a machine that loses power can lose the latest writes. */
function madeOf(sources: string, { code }: WorkerBundle): string {
  return createHash("sha256").update(sources).update(code).digest("hex");
}

/** The bundle in a folder; undefined if it is incomplete, or built from other sources. */
function keptBundle(folder: string, sources: string): WorkerBundle | undefined {
  try {
    const bundle = readBundle(folder);
    return readFileSync(join(folder, KEPT.madeOf), "utf8") === madeOf(sources, bundle) ? bundle : undefined;
  } catch {
    return undefined;
  }
}

function readBundle(folder: string): WorkerBundle {
  const exports = JSON.parse(readFileSync(join(folder, KEPT.exports), "utf8")) as readonly string[];
  return { code: readFileSync(join(folder, KEPT.code)), exports };
}

/** Descriptions of variables, of fields and of columns are read by the documentation alone. */
const DESCRIBED =
  /\.(?:describe\(|meta\(\{\s*description:)\s*"(?:[^"\\]|\\.)*",?\s*\}?\)|,\s*about:\s*"(?:[^"\\]|\\.)*"/g;
const withoutDescriptions: Plugin = {
  name: "without-descriptions",
  setup: (build) =>
    build.onLoad({ filter: /[\\/](?:edge[\\/]env|shared[\\/].+)\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(DESCRIBED, ""),
      loader: "ts",
    })),
};

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
    plugins: [withoutDescriptions],
  });
  const [file] = result.outputFiles;
  const [output] = Object.values(result.metafile.outputs);
  if (file === undefined || output === undefined) throw new Error("the Worker bundle is empty");
  return { code: file.contents, exports: output.exports };
}
