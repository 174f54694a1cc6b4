/**
 * React with each of its exports by name. Its own modules are CommonJS, in which a bundler cannot follow names: every call would
 * be one of a member of the module, in each element that the console draws.
 */
import { createRequire } from "node:module";
import type { Plugin } from "esbuild";

const NAMED = "react-named";
const require = createRequire(import.meta.url);

/** The text of a module with the exports of React or of its JSX runtime; those that nobody imports are left out of a bundle. */
function namedModule(module: string): string {
  const names = Object.keys(require(module) as object).filter((name) => name !== "default");
  return [
    `import * as whole from ${JSON.stringify(require.resolve(module))};`,
    ...names.map((name) => `export const ${name} = /* @__PURE__ */ (() => whole.${name})();`),
    "export default whole;",
  ].join("\n");
}

/** Gives it to every module that imports React; what requires it gets the CommonJS module itself. */
export const reactNamed: Plugin = {
  name: NAMED,
  setup: (own) => {
    own.onResolve({ filter: /^react(\/jsx-runtime)?$/, namespace: "file" }, ({ kind, path }) =>
      kind === "import-statement" ? { path, namespace: NAMED } : null,
    );
    own.onLoad({ filter: /.*/, namespace: NAMED }, ({ path }) => ({
      contents: namedModule(path),
      resolveDir: import.meta.dirname,
    }));
  },
};
