/** The colours of the console: contrast of both themes, and series that people who see fewer colours can tell apart. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const THEMES = ["light", "dark"] as const;
type Theme = (typeof THEMES)[number];
type Vector = readonly [number, number, number];

const CSS = readFileSync(join(import.meta.dirname, "tokens.css"), "utf8");
const TOKENS = new Map(
  [...CSS.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(
    ([, name = "", light = "", dark = ""]) => [name, { light, dark }] as const,
  ),
);
const token = (name: string, theme: Theme): Vector => {
  const color = TOKENS.get(name)?.[theme];
  if (color === undefined) throw new Error(`no colour --${name}`);
  return [1, 3, 5].map((at) => linear(Number.parseInt(color.slice(at, at + 2), 16) / 255)) as unknown as Vector;
};

/** Of sRGB (WCAG 2.2, relative luminance). */
function linear(part: number): number {
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

function contrast(one: Vector, other: Vector): number {
  const light = ([red, green, blue]: Vector): number => 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  const [low = 0, high = 0] = [light(one), light(other)].toSorted((a, b) => a - b);
  return high / low;
}

/** How linear colours are seen, wholly without one kind of cones (Machado, Oliveira, Fernandes 2009). */
const SIGHTS = {
  usual: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
} as const;

const rows = (matrix: readonly number[], vector: Vector): Vector =>
  [0, 3, 6].map((at) =>
    vector.reduce((sum, part, index) => sum + (matrix[at + index] ?? 0) * part, 0),
  ) as unknown as Vector;

/** In OKLab, where equal distances look equal; 100: from black to white. */
function oklab(color: Vector): Vector {
  const cones = rows(
    [
      0.4122214708, 0.5363325363, 0.0514459929, 0.2119034982, 0.6806995451, 0.1073969566, 0.0883024619, 0.2817188376,
      0.6299787005,
    ],
    color,
  ).map(Math.cbrt) as unknown as Vector;
  return rows(
    [
      0.2104542553, 0.793617785, -0.0040720468, 1.9779984951, -2.428592205, 0.4505937099, 0.0259040371, 0.7827717662,
      -0.808675766,
    ],
    cones,
  ).map((part) => part * 100) as unknown as Vector;
}

const seen = (color: Vector, sight: keyof typeof SIGHTS): Vector =>
  oklab(rows(SIGHTS[sight], color).map((part) => Math.min(1, Math.max(0, part))) as unknown as Vector);

const SERIES = Array.from({ length: 8 }, (_, at) => `series-${at + 1}`);
const GROUNDS = ["surface", "surface-raised", "surface-sunken", "surface-hover"];
const pairs = <T>(items: readonly T[]): readonly (readonly [T, T])[] =>
  items.flatMap((one, at) => items.slice(at + 1).map((other) => [one, other] as const));

describe.each(THEMES)("colours of the %s theme", (theme) => {
  it("have the contrast that text needs on every ground, and lines and series theirs", () => {
    const needs = [
      ...["text", "text-muted", "accent", "good", "warn", "bad"].flatMap((name) =>
        GROUNDS.map((ground) => [name, ground, 4.5] as const),
      ),
      ...["good", "warn", "bad", "accent"].flatMap((name) => [
        [name, `${name}-soft`, 4.5] as const,
        ["text", `${name}-soft`, 7] as const,
      ]),
      ["accent-text", "accent", 4.5] as const,
      ["accent-text", "accent-hover", 4.5] as const,
      ["line-strong", "surface", 3] as const,
      ["line-strong", "surface-raised", 3] as const,
      ...SERIES.map((name) => [name, "surface-raised", 3] as const),
    ];
    const low = needs.filter(([name, ground, least]) => contrast(token(name, theme), token(ground, theme)) < least);
    expect(low.map(([name, ground]) => `${name} on ${ground}`)).toEqual([]);
  });

  it.each([
    ["usual", 10],
    ["protanopia", 8],
    ["deuteranopia", 8],
    ["tritanopia", 6],
  ] as const)("keep series apart under %s sight", (sight, least) => {
    const close = pairs(SERIES).filter(([one, other]) => {
      const [a, b] = [seen(token(one, theme), sight), seen(token(other, theme), sight)];
      return Math.hypot(...a.map((part, at) => part - (b[at] ?? 0))) < least;
    });
    expect(close.map(([one, other]) => `${one} and ${other}`)).toEqual([]);
  });
});

it("dark colours: grounds get lighter towards the reader, states keep their hue", () => {
  const lightness = (name: string): number => oklab(token(name, "dark"))[0];
  const [sunken, raised, hover] = ["surface-sunken", "surface-raised", "surface-hover"].map(lightness);
  expect({ isRaised: (raised ?? 0) > (sunken ?? 0), isHover: (hover ?? 0) > (raised ?? 0) }).toEqual({
    isRaised: true,
    isHover: true,
  });
  for (const name of ["accent", "good", "warn", "bad"]) {
    const hue = (theme: Theme): number => {
      const [, a, b] = oklab(token(name, theme));
      return (Math.atan2(b, a) * 180) / Math.PI;
    };
    const turned = Math.abs(((hue("light") - hue("dark") + 540) % 360) - 180);
    expect({ name, isKept: turned < 30 }).toEqual({ name, isKept: true });
  }
});
