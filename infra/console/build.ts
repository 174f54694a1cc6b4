/** Puts the console's files where its server finds them. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BUILT_CONSOLE } from "../../control/dashboard/assets.ts";
import { hashOfSources } from "../sources.ts";
import type { ConsoleBundle } from "./bundle.ts";

const sourcesNow = (): string => hashOfSources("browser", "shared", "infra/console");

/** Bundles and writes; about a second of processor time. Throws esbuild's BuildFailure, which names file and line. */
export async function buildConsole(sources = sourcesNow()): Promise<ConsoleBundle> {
  // The bundler takes long to load, and most starts do not need it.
  const { bundleConsole, writeConsole } = await import("./bundle.ts");
  const bundle = await bundleConsole();
  writeConsole(bundle, BUILT_CONSOLE, sources);
  return bundle;
}

/** The same, unless what lies there is whole and was made of the same sources. */
export async function buildConsoleIfChanged(): Promise<void> {
  const sources = sourcesNow();
  if (!isBuiltFrom(BUILT_CONSOLE, sources)) await buildConsole(sources);
}

function isBuiltFrom(folder: string, sources: string): boolean {
  try {
    const kept = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")) as Partial<
      Record<string, string> & { files: readonly string[] }
    >;
    return kept["sources"] === sources && kept.files?.every((name) => existsSync(join(folder, name))) === true;
  } catch {
    return false; // there is none, or it was cut off
  }
}
