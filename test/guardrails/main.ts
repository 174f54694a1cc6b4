/**
 * `npm run guardrails:eval [-- --mistakes]`: prints precision and recall of the scanners on the labelled texts, and how often
 * each pattern of prompt injection is right and wrong. With `--mistakes` also the lines that they get wrong.
 */
import { parseArgs } from "node:util";
import { evaluate, mistakes, patternHits, scoreTable } from "./evaluate.ts";

const { values } = parseArgs({ options: { mistakes: { type: "boolean", default: false } } });
const print = (text: string): void => void process.stdout.write(`${text}\n`);

print(scoreTable(evaluate()));
print("\npattern of prompt injection    attacks  harmless");
for (const [label, { attacks, harmless }] of patternHits()) {
  print(`${label.padEnd(30)}${String(attacks).padStart(8)}${String(harmless).padStart(10)}`);
}
if (values.mistakes) {
  for (const scanner of ["prompt_injection", "pii", "ban_keywords"] as const) {
    const { missed, wrong } = mistakes(scanner);
    print(`\n${scanner}: missed\n${missed.join("\n")}\n${scanner}: found without reason\n${wrong.join("\n")}`);
  }
}
