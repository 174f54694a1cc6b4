/** Reads the text of a metrics listener as far as the doctor needs it: names, labels and values. Pure. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
/** Characters; no series of a gateway has so many, and the patterns take long for more. */
const LINE_MAX = 4_000;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** The samples of a text; lines that are none are left out. */
export function samplesOf(text: string): readonly Sample[] {
  return text.split("\n").flatMap((line) => {
    if (line.length > LINE_MAX) return [];
    const [, name, labels = "", value = ""] = LINE.exec(line) ?? [];
    if (name === undefined) return [];
    const named = [...labels.matchAll(LABEL)].map(([, label = "", text = ""]) => [label, unescaped(text)] as const);
    return [{ name, labels: Object.fromEntries(named), value: value === "+Inf" ? Infinity : Number(value) }];
  });
}

const unescaped = (text: string): string => text.replace(/\\(.)/g, (_, char: string) => (char === "n" ? "\n" : char));
