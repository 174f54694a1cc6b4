/**
 * The alerts that wait in a Ledger for the control service, as a pure state machine: (index, event) -> (index, effects). In
 * order, each id once, at most 1000 waiting: beyond that one is dropped and counted, the oldest about a key, because tenants make
 * many, or else the oldest (docs/rules/alerts.md#bounds). Alerts of one issue wait as one with their counts added up, so that a long outage does not fill the log
 * (docs/rules/alerts.md#cooldown-and-repeats). An alert leaves only when the control service has acknowledged it; its id is
 * remembered for a while, so that the same alert, handed over again, is not raised twice.
 */

import type { AlertEvent } from "../../../shared/alerts.ts";
import { LIMITS } from "../../../shared/catalogues/limits.ts";

export const ALERTS_MAX_WAITING = LIMITS.waitingAlerts;
/** Alerts of one answer to the control service. */
export const ALERTS_PER_BATCH = 100;
/** How many ids of acknowledged alerts are remembered. */
export const ALERTS_REMEMBERED = 2000;

interface WaitingAlert {
  /** Rising by one per alert, never used again. */
  readonly sequence: number;
  readonly event: AlertEvent;
}

export interface AlertIndex {
  /** Ascending. */
  readonly waiting: readonly WaitingAlert[];
  /** Ids that are remembered, oldest first: of acknowledged alerts, and of alerts that became part of another. */
  readonly rememberedIds: readonly string[];
  readonly nextSequence: number;
  /** Alerts up to this sequence may have been sent to the control service, so they are not changed any more. */
  readonly offeredThrough: number;
  /** Alerts dropped because too many waited, since the log was created. */
  readonly dropped: number;
}

/** The writes that the shell must make on disk, all in one transaction. */
export type AlertEffect =
  | { readonly type: "add"; readonly sequence: number; readonly event: AlertEvent }
  /** The alert at `into` becomes `event`; the `id` of the alert that became part of it is remembered under `sequence`. */
  | {
      readonly type: "merge";
      readonly into: number;
      readonly event: AlertEvent;
      readonly sequence: number;
      readonly id: string;
    }
  | { readonly type: "drop"; readonly sequence: number; readonly total: number }
  /** Everything up to this sequence was acknowledged. */
  | { readonly type: "told"; readonly through: number }
  | { readonly type: "forget"; readonly id: string };

export interface AlertStep {
  readonly index: AlertIndex;
  readonly effects: readonly AlertEffect[];
}

/** Takes alerts that are new; one whose id waits or is remembered changes nothing. */
export function appendAlerts(start: AlertIndex, events: readonly AlertEvent[]): AlertStep {
  const known = new Set([...start.rememberedIds, ...start.waiting.map((entry) => entry.event.id)]);
  const waiting = [...start.waiting];
  const rememberedIds = [...start.rememberedIds];
  const effects: AlertEffect[] = [];
  let { nextSequence, dropped } = start;
  for (const event of events) {
    if (known.has(event.id)) continue;
    known.add(event.id);
    const sequence = nextSequence;
    nextSequence += 1;
    const at = waiting.findIndex(
      (entry) => entry.sequence > start.offeredThrough && entry.event.issueKey === event.issueKey,
    );
    const same = waiting[at];
    if (same !== undefined) {
      const merged = { ...event, id: same.event.id, count: same.event.count + event.count };
      waiting[at] = { ...same, event: merged };
      rememberedIds.push(event.id);
      effects.push({ type: "merge", into: same.sequence, event: merged, sequence, id: event.id });
      continue;
    }
    waiting.push({ sequence, event });
    effects.push({ type: "add", sequence, event });
    if (waiting.length <= ALERTS_MAX_WAITING) continue;
    const ofKey = waiting.findIndex((entry) => entry.event.issueKey.startsWith("key_term_"));
    const [oldest] = waiting.splice(Math.max(0, ofKey), 1);
    if (oldest === undefined) continue;
    dropped += 1;
    effects.push({ type: "drop", sequence: oldest.sequence, total: dropped });
  }
  const forgotten = forgetOldest(rememberedIds);
  return {
    index: { ...start, waiting, rememberedIds, nextSequence, dropped },
    effects: [...effects, ...forgotten],
  };
}

/** Removes the oldest remembered ids beyond the bound. */
function forgetOldest(rememberedIds: string[]): readonly AlertEffect[] {
  const forgotten = rememberedIds.splice(0, Math.max(0, rememberedIds.length - ALERTS_REMEMBERED));
  return forgotten.map((id): AlertEffect => ({ type: "forget", id }));
}

/** Removes the alerts up to `through`, which the control service has. */
export function acknowledgeAlerts(start: AlertIndex, through: number): AlertStep {
  const left = start.waiting.filter((entry) => entry.sequence > through);
  const gone = start.waiting.slice(0, start.waiting.length - left.length);
  const last = gone.at(-1);
  if (last === undefined) return { index: start, effects: [] };
  const rememberedIds = [...start.rememberedIds, ...gone.map((entry) => entry.event.id)];
  const forgotten = forgetOldest(rememberedIds);
  return {
    index: { ...start, waiting: left, rememberedIds },
    effects: [{ type: "told", through: last.sequence }, ...forgotten],
  };
}

/** An answer to the control service. */
interface AlertOffer {
  /** The index after recording what was sent. */
  readonly index: AlertIndex;
  /** The sequence number by which the control service acknowledges these alerts; 0 when none waits. */
  readonly through: number;
  /** The oldest waiting alerts. */
  readonly alerts: readonly AlertEvent[];
}

/** The alerts to send to the control service next. */
export function offerAlerts(index: AlertIndex): AlertOffer {
  const batch = index.waiting.slice(0, ALERTS_PER_BATCH);
  const through = batch.at(-1)?.sequence ?? 0;
  const offeredThrough = Math.max(index.offeredThrough, through);
  return { index: { ...index, offeredThrough }, through, alerts: batch.map((entry) => entry.event) };
}
