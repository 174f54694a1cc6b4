/**
 * Numbers as people read them. What is not known (null, undefined, NaN, infinite) is a dash and never 0. Units stand in the
 * text where the place does not say them.
 */
const UNKNOWN = "–";
/** That of the page, which is set before anything is formatted. */
const LOCALE = globalThis.document?.documentElement.lang || "en";

type Amount = number | null | undefined;

const whole = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat(LOCALE, { notation: "compact", maximumSignificantDigits: 3 });
const percent = new Intl.NumberFormat(LOCALE, { style: "percent", maximumFractionDigits: 1 });
const decimal = new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: 3 });

const SIZES = ["B", "kB", "MB", "GB", "TB", "PB"] as const;

/** A number that is this large is written by its power of ten; no figure of ours is, but a hostile one could be. */
const HUGE_FROM = 1e15;
const huge = new Intl.NumberFormat(LOCALE, { notation: "scientific", maximumSignificantDigits: 3 });

function known(amount: Amount): amount is number {
  return typeof amount === "number" && Number.isFinite(amount);
}

/** 1,234,567 */
export function formatCount(amount: Amount): string {
  if (!known(amount)) return UNKNOWN;
  return (Math.abs(amount) < HUGE_FROM ? whole : huge).format(amount);
}

/** 1.23M, for tiles and axes. */
export function formatShortCount(amount: Amount): string {
  if (!known(amount)) return UNKNOWN;
  return (Math.abs(amount) < HUGE_FROM ? compact : huge).format(amount);
}

/** A fraction of 1 as 12.3%. */
export function formatShare(fraction: Amount): string {
  return known(fraction) ? percent.format(fraction) : UNKNOWN;
}

/** The one rule for money: cents from a dollar on, three significant digits below it: $0.0000120. */
export function formatUsd(usd: Amount): string {
  const size = Math.abs(Number((usd ?? 0).toPrecision(3)));
  const digits = size === 0 || size >= 1 ? 2 : Math.min(9, 2 - Math.floor(Math.log10(size)));
  return usdText(usd, digits, digits);
}

function usdText(usd: Amount, least: number, most: number): string {
  if (!known(usd)) return UNKNOWN;
  if (Math.abs(usd) >= HUGE_FROM) return `$${huge.format(usd)}`;
  return new Intl.NumberFormat(LOCALE, {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: least,
    maximumFractionDigits: most,
  }).format(usd);
}

/** With all of its decimals, from 2 to 9: a price, and an amount whose last digit matters: $1.075. */
export function formatPrice(usd: Amount): string {
  return usdText(usd, 2, 9);
}

/** A span of time: 0.4 ms, 250 ms, 1.5 s, 2 min 5 s, 3 h 20 min, 4 d 2 h. */
export function formatMs(ms: Amount): string {
  if (!known(ms)) return UNKNOWN;
  if (Math.abs(ms) < 999.5) return `${decimal.format(ms)} ms`;
  const seconds = ms / 1000;
  if (Math.abs(seconds) < 59.95) return `${decimal.format(seconds)} s`;
  const parts = [
    ["d", 86_400],
    ["h", 3600],
    ["min", 60],
    ["s", 1],
  ] as const;
  let rest = Math.round(Math.abs(seconds));
  const said: string[] = [];
  for (const [unit, size] of parts) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0 || said.length === 1) said.push(`${formatCount(count)} ${unit}`);
    if (said.length === 2) break;
  }
  return `${seconds < 0 ? "-" : ""}${said.filter((part) => !part.startsWith("0 ")).join(" ")}`;
}

/** 812 Wh, 1.23 kWh */
export function formatEnergy(wh: Amount): string {
  return inThousands(wh, "Wh", "kWh");
}

/** 812 g, 1.23 kg */
export function formatMass(grams: Amount): string {
  return inThousands(grams, "g", "kg");
}

function inThousands(amount: Amount, unit: string, thousand: string): string {
  if (!known(amount)) return UNKNOWN;
  if (Math.abs(amount) >= HUGE_FROM) return `${huge.format(amount / 1000)} ${thousand}`;
  return Math.abs(amount) < 999.5
    ? `${decimal.format(amount)} ${unit}`
    : `${decimal.format(amount / 1000)} ${thousand}`;
}

/** 2 GB, 200 MB */
export function formatBytes(bytes: Amount): string {
  if (!known(bytes)) return UNKNOWN;
  const power = Math.min(SIZES.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${decimal.format(bytes / 1000 ** power)} ${SIZES[power]}`;
}

/** A text, or the dash where there is none. */
export function formatText(text: string | null | undefined): string {
  return text === null || text === undefined || text === "" ? UNKNOWN : text;
}
