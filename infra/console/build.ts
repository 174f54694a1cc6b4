/** Puts the console's files where its server finds them. */
import { BUILT_CONSOLE } from "../../control/dashboard/assets.ts";
import { bundleConsole, type ConsoleBundle, writeConsole } from "./bundle.ts";

/** Bundles and writes; about a second of processor time. Throws esbuild's BuildFailure, which names file and line. */
export async function buildConsole(): Promise<ConsoleBundle> {
  const bundle = await bundleConsole();
  writeConsole(bundle, BUILT_CONSOLE);
  return bundle;
}
