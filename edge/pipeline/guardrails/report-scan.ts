/**
 * The report of a scan: counters, an alert for a match, and the attributes of its span (docs/rules/guardrails.md#actions).
 * Scanners and counts only: no matched text leaves this plane.
 */
import { issues } from "../../../shared/alerts.ts";
import { boonEvent } from "../../domain/cell/event-counters.ts";
import type { OpenSpan } from "../../domain/trace/trace.ts";
import type { Call } from "../call/context.ts";
import type { GuardedSide, Guards, Scanner } from "../call/guards.ts";
import type { Prepared } from "../call/known.ts";

/** The result of a scan: matches by scanner; scanners without matches are absent. */
type ScanCounts = Partial<Record<Scanner, number>>;

/** The verdict on harm; null if there is none. */
export type HarmVerdict = "safe" | "unsafe" | "failed" | null;

/** A scan that is over. */
interface EndedScan {
  readonly side: GuardedSide;
  readonly guards: Guards;
  readonly counts: ScanCounts;
  /** Whether the texts were read to their end. */
  readonly whole: boolean;
  readonly harm: HarmVerdict;
  /** How long the text scanners and the guard model took, ms. */
  readonly textMs: number;
  readonly harmMs: number;
}

/** Counts matches by scanner. */
export function countsOf(matches: Iterable<{ readonly scanner: Scanner }>): ScanCounts {
  const counts: ScanCounts = {};
  for (const { scanner } of matches) counts[scanner] = (counts[scanner] ?? 0) + 1;
  return counts;
}

/** Reports a scan of a request; `span`: the span of the scan. */
export function reportScan(call: Call, { principal }: Prepared, span: OpenSpan, scan: EndedScan): void {
  const { side, guards, counts, whole, harm, textMs, harmMs } = scan;
  const { textScanners, action } = guards;
  const found: ScanCounts = harm === "unsafe" ? { ...counts, harm: 1 } : counts;
  span.set({ action, matches: { ...found } });
  if (!whole) span.fail();
  const { events, alerts } = call.ports;
  for (const scanner of textScanners) {
    const outcome = (found[scanner] ?? 0) > 0 ? "hit" : whole ? "none" : "failed";
    const boon =
      scanner === "prompt_injection" ? "guardrails_input:prompt_injection" : (`guardrails_${side}:${scanner}` as const);
    events.count(boonEvent(boon, outcome, textMs / textScanners.length));
  }
  if (harm !== null) {
    const outcome = { safe: "none", unsafe: "hit", failed: "failed" } as const;
    events.count(boonEvent(`guardrails_${side}:harm`, outcome[harm], harmMs));
  }
  const { tenant } = principal;
  const matched = textScanners.filter((scanner) => (found[scanner] ?? 0) > 0);
  if (matched.length > 0) alerts.raise(issues.guardrailsMatch(side, tenant, matched, action));
  if (harm === "unsafe") alerts.raise(issues.guardrailsHarm(side, tenant, action));
}
