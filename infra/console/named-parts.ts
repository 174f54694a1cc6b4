/**
 * Removes the unused parts of a component. Base UI exports each component as one object of all its parts, and the bundler
 * cannot leave any out; it can when the same module is imported as a namespace (docs/rules/console.md#files).
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const IMPORT = /^import \{ (\w+)(?: as (\w+))? \} from "(@base-ui\/react\/[a-z-]+)";$/gm;
const { resolve } = createRequire(import.meta.url);

/** The same source, with imports that name one component of Base UI as imports of its module of parts. */
export function onlyNamedParts(source: string): string {
  return source.replaceAll(IMPORT, (line, exported: string, name: string | undefined, module: string) => {
    // A provider or a hook: its module has no parts.
    if (!/^[A-Z][a-z]+([A-Z][a-z]+)*$/.test(exported) || exported.endsWith("Provider")) return line;
    const parts = join(dirname(resolve(module)), "index.parts.mjs");
    return `import * as ${name ?? exported} from ${JSON.stringify(parts)};`;
  });
}
