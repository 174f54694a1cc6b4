import { build } from "esbuild";
import { expect, it } from "vitest";
import { reactNamed } from "./react-named.ts";

it("elements and hooks are called by their names, and unused ones are left out", async () => {
  const contents = [
    'import * as React from "react";',
    'import { useState } from "react";',
    "export const Both = () => <p>{useState(1)[0]}{React.useMemo(() => 2, [])}</p>;",
  ].join("\n");
  const { outputFiles } = await build({
    stdin: { contents, loader: "tsx", resolveDir: import.meta.dirname, sourcefile: "both.tsx" },
    bundle: true,
    write: false,
    format: "esm",
    legalComments: "none",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [reactNamed],
  });
  const [, used = ""] = (outputFiles[0]?.text ?? "").split("// react-named:react\n");
  expect(used).toMatch(/\bjsxs\d*\("p", \{ children: \[\s*useState\d*\(1\)\[0\],\s*useMemo\d*\(/);
  expect(used).not.toContain("useReducer");
});
