/**
 * The Ledger object: the durable owner of usage rows between a Cell and the analytics store
 * (docs/rules/settlement-and-rows.md#custody). A row is acknowledged when it is on this object's disk, and deleted only
 * after the store has acknowledged it. The alarm ships, catches every error and sets itself again; it is set only when
 * none is pending.
 */
import { DurableObject } from "cloudflare:workers";
import { type AlertEvent, issues } from "../../../shared/alerts.ts";
import { OutageLines } from "../../../shared/text/outage-lines.ts";
import { rootCause } from "../../../shared/text/root-cause.ts";
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import type { AlertAck, AlertBatch } from "../../../shared/wire/internal.ts";
import type { Bindings } from "../../bindings.ts";
import { RecentIds } from "../../domain/cell/recent-ids.ts";
import { RequestCounters, type SavedCounters } from "../../domain/cell/request-counters.ts";
import {
  type AlertIndex,
  type AlertStep,
  acknowledgeAlerts,
  appendAlerts,
  offerAlerts,
} from "../../domain/ledger/alert-log.ts";
import {
  appendBatch,
  appendLines,
  countDropped,
  type LogIndex,
  type LogLimits,
  type LogLine,
  type LogStep,
  markShipped,
  SHIPPED_KEEP_MS,
  sealForSending,
  shippingBackoffMs,
  wasApplied,
} from "../../domain/ledger/ledger-log.ts";
import { endedMs, requestIdOf, spanLine, storedRowLine, usageRowLine } from "../../domain/ledger/row-line.ts";
import type { LedgerBatch, LedgerStatus } from "../../domain/ledger/rpc.ts";
import { DEAD_LETTER_RETRY_MS } from "../../domain/ledger/send-plan.ts";
import type { SpanRecord } from "../../domain/trace/trace.ts";
import type { UpstreamOutcomes } from "../../domain/upstream/attempt-outcomes.ts";
import type { Alerts } from "../../ports.ts";
import { objectName } from "../object-name.ts";
import type { LedgerPorts } from "../object-ports.ts";
import { AlertStore } from "./alert-store.ts";
import { DeadLetterStore } from "./dead-letter-store.ts";
import { LedgerShipping, type RefusedRows } from "./ledger-shipping.ts";
import { LedgerStore } from "./ledger-store.ts";
import { SpanStore } from "./span-store.ts";

/** Rows wait at most this long for others before they are sent. */
const LINGER_MS = 250;
/** Most inserts of one alarm: even if each takes until its deadline, the alarm ends before the platform ends it. */
const INSERTS_PER_RUN = 12;
const SPAN_PARTS_PER_RUN = 4;

export class LedgerObject extends DurableObject<Bindings> {
  readonly #name: string;
  readonly #ports: LedgerPorts;
  readonly #store: LedgerStore;
  readonly #limits: LogLimits;
  readonly #alertStore: AlertStore;
  readonly #spans: SpanStore;
  readonly #deadLetters: DeadLetterStore;
  readonly #shipper: LedgerShipping;
  /** Takes the alerts that this object raises. */
  readonly #own: Alerts;
  #alerts: AlertIndex;
  #index: LogIndex;
  /** Request ids of the orphan rows in the log. */
  #orphans: Set<string>;
  /** Requests whose rows had no room lately: a row that comes again is not counted again. */
  readonly #withoutRoom = new RecentIds();
  /** The answer to the last batch of each source, if its log held rows of it: the answer may not have arrived. */
  readonly #answered = new Map<string, { readonly sequence: number; readonly held: readonly string[] }>();
  /** Counts the rows that Workers have handed in themselves, until their Cell takes the counts. */
  #untaken = new RequestCounters();
  #failures = 0;
  #spanFailures = 0;
  readonly #outages = { rows: new OutageLines(), spans: new OutageLines() };
  #spansRestUntilMs = 0;
  #shipping = false;

  constructor(state: DurableObjectState, bindings: Bindings, ports: LedgerPorts, limits: LogLimits) {
    super(state, bindings);
    this.#name = objectName(state);
    this.#ports = ports;
    this.#limits = limits;
    this.#store = new LedgerStore(state.storage);
    this.#alertStore = new AlertStore(state.storage);
    this.#alerts = this.#alertStore.load();
    this.#spans = new SpanStore(state.storage);
    this.#deadLetters = new DeadLetterStore(state.storage);
    this.#shipper = new LedgerShipping({
      store: this.#store,
      deadLetters: this.#deadLetters,
      spans: this.#spans,
      analytics: ports.analytics,
      ledger: this.#name,
      log: ports.log,
    });
    this.#own = ports.alertsOf(this);
    this.#index = this.#store.loadIndex();
    this.#orphans = this.#orphanIds();
    const counted = this.#store.untaken;
    if (counted !== null) this.#untaken.add(counted);
    // However the last life of this object ended, an alarm is set when rows wait.
    if (this.#index.pending.length > 0 || this.#spans.waiting)
      void state.blockConcurrencyWhile(async () => await this.#arm(LINGER_MS));
  }

  /**
   * Resolves when the batch is durable, with the requests whose rows the log already held; a batch that was applied
   * before changes nothing.
   */
  async append(batch: LedgerBatch): Promise<readonly string[]> {
    const source = `${batch.cell}/${batch.epoch}`;
    if (wasApplied(this.#index, source, batch.sequence)) {
      const answered = this.#answered.get(source);
      return answered?.sequence === batch.sequence ? answered.held : [];
    }
    const rows = this.#unseen(batch.rows, batch.orphan);
    const lines = rows.map(usageRowLine);
    const { sequence, orphan } = batch;
    this.#takeRows(rows, lines, orphan, appendBatch(this.#index, { source, sequence, lines, orphan }, this.#limits));
    const fresh = new Set(rows.map((row) => row.request_id));
    const held = batch.rows.map((row) => row.request_id).filter((requestId) => !fresh.has(requestId));
    if (held.length > 0) this.#answered.set(source, { sequence: batch.sequence, held });
    else this.#answered.delete(source);
    await this.#arm(LINGER_MS);
    return held;
  }

  /**
   * Takes a row directly from a Worker whose Cell is unreachable; it is checked against the log here, and against the
   * store before it is shipped.
   */
  async appendOrphan(row: UsageRow, upstream: UpstreamOutcomes = {}): Promise<void> {
    const fresh = this.#unseen([row], true);
    const lines = fresh.map(usageRowLine);
    this.#takeRows(fresh, lines, true, appendLines(this.#index, lines, true, this.#limits));
    if (fresh.length > 0) {
      this.#untaken.count(row, upstream);
      this.#store.untaken = this.#untaken.save();
    }
    await this.#arm(LINGER_MS);
  }

  async lost(rows: number): Promise<void> {
    this.#take(countDropped(this.#index, rows));
  }

  /**
   * The waiting rows, the number of rows ever dropped because the Ledger was full or out of reach, and the dead letters, which
   * the store refuses.
   */
  async status(): Promise<LedgerStatus> {
    const bytes = this.#index.pending.reduce((sum, entry) => sum + entry.bytes, 0);
    const { pending, dropped } = this.#index;
    const oldest = pending[0] === undefined ? null : this.#store.firstLineOf(pending[0].segment);
    const oldestMs = oldest === null ? null : endedMs(oldest);
    return { segments: pending.length, bytes, dropped, aside: this.#deadLetters.sizes.length, oldestMs };
  }

  async takeCounts(): Promise<SavedCounters> {
    const counts = this.#untaken.save();
    this.#untaken = new RequestCounters();
    // Not counted a second time by another life: the answer leaves only when this is on disk.
    this.#store.untaken = this.#untaken.save();
    return counts;
  }

  async spans(requestId: string, spans: readonly SpanRecord[]): Promise<void> {
    this.#spans.add(spans.map((span) => spanLine(requestId, span)));
    await this.#arm(LINGER_MS);
  }

  /** Keeps alerts until the control service has them; an id that is known already changes nothing. */
  async alert(events: readonly AlertEvent[]): Promise<void> {
    this.#takeAlerts(appendAlerts(this.#alerts, events));
  }

  /**
   * Forgets the alerts that the control service has, and returns the next ones. An acknowledgement of another storage's numbers
   * is ignored.
   */
  async alerts(ack: AlertAck | null): Promise<AlertBatch> {
    const ledger = this.#store.instance;
    if (ack?.ledger === ledger) this.#takeAlerts(acknowledgeAlerts(this.#alerts, ack.through));
    const { index, through, alerts } = offerAlerts(this.#alerts);
    this.#alerts = index;
    return { ledger, through, alerts: [...alerts], dropped: index.dropped };
  }

  override async alarm(): Promise<void> {
    this.#shipping = true;
    try {
      await this.#ship();
      this.#failures = 0;
      this.#reportSuccess("rows");
      await this.#shipSpans();
    } catch (error) {
      this.#failures += 1;
      this.#reportFailure("rows", error);
    } finally {
      this.#shipping = false;
    }
    await this.#rearm();
  }

  /**
   * The rows that the log does not hold. Orphans are looked up in all of the log; other rows, which are many, only
   * among the orphans, because only an orphan can have come before them.
   */
  #unseen(rows: readonly UsageRow[], orphan: boolean): readonly UsageRow[] {
    const fresh = new Map(rows.map((row) => [row.request_id, row]));
    for (const id of fresh.keys()) {
      if (this.#orphans.has(id) || this.#withoutRoom.has(id) || (orphan && this.#store.holds(id))) fresh.delete(id);
    }
    return [...fresh.values()];
  }

  /** Takes the step of these rows, and remembers which of them may come again. `lines`: their lines, in order. */
  #takeRows(rows: readonly UsageRow[], lines: readonly LogLine[], orphan: boolean, step: LogStep): void {
    this.#take(step);
    const kept = new Set(step.effects.flatMap((effect) => (effect.type === "commit" ? effect.lines : [])));
    for (const [at, { request_id }] of rows.entries()) {
      if (!kept.has(lines[at] as LogLine)) this.#withoutRoom.add(request_id);
      else if (orphan) this.#orphans.add(request_id);
    }
  }

  async #ship(): Promise<void> {
    if (this.#store.prune(this.#ports.now() - SHIPPED_KEEP_MS)) this.#orphans = this.#orphanIds();
    const turn = { inserts: INSERTS_PER_RUN };
    while (turn.inserts > 0) {
      this.#take(sealForSending(this.#index));
      const segment = this.#index.pending[0]?.segment;
      if (segment === undefined) {
        if (!this.#takeBack()) return;
        continue;
      }
      const refused = await this.#shipper.segment(segment, turn);
      if (refused !== null) this.#shipped(segment, refused);
    }
  }

  /** Ends the custody of a segment: its rows are in the store, or become dead letters in the same transaction. */
  #shipped(segment: number, refused: RefusedRows): void {
    const nowMs = this.#ports.now();
    this.ctx.storage.transactionSync(() => {
      if (refused.rows.length > 0) this.#deadLetters.keep(refused.rows, refused.displaced, nowMs);
      this.#deadLetters.plan = null;
      this.#store.markShipped(segment, nowMs);
    });
    this.#index = markShipped(this.#index, segment);
    this.#take(countDropped(this.#index, refused.displaced));
    if (refused.rows.length > 0) this.#own.raise(issues.usageRowsRefused(this.#deadLetters.sizes.length));
  }

  /** Puts older dead letters into the log again, to be checked and sent; false if there are none. */
  #takeBack(): boolean {
    return this.ctx.storage.transactionSync(() => {
      const rows = this.#deadLetters.release(this.#ports.now() - DEAD_LETTER_RETRY_MS);
      if (rows.length === 0) return false;
      const lines = rows.map(({ line, bytes }) => storedRowLine(line, bytes));
      this.#take(appendLines(this.#index, lines, true, this.#limits));
      for (const { requestId } of rows) this.#orphans.add(requestId);
      return true;
    });
  }

  /** A failure to send spans delays only spans: rows do not wait for them. */
  async #shipSpans(): Promise<void> {
    if (this.#index.pending.length > 0 || this.#ports.now() < this.#spansRestUntilMs) return;
    try {
      await this.#shipper.spans(SPAN_PARTS_PER_RUN);
      this.#spanFailures = 0;
      this.#reportSuccess("spans");
    } catch (error) {
      this.#spanFailures += 1;
      this.#spansRestUntilMs = this.#ports.now() + shippingBackoffMs(this.#spanFailures);
      this.#reportFailure("spans", error);
    }
  }

  #reportFailure(what: "rows" | "spans", error: unknown): void {
    const facts = this.#outages[what].failed(this.#ports.now());
    if (facts === null) return;
    this.#ports.log.event("ledger_shipping_failed", {
      ledger: this.#name,
      what,
      reason: rootCause(error),
      ...facts,
      waiting_segments: this.#index.pending.length,
    });
  }

  #reportSuccess(what: "rows" | "spans"): void {
    const facts = this.#outages[what].answered(this.#ports.now());
    if (facts !== null)
      this.#ports.log.event("ledger_shipping_available", { ledger: this.#name, what, ...facts }, "info");
  }

  #take(step: LogStep): void {
    if (step.effects.length > 0) this.#store.apply(step.effects, this.#ports.now());
    this.#index = step.index;
    const dropped = step.effects.findLast((effect) => effect.type === "dropped");
    if (dropped !== undefined) this.#own.raise(issues.usageSpillRefused(dropped.total));
  }

  #takeAlerts(step: AlertStep): void {
    this.#alertStore.apply(step.effects);
    this.#alerts = step.index;
  }

  #orphanIds(): Set<string> {
    return new Set(this.#store.orphanLines().map(requestIdOf));
  }

  /**
   * Sets the next alarm. While rows fail, everything else waits for their next attempt; otherwise the alarm is for the work
   * that is due first.
   */
  async #rearm(): Promise<void> {
    if (this.#failures > 0) return await this.#arm(shippingBackoffMs(this.#failures));
    if (this.#index.pending.length > 0) return await this.#arm(LINGER_MS);
    const nowMs = this.#ports.now();
    const { oldestAtMs } = this.#deadLetters;
    const waits = [
      ...(this.#spans.waiting ? [this.#spansRestUntilMs - nowMs] : []),
      ...(oldestAtMs === null ? [] : [oldestAtMs + DEAD_LETTER_RETRY_MS - nowMs]),
      ...(this.#store.hasShipped() ? [SHIPPED_KEEP_MS] : []),
    ];
    if (waits.length > 0) await this.#arm(Math.max(LINGER_MS, Math.min(...waits)));
  }

  /**
   * An earlier alarm stays, but one that only removes old rows is replaced by one that ships. While the Ledger ships,
   * the alarm is set at the end.
   */
  async #arm(inMs: number): Promise<void> {
    if (this.#shipping) return;
    const at = this.#ports.now() + inMs;
    const pending = await this.ctx.storage.getAlarm();
    if (pending !== null && (pending <= at || this.#failures > 0)) return;
    await this.ctx.storage.setAlarm(at);
  }
}
