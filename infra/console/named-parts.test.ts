import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { onlyNamedParts } from "./named-parts.ts";

describe("the parts of a component that are named", () => {
  test("an import of a component becomes an import of its parts under the same name", () => {
    const source = 'import { Dialog as BaseDialog } from "@base-ui/react/dialog";\nBaseDialog.Root;';
    const written = onlyNamedParts(source);
    const [, name, module] = /^import \* as (\w+) from "(.*)";$/m.exec(written) ?? [];
    expect(name).toBe("BaseDialog");
    expect(existsSync(module ?? "")).toBe(true);
    expect(written).toContain("\nBaseDialog.Root;");
  });

  test("every other line stays", () => {
    const source = [
      'import { CSPProvider } from "@base-ui/react/csp-provider";',
      'import { useRender } from "@base-ui/react/use-render";',
      'import { Dialog } from "../ui/dialog.tsx";',
    ].join("\n");
    expect(onlyNamedParts(source)).toBe(source);
  });
});
