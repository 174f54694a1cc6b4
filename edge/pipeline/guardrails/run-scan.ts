/**
 * One scan of the texts of one side: the scanners that need no model, and the guard model if nothing was refused by then; then
 * its report (report-scan.ts).
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import type { ScanMatch, ScanRoom } from "../../../shared/guardrails/text-scan.ts";
import type { Steps } from "../../../shared/steps.ts";
import type { OpenSpan } from "../../domain/trace/trace.ts";
import type { Call } from "../call/context.ts";
import { type GuardedSide, type Guards, isBlocking } from "../call/guards.ts";
import { inTurns } from "../call/in-turns.ts";
import type { Prepared } from "../call/known.ts";
import { judgeHarm } from "./judge-harm.ts";
import { countsOf, type HarmVerdict, reportScan } from "./report-scan.ts";

/** The texts to scan, and the policy. */
interface Scan {
  readonly side: GuardedSide;
  readonly guards: Guards;
  readonly span: OpenSpan;
  /** Matches that refuse the whole when their scanner does, and matches that do not. */
  readonly find: (
    room: ScanRoom,
  ) => Steps<{ readonly matches: readonly ScanMatch[]; readonly apart?: readonly ScanMatch[] }>;
  /** The text that is judged for harm. */
  readonly harmText: () => Steps<string>;
  /** The most work, in units; without it, what there is. */
  readonly maxUnits?: number;
}

/** The policy's verdict on the scanned texts. */
interface ScanVerdict {
  readonly blocked: boolean;
  /** The guard model failed, or the texts were too long, and the policy does not let unjudged texts pass. */
  readonly unjudged: boolean;
  /** Something was found. */
  readonly matched: boolean;
  /** It was more work than it may be: there is no verdict, and nothing is reported. */
  readonly isLong: boolean;
}

/** What one reading of the texts may take. */
export const scanRoom = (): ScanRoom => ({ units: LIMITS.guardrailsScan });

/** Scans, and reports the findings. Throws ClientGone. */
export async function runScan(call: Call, request: Prepared, scan: Scan): Promise<ScanVerdict> {
  const { side, guards, span, find, harmText, maxUnits = Number.POSITIVE_INFINITY } = scan;
  const { clock } = call.ports;
  const startedMs = clock();
  const room = scanRoom();
  const found = await inTurns(call, upTo(maxUnits, find(room)));
  if (found === null) return { blocked: false, unjudged: false, matched: false, isLong: true };
  const { matches, apart = [] } = found;
  const whole = room.units >= 0;
  const scannedMs = clock();
  const refused = matches.some(({ scanner }) => isBlocking(guards, scanner));
  const { guardModel, action, failOpen } = guards;
  const counts = countsOf([...matches, ...apart]);
  let harm: HarmVerdict = null;
  try {
    if (guardModel !== null && !refused)
      harm = await judgeHarm(call, request, guardModel, await inTurns(call, harmText()));
  } finally {
    // A client that leaves while the guard model is called does not undo the findings.
    const times = { textMs: scannedMs - startedMs, harmMs: clock() - scannedMs };
    reportScan(call, request, span, { side, guards, counts, whole, harm, ...times });
  }
  return {
    blocked: refused || (harm === "unsafe" && isBlocking(guards, "harm")),
    unjudged: action !== "log_only" && (harm === "failed" || !whole) && !failOpen,
    matched: matches.length + apart.length > 0,
    isLong: false,
  };
}

/** The result of the work; null: it is more. */
function* upTo<T>(maxUnits: number, work: Steps<T>): Steps<T | null> {
  let units = 0;
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value;
    units += step.value;
    if (units > maxUnits) return null;
    yield step.value;
  }
}
