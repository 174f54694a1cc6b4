/** Every command of the command line that a page tells readers to type exists, with its options. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { expect, it } from "vitest";
import { addCommands } from "../../control/cli/commands.ts";

const ROOT = join(import.meta.dirname, "../..");
/** What is typed after the program, to the end of the command. */
const TYPED = /(?:npm run (?:--silent )?gateway --|npx gateway) ((?:[^`#|>)\\\n]|\\\n)*)/g;

const program = new Command("gateway").version("0.0.0", "--version").option("--url <url>").option("--json");
addCommands(program, "0.0.0");

/** What does not exist of a typed command; null: all of it does. */
function faultOf(typed: string): string | null {
  const words = typed.replaceAll("\\\n", " ").split(/\s+/);
  let at = program;
  let takesCommands = true;
  for (const [index, word] of words.entries()) {
    if (word.startsWith("--")) {
      const name = word.split("=")[0] ?? "";
      if (![...program.options, ...at.options].some(({ long }) => long === name)) return `${at.name()} has no ${name}`;
    } else if (takesCommands && words[index - 1] !== "--url") {
      const found = at.commands.find((command) => command.name() === word);
      if (found === undefined && at.commands.length > 0 && word !== "") return `${at.name()} has no command ${word}`;
      if (found !== undefined) at = found;
      takesCommands = at.commands.length > 0;
    }
  }
  return null;
}

it("finds a command and an option that do not exist", () => {
  expect(faultOf("--url https://admin.example tenants list")).toBeNull();
  expect(faultOf("tenants refund research")).toBe("tenants has no command refund");
  expect(faultOf("keys rotate nightly --soon")).toBe("rotate has no --soon");
});

it("finds every documented command in the command line", () => {
  const pages = globSync("{README.md,SECURITY.md,docs/**/*.md}", { cwd: ROOT });
  const typed = pages.flatMap((page) =>
    Array.from(readFileSync(join(ROOT, page), "utf8").matchAll(TYPED), ([, words = ""]) => ({ page, words })),
  );
  expect(typed.length).toBeGreaterThan(20);
  expect(
    typed.map(({ page, words }) => ({ page, fault: faultOf(words) })).filter(({ fault }) => fault !== null),
  ).toEqual([]);
});
