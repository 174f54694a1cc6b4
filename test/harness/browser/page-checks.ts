/** What is asked of every page of the console, whatever is on it. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly help: string;
    readonly nodes: readonly { readonly target: readonly unknown[] }[];
  }[];
}

/** Serious and critical violations of accessibility, one line each with the first elements. */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  // As code of the debugger: the page's own policy refuses a script that is added to the document.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<AxeResult> } };
    return await axe.run({ resultTypes: ["violations"] });
  });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes
          .slice(0, 3)
          .map(({ target }) => target.join(" "))
          .join("; ")}`,
    );
}

/** Resolves when no element is on its way from one style to another, for example after a change between light and dark. */
export async function endOfTransitions(page: Page): Promise<void> {
  await page.waitForFunction(() => document.getAnimations().every(({ playState }) => playState === "finished"));
}

/** How many CSS pixels the page is wider than its window; 0: nobody has to scroll sideways. */
export async function sidewaysPixels(page: Page): Promise<number> {
  return await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return Math.max(0, scrollWidth - clientWidth);
  });
}

/** How many rows of a table are in the document, seen or not; of several tables the longest one. */
export async function rowCount(page: Page): Promise<number> {
  return await page.evaluate(() => {
    const rows = [...document.querySelectorAll("tbody tr, [role=rowgroup] [role=row]")];
    const tables = Map.groupBy(rows, (row) => row.closest("table, [role=table], [role=grid], [role=treegrid]"));
    return Math.max(0, ...[...tables.values()].map(({ length }) => length));
  });
}

/** Presses Tab until the element with this accessible name has the focus. Throws when it never gets it. */
export async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const seen: string[] = [];
  for (let presses = 0; presses < 200; presses += 1) {
    await page.keyboard.press("Tab");
    const focused = await focusedName(page);
    if (typeof name === "string" ? focused === name : name.test(focused)) return;
    seen.push(focused);
  }
  throw new Error(`Tab never reaches ${name}; it reaches ${[...new Set(seen)].join(", ")}`);
}

/** The accessible name of the element that has the focus, as a screen reader says it. */
async function focusedName(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page);
  try {
    const { result } = await session.send("Runtime.evaluate", { expression: "document.activeElement" });
    const { nodes } = await session.send("Accessibility.getPartialAXTree", {
      objectId: result.objectId ?? "",
      fetchRelatives: false,
    });
    return String(nodes[0]?.name?.value ?? "");
  } finally {
    await session.detach();
  }
}
