/**
 * Raises an alert when requests of a model wait long in a cell for a minute, and again each minute while they do
 * (docs/rules/alerts.md#long-waits). The alert sink suppresses repeats.
 */
import { issueOf } from "../../shared/alerts.ts";
import type { FairshareLive } from "../../shared/schema/load.ts";
import { durationText } from "../../shared/time/duration-text.ts";
import { type AlertSink, type RaisedAlert, raisedNow } from "../kernel/alert-sink.ts";
import { BRIEF_DEADLINE_MS, type CellAddress } from "../kernel/cells/cells.ts";

const FOR_MS = 60_000;

/** The queues of the cells. Rejects when a cell does not answer. */
interface Queues {
  readonly addresses: readonly CellAddress[];
  live(address: CellAddress, deadlineMs: number): Promise<Pick<FairshareLive, "waiting">>;
}

/** What waits for a model in a cell. */
interface Wait {
  readonly cell: string;
  readonly model: string;
  readonly longestMs: number;
  readonly queued: number;
}

export class QueueWatch {
  readonly #queues: Queues;
  readonly #sink: AlertSink;
  readonly #limitMs: number;
  /** By issue: since when the wait is long, or when that was said last, epoch ms. */
  #sinceMs: ReadonlyMap<string, number> = new Map();

  /** `limitMs`: a wait above it is long. */
  constructor(queues: Queues, sink: AlertSink, limitMs: number) {
    this.#queues = queues;
    this.#sink = sink;
    this.#limitMs = limitMs;
  }

  /** Looks once; a cell that does not answer has no long wait. Rejects when the sink does not answer. */
  async run(nowMs: number): Promise<void> {
    const { addresses } = this.#queues;
    const waits = (await Promise.all(addresses.map(async (address) => await this.#longWaits(address)))).flat();
    const sinceMs = new Map<string, number>();
    const alerts: RaisedAlert[] = [];
    for (const { cell, model, longestMs, queued } of waits) {
      const about = `:${cell}:${model}`;
      const since = this.#sinceMs.get(about) ?? nowMs;
      sinceMs.set(about, nowMs - since < FOR_MS ? since : nowMs);
      if (nowMs - since < FOR_MS) continue;
      const longest = durationText(Math.floor(longestMs / 1000) * 1000);
      const detail = `${model} in cell ${cell}: ${queued === 1 ? "1 request is" : `${queued} requests are`} waiting, the longest for ${longest} (alert above ${durationText(this.#limitMs)})`;
      alerts.push(raisedNow(issueOf("queue_wait_long", detail, about), nowMs, cell));
    }
    if (alerts.length > 0) await this.#sink.take(alerts);
    this.#sinceMs = sinceMs;
  }

  /** One for each model. */
  async #longWaits(address: CellAddress): Promise<readonly Wait[]> {
    const live = await this.#queues.live(address, BRIEF_DEADLINE_MS).catch(() => null);
    return [...Map.groupBy(live?.waiting ?? [], ({ model }) => model)]
      .map(([model, queues]) => ({
        cell: address.cell,
        model,
        longestMs: Math.max(...queues.map(({ oldest_wait_ms }) => oldest_wait_ms)),
        queued: queues.reduce((sum, { queued }) => sum + queued, 0),
      }))
      .filter(({ longestMs }) => longestMs > this.#limitMs);
  }
}
