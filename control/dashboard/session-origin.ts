/** From where a session began, shortened: enough to know the own ones, and no more than that. Pure. */
import { isIPv4 } from "node:net";
import { oneLine } from "../../shared/text/printable.ts";

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:A|iOS)?\/(\d+)/, "Edge"],
  [/\bOPR\/(\d+)/, "Opera"],
  [/\b(?:Firefox|FxiOS)\/(\d+)/, "Firefox"],
  [/\b(?:Headless)?(?:Chrome|CriOS)\/(\d+)/, "Chrome"],
  [/\bVersion\/(\d+)[^)]*\bSafari\//, "Safari"],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"],
];
const OTHER_MAX = 60;

/** The network of an address: three parts of IPv4, four of IPv6; empty: not known. */
export function shortAddress(address: string | null): string {
  if (address === null) return "";
  if (isIPv4(address)) return address.replace(/\.\d+$/, ".*");
  const [head = "", tail] = address.split("::");
  const parts = head === "" ? [] : head.split(":");
  const left = tail === undefined ? parts : [...parts, ...Array<string>(4).fill("0")];
  return `${left.slice(0, 4).join(":")}:*`;
}

/** Browser and system, such as `Firefox 128, Linux`; of other programs the beginning of what they say. */
export function shortAgent(agent: string | undefined): string {
  const said = oneLine(agent ?? "").trim();
  const [pattern, browser] = BROWSERS.find(([one]) => one.test(said)) ?? [];
  if (pattern === undefined) return said.slice(0, OTHER_MAX).toWellFormed();
  const system = SYSTEMS.find(([one]) => one.test(said))?.[1];
  return `${browser} ${pattern.exec(said)?.[1]}${system === undefined ? "" : `, ${system}`}`;
}
