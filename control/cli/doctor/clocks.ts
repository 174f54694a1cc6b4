/**
 * Whether the clocks of an installation agree. Every sample is measured against the clock of the machine that asks,
 * which is itself one of them: the middle of all is taken for right, so that one wrong clock is found, whosoever it is.
 */
import { type ClockSample, type DoctorFinding, findingsOf } from "./finding.ts";

/** Calendar periods, tokens and leases bear less than this; what is more is worth mending. */
const WARN_MS = 2000;
/** Instances of a cluster refuse one another from here on (docs/cluster.md). */
const FAIL_MS = 30_000;
/** `Date` of HTTP has whole seconds, cut off. */
const DATE_STEP_MS = 1000;

export const THIS_MACHINE = "this machine";

/** One finding for each clock. */
export function checkClocks(told: readonly ClockSample[]): readonly DoctorFinding[] {
  const samples = told.filter(({ aheadMs, withinMs }) => Number.isFinite(aheadMs) && Number.isFinite(withinMs));
  if (samples.length === 0) return [];
  const all = [{ part: THIS_MACHINE, aheadMs: 0, withinMs: 0 }, ...samples];
  const sorted = all.map(({ aheadMs }) => aheadMs).sort((one, two) => one - two);
  const rightMs = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  return all.map(({ part, aheadMs, withinMs }) => {
    const offMs = aheadMs - rightMs;
    const surelyMs = Math.max(0, Math.abs(offMs) - withinMs);
    const { ok, warning, failure } = findingsOf(part);
    if (surelyMs <= WARN_MS) return ok("clock", "agrees with the other clocks");
    const detail = `is ${(surelyMs / 1000).toFixed(1)} s ${offMs > 0 ? "ahead of" : "behind"} the other clocks`;
    const fix = "let NTP (chrony, systemd-timesyncd) set the clock of its machine";
    return (surelyMs > FAIL_MS ? failure : warning)("clock", detail, fix);
  });
}

/** A part's clock from an instant that it told in an answer, which took from `sentMs` to `gotMs` on this machine. */
export function clockFromInstant(part: string, instantMs: number, sentMs: number, gotMs: number): ClockSample {
  return { part, aheadMs: instantMs - (sentMs + gotMs) / 2, withinMs: (gotMs - sentMs) / 2 };
}

/** The same from the `Date` of an HTTP answer; none when there is no such header. */
export function clockFromDate(
  part: string,
  date: string | null,
  sentMs: number,
  gotMs: number,
): readonly ClockSample[] {
  const instantMs = Date.parse(date ?? "");
  if (Number.isNaN(instantMs)) return [];
  const middle = clockFromInstant(part, instantMs + DATE_STEP_MS / 2, sentMs, gotMs);
  return [{ ...middle, withinMs: middle.withinMs + DATE_STEP_MS / 2 }];
}
