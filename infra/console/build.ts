/** Puts the console's files where its server finds them. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { BUILT_CONSOLE } from "../../control/dashboard/assets.ts";
import { hashOfSources } from "../sources.ts";
import type { ConsoleBundle } from "./bundle.ts";

const ROOT = join(import.meta.dirname, "../..");

const sourcesIn = (root: string): string => hashOfSources(["browser", "shared", "infra/console"], root);
const consoleIn = (root: string): string => join(root, relative(ROOT, BUILT_CONSOLE));

/** Bundles and writes; about a second of processor time. Throws esbuild's BuildFailure, which names file and line. */
export async function buildConsole(sources = sourcesIn(ROOT)): Promise<ConsoleBundle> {
  // The bundler takes long to load, and most starts do not need it.
  const { bundleConsole, writeConsole } = await import("./bundle.ts");
  const bundle = await bundleConsole();
  writeConsole(bundle, BUILT_CONSOLE, sources);
  return bundle;
}

/** The same, unless a complete build of the same sources is already there. */
export async function buildConsoleIfChanged(): Promise<void> {
  const sources = sourcesIn(ROOT);
  if (!isBuilt(ROOT, sources)) await buildConsole(sources);
}

/** Marks the console in a copy of the project as built from the copy's sources: a copy knows its packages by another file. */
export function stampConsole(root: string): void {
  const path = join(consoleIn(root), "manifest.json");
  const stamped = { ...(JSON.parse(readFileSync(path, "utf8")) as object), sources: sourcesIn(root) };
  rmSync(path); // it may be a link to the file that was copied
  writeFileSync(path, JSON.stringify(stamped));
}

/** Whether the console in a copy of the project is complete and was built from these sources. */
export function isBuilt(root: string, sources = sourcesIn(root)): boolean {
  const folder = consoleIn(root);
  try {
    const kept = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")) as Partial<
      Record<string, string> & { files: readonly string[] }
    >;
    return kept["sources"] === sources && kept.files?.every((name) => existsSync(join(folder, name))) === true;
  } catch {
    return false; // there is none, or it was cut off
  }
}
