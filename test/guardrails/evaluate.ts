/**
 * How well the scanners do on the labelled texts of `corpus/`: what they find that a person would, what they miss, what they
 * find without reason. Labels say what a person sees in the text, not what the rules can find.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compileScan, type TextScanner } from "../../shared/guardrails/text-scan.ts";
import { markdownTable } from "../harness/text-table.ts";

/** A text, and which labels a person gives it: kinds of personal data, or the scanner's name. */
interface LabelledText {
  readonly text: string;
  readonly labels: readonly string[];
  readonly keywords: readonly string[];
}

/** Lines counted by what was expected and what was found. */
interface Score {
  /** The scanner, or a scanner and one label. */
  readonly name: string;
  readonly found: number;
  readonly missed: number;
  /** Found, although no person would. */
  readonly wrong: number;
  /** Rightly not found. */
  readonly passed: number;
}

const CORPORA: Readonly<Record<TextScanner, string>> = {
  prompt_injection: "injection",
  pii: "pii",
  ban_keywords: "keywords",
};

interface CorpusLine {
  readonly text: string;
  readonly labels?: readonly string[];
  readonly match?: boolean;
  readonly keywords?: readonly string[];
}

export function readCorpus(scanner: TextScanner): readonly LabelledText[] {
  const path = join(import.meta.dirname, "corpus", `${CORPORA[scanner]}.jsonl`);
  return readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as CorpusLine)
    .map(({ text, labels, match, keywords = [] }) => ({
      text,
      labels: labels ?? (match === true ? [scanner] : []),
      keywords,
    }));
}

/** The labels that a scanner finds in a text: of personal data its kinds, else the scanner's name. */
function labelsFound(scanner: TextScanner, { text, keywords }: LabelledText): ReadonlySet<string> {
  const scan = compileScan({ scanners: [scanner], banKeywords: keywords });
  const matches = scan.scanTexts([{ text, user: true }]);
  return new Set(matches.map(({ label }) => (scanner === "pii" ? label : scanner)));
}

/** The score of a scanner: a line counts as found when anything in it is found. Of personal data each kind besides. */
function scoresOf(scanner: TextScanner): readonly Score[] {
  const lines = readCorpus(scanner).map((line) => ({ line, found: labelsFound(scanner, line) }));
  const score = (name: string, isMeant: (label: string) => boolean): Score => {
    const counts = { name, found: 0, missed: 0, wrong: 0, passed: 0 };
    for (const { line, found } of lines) {
      const [isExpected, isFound] = [line.labels.some(isMeant), [...found].some(isMeant)];
      counts[isExpected ? (isFound ? "found" : "missed") : isFound ? "wrong" : "passed"] += 1;
    }
    return counts;
  };
  const kinds = scanner === "pii" ? ["CREDIT_CARD", "SSN", "EMAIL", "PHONE"] : [];
  return [score(scanner, () => true), ...kinds.map((kind) => score(`${scanner} ${kind}`, (label) => label === kind))];
}

export function evaluate(): readonly Score[] {
  return (Object.keys(CORPORA) as TextScanner[]).flatMap(scoresOf);
}

/** For each pattern of prompt injection: in how many attacks it matched, and in how many harmless texts. */
export function patternHits(): ReadonlyMap<string, { readonly attacks: number; readonly harmless: number }> {
  const scan = compileScan({ scanners: ["prompt_injection"], banKeywords: [] });
  const hits = new Map<string, { attacks: number; harmless: number }>();
  for (const { text, labels } of readCorpus("prompt_injection")) {
    for (const { label } of scan.scanTexts([{ text, user: true }])) {
      const counts = hits.get(label) ?? { attacks: 0, harmless: 0 };
      counts[labels.length > 0 ? "attacks" : "harmless"] += 1;
      hits.set(label, counts);
    }
  }
  return hits;
}

/** What a scanner gets wrong: lines that it misses, and lines in which it finds something without reason. */
export function mistakes(scanner: TextScanner): {
  readonly missed: readonly string[];
  readonly wrong: readonly string[];
} {
  const lines = readCorpus(scanner).map((line) => ({ line, found: labelsFound(scanner, line) }));
  const texts = (isMistake: (expected: readonly string[], found: ReadonlySet<string>) => boolean) =>
    lines.filter(({ line, found }) => isMistake(line.labels, found)).map(({ line }) => JSON.stringify(line.text));
  return {
    missed: texts((expected, found) => expected.some((label) => !found.has(label))),
    wrong: texts((expected, found) => [...found].some((label) => !expected.includes(label))),
  };
}

/** The scores as a table in Markdown, as docs/rules/guardrails.md has it. */
export function scoreTable(scores: readonly Score[]): string {
  const share = (part: number, whole: number): string => (whole === 0 ? "-" : (part / whole).toFixed(3));
  const rows = scores.map(({ name, found, missed, wrong, passed }) => {
    const figures = [share(found, found + wrong), share(found, found + missed), found, missed, wrong, passed];
    return [name, ...figures];
  });
  const head = ["scanner", "precision", "recall", "found", "missed", "wrong", "passed"];
  return markdownTable(head, rows);
}
