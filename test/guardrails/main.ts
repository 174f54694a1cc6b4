/**
 * `npm run guardrails:eval [-- --mistakes]`: prints precision and recall of the scanners on the labelled texts, and how often
 * each pattern of prompt injection is right and wrong. With `--mistakes` also the lines that they get wrong.
 */
import { parseArgs } from "node:util";
import { plainTable } from "../harness/text-table.ts";
import { evaluate, mistakes, patternHits, scoreTable } from "./evaluate.ts";

const { values } = parseArgs({ options: { mistakes: { type: "boolean", default: false } } });
const print = (text: string): void => void process.stdout.write(`${text}\n`);

print(scoreTable(evaluate()));
const hits = [...patternHits()].map(([label, { attacks, harmless }]) => [label, attacks, harmless]);
print(`\n${plainTable([["pattern of prompt injection", "attacks", "harmless"], ...hits])}`);
if (values.mistakes) {
  for (const scanner of ["prompt_injection", "pii", "ban_keywords"] as const) {
    const { missed, wrong } = mistakes(scanner);
    print(`\n${scanner}: missed\n${missed.join("\n")}\n${scanner}: found without reason\n${wrong.join("\n")}`);
  }
}
