/**
 * Which time zone a page shows (docs/rules/console-figures.md#zone): the tenant's, the browser's or UTC. Pure: the names of zones
 * are arguments. A name that is not a zone's counts as UTC, as everywhere (docs/rules/tenants.md#access-windows).
 */
import { isUtc } from "../../shared/time/zone-days.ts";
import { timeTexts } from "../messages/en/time.ts";
import { texts } from "../messages/texts.ts";

const text = texts("time", timeTexts);
/** Identifier of the text that says whose zone it is. */
const OWNER_TEXTS = { tenant: "zoneOfTenant", browser: "zoneOfBrowser", utc: "zoneUtc" } as const;

/** Whose zone is shown. */
export type ZoneChoice = "tenant" | "browser" | "utc";

/** One entry of the picker. */
export interface ZoneOption {
  readonly choice: ZoneChoice;
  /** IANA name. */
  readonly zone: string;
  /** Whose zone it is, and its name and offset at the given instant. */
  readonly label: string;
}

/** The zone itself, or UTC when this runtime does not know a zone of this name. */
export function usableZone(zone: string): string {
  try {
    return isUtc(zone) ? "UTC" : zone;
  } catch {
    return "UTC";
  }
}

/**
 * The entries of the picker, the tenant's first; a page that shows no single tenant has none of a tenant (null). A zone is
 * listed once, for the first whose it is.
 */
export function zoneOptions(tenantZone: string | null, browserZone: string, nowMs: number): readonly ZoneOption[] {
  const wanted: readonly { readonly choice: ZoneChoice; readonly zone: string | null }[] = [
    { choice: "tenant", zone: tenantZone },
    { choice: "browser", zone: browserZone },
    { choice: "utc", zone: "UTC" },
  ];
  const options: ZoneOption[] = [];
  for (const { choice, zone: name } of wanted) {
    if (name === null) continue;
    const zone = usableZone(name);
    if (options.some((option) => option.zone === zone)) continue;
    options.push({ choice, zone, label: text(OWNER_TEXTS[choice], { zone: zoneLabel(zone, nowMs) }) });
  }
  return options;
}

/** The zone of a choice; when it is not among the options, the first option's: the tenant's, else the browser's. */
export function chosenZone(options: readonly ZoneOption[], choice: ZoneChoice | null): string {
  return (options.find((option) => option.choice === choice) ?? options[0])?.zone ?? "UTC";
}

/** A zone with its offset at an instant: `Asia/Kolkata (UTC+05:30)`; UTC is its own offset. */
export function zoneLabel(zone: string, atMs: number): string {
  const usable = usableZone(zone);
  return usable === "UTC" ? usable : `${usable} (${offsetOf(usable, atMs)})`;
}

/**
 * A zone beside the days [fromMs, toMs) that are shown by it: with the offset of all of them; where clocks change within, the
 * name alone. Epoch ms.
 */
export function daysZoneLabel(
  zone: string,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): string {
  const label = zoneLabel(zone, fromMs);
  return label === zoneLabel(zone, toMs - 1) ? label : usableZone(zone);
}

/** Offset of a zone at an instant: `UTC+05:30`. Runtimes write the offset 0 in two ways. */
function offsetOf(zone: string, atMs: number): string {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  const name = format.formatToParts(atMs).find(({ type }) => type === "timeZoneName")?.value ?? "GMT";
  return name === "GMT" ? "UTC+00:00" : name.replace("GMT", "UTC");
}
