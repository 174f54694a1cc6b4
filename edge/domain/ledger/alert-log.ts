/**
 * The alerts that wait in a Ledger for the control service, as a pure state machine: (index, event) -> (index,
 * effects). In order, each id once, at most 1000 waiting: beyond that the oldest goes and is counted
 * (docs/rules/alerts.md#bounds). Those of one issue wait as one with their counts added up, so that a long outage fills
 * no room (docs/rules/alerts.md#cooldown-and-repeats). An alert leaves only when the control service says that it has
 * it; its id is remembered a while, so that whoever hands the same alert over again does not raise it twice.
 */
import type { AlertEvent } from "../../../shared/alerts.ts";

export const ALERTS_MAX_WAITING = 1000;
/** Alerts of one answer to the control service. */
export const ALERTS_PER_BATCH = 100;
/** Ids of told alerts that are remembered. */
export const ALERTS_REMEMBERED = 2000;

interface WaitingAlert {
  /** Rising by one per alert, never used again. */
  readonly sequence: number;
  readonly event: AlertEvent;
}

export interface AlertIndex {
  /** Ascending. */
  readonly waiting: readonly WaitingAlert[];
  /** Ids that are remembered, oldest first: of alerts that the control service has, or that became part of another. */
  readonly rememberedIds: readonly string[];
  readonly nextSequence: number;
  /** The control service may have been answered everything up to here: what it has changes no more. */
  readonly offeredThrough: number;
  /** Alerts dropped for want of room, since ever. */
  readonly dropped: number;
}

/** What the shell must do on disk, all of it in one transaction. */
export type AlertEffect =
  | { readonly type: "add"; readonly sequence: number; readonly event: AlertEvent }
  /** The alert at `into` becomes `event`; the `id` of what became part of it is remembered under `sequence`. */
  | {
      readonly type: "merge";
      readonly into: number;
      readonly event: AlertEvent;
      readonly sequence: number;
      readonly id: string;
    }
  | { readonly type: "drop"; readonly sequence: number; readonly total: number }
  /** Everything up to here was told. */
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
  const told = [...start.rememberedIds];
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
      told.push(event.id);
      effects.push({ type: "merge", into: same.sequence, event: merged, sequence, id: event.id });
      continue;
    }
    waiting.push({ sequence, event });
    effects.push({ type: "add", sequence, event });
    const oldest = waiting.length > ALERTS_MAX_WAITING ? waiting.shift() : undefined;
    if (oldest === undefined) continue;
    dropped += 1;
    effects.push({ type: "drop", sequence: oldest.sequence, total: dropped });
  }
  const forgotten = forgetOldest(told);
  return {
    index: { ...start, waiting, rememberedIds: told, nextSequence, dropped },
    effects: [...effects, ...forgotten],
  };
}

/** Takes what is beyond the bound out of the ids that are remembered. */
function forgetOldest(told: string[]): readonly AlertEffect[] {
  const forgotten = told.splice(0, Math.max(0, told.length - ALERTS_REMEMBERED));
  return forgotten.map((id): AlertEffect => ({ type: "forget", id }));
}

/** The control service has everything up to `through`. */
export function acknowledgeAlerts(start: AlertIndex, through: number): AlertStep {
  const left = start.waiting.filter((entry) => entry.sequence > through);
  const gone = start.waiting.slice(0, start.waiting.length - left.length);
  const last = gone.at(-1);
  if (last === undefined) return { index: start, effects: [] };
  const told = [...start.rememberedIds, ...gone.map((entry) => entry.event.id)];
  const forgotten = forgetOldest(told);
  return {
    index: { ...start, waiting: left, rememberedIds: told },
    effects: [{ type: "told", through: last.sequence }, ...forgotten],
  };
}

/** An answer to the control service. */
interface AlertOffer {
  /** The index that knows what was answered. */
  readonly index: AlertIndex;
  /** The sequence number that says so when the alerts have arrived; 0 when none waits. */
  readonly through: number;
  /** The oldest that wait. */
  readonly alerts: readonly AlertEvent[];
}

/** What the control service is answered next. */
export function offerAlerts(index: AlertIndex): AlertOffer {
  const batch = index.waiting.slice(0, ALERTS_PER_BATCH);
  const through = batch.at(-1)?.sequence ?? 0;
  const offeredThrough = Math.max(index.offeredThrough, through);
  return { index: { ...index, offeredThrough }, through, alerts: batch.map((entry) => entry.event) };
}
