/**
 * Points in time as people type them: date and time by the clock of a zone, as `<input type="datetime-local">` has them. Pure.
 * A time that the zone's clocks skip is meant as if they had not yet been changed; of one that comes twice the first is meant.
 */
import { isCalendarDay } from "../../shared/time/timestamp.ts";
import { dayIn } from "../../shared/time/zone-days.ts";
import { formatTimeOfDay, isInstant } from "./instants.ts";
import { usableZone } from "./zones.ts";

const LOCAL = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?$/;
const DAY_MS = 86_400_000;

/** `2026-11-23T01:42:07` by the zone's clock, to the second; empty for what is no instant. */
export function localOf(zoneName: string, epochMs: number | null): string {
  if (!isInstant(epochMs)) return "";
  const zone = usableZone(zoneName);
  return `${dayIn(zone, epochMs)}T${formatTimeOfDay(zone, epochMs, "second")}`;
}

/** The instant that a zone's clock shows as `local`, epoch ms; null for what is no date and time. */
export function instantAt(zoneName: string, local: string): number | null {
  const asUtcMs = LOCAL.test(local) && isCalendarDay(local.slice(0, 10)) ? Date.parse(`${local}Z`) : Number.NaN;
  if (!isInstant(asUtcMs)) return null;
  const zone = usableZone(zoneName);
  const shownMs = (epochMs: number): number => Date.parse(`${localOf(zone, epochMs)}Z`);
  // The zone's offsets on both sides of a change of clocks that may be near.
  const [before, after] = [asUtcMs - DAY_MS, asUtcMs + DAY_MS].map((nearMs) => asUtcMs - (shownMs(nearMs) - nearMs));
  if (before === undefined || after === undefined) return null;
  const exact = [before, after].filter((epochMs) => shownMs(epochMs) === asUtcMs);
  return exact.length > 0 ? Math.min(...exact) : before;
}
