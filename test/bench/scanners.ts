/**
 * `npm run bench:scanners`: the CPU time that the scanners of guardrails take for a text, each alone and all together, in
 * this process: the same engine as in the Worker, without a request around it. Rounds take turns; the median counts. It
 * reports figures and checks none.
 */
import { compileScan, type TextScanner } from "../../shared/guardrails/text-scan.ts";
import { BENCH_KEYWORDS, proseOf } from "./prose.ts";
import { spreadOf } from "./spread.ts";

const ALL: readonly TextScanner[] = ["prompt_injection", "pii", "ban_keywords"];
const ROUNDS = 15;
/** One turn of a scanner reads about as many characters, whatever the length of the text. */
const TURN_CHARACTERS = 2_000_000;

interface Subject {
  readonly name: string;
  readonly characters: number;
  readonly run: () => void;
}

function subjects(characters: number): readonly Subject[] {
  const text = proseOf(characters);
  const texts = [{ text, user: true }];
  const scanOf = (scanners: readonly TextScanner[]) => compileScan({ scanners, banKeywords: BENCH_KEYWORDS });
  const all = scanOf(ALL);
  return [...ALL.map((scanner) => ({ name: scanner, scan: scanOf([scanner]) })), { name: "all three", scan: all }]
    .map(({ name, scan }): Subject => ({ name, characters, run: () => void scan.scanTexts(texts) }))
    .concat(
      { name: "redact, all but injection", characters, run: () => void all.redactTexts(texts) },
      {
        name: "redact a stream of 20 characters",
        characters,
        run: () => {
          const stream = all.openStream({ pii: 0, ban_keywords: 0 });
          for (let at = 0; at < text.length; at += 20) stream.push(text.slice(at, at + 20));
          stream.finish();
        },
      },
    );
}

/** CPU time of one run, ms. */
function cpuMsOf({ run, characters }: Subject): number {
  const times = Math.max(1, Math.round(TURN_CHARACTERS / characters));
  const before = process.cpuUsage();
  for (let at = 0; at < times; at += 1) run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / times;
}

for (const [title, characters] of [
  ["4 KB", 4 * 1024],
  ["100 KB", 100 * 1024],
  ["1 MB", 1024 * 1024],
] as const) {
  const all = subjects(characters);
  for (const subject of all) cpuMsOf(subject);
  const rounds = Array.from({ length: ROUNDS }, () => all.map(cpuMsOf));
  console.log(`${title}: CPU ms a text, median (lowest-highest of ${ROUNDS} rounds), MB/s`);
  all.forEach(({ name }, at) => {
    const spread = spreadOf(rounds.map((round) => round[at] ?? Number.NaN));
    if (spread === null) return;
    const { median, min, max } = spread;
    const rate = characters / 1024 / 1024 / (median / 1000);
    console.log(
      `  ${name.padEnd(34)}${median.toFixed(3).padStart(9)} (${min.toFixed(3)}-${max.toFixed(3)})${rate.toFixed(1).padStart(8)}`,
    );
  });
}
