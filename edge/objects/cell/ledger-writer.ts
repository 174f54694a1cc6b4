/**
 * Sends a Cell's rows to its Ledger shards: group commit, one batch in flight per shard, the same batch again until it
 * is acknowledged. A row's promise resolves when the Ledger has it on disk (docs/rules/settlement-and-rows.md#custody).
 */
import { sleep } from "../../../shared/time/sleep.ts";
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import { GROUP_COMMIT_MS, GroupCommit, type OutgoingBatch } from "../../domain/ledger/group-commit.ts";
import { shardOf } from "../../domain/ledger/row-line.ts";
import type { LedgerApi } from "../../domain/ledger/rpc.ts";

/** Too many rows wait for the Ledger: the sender keeps the row. */
class LedgerWriterFull extends Error {
  override readonly name = "LedgerWriterFull";
}

/** Tells the caller that handed a row in that a row of its request is durable; false if it is another row. */
type Told = (isNew: boolean) => void;

interface Shard {
  readonly number: number;
  readonly commit: GroupCommit<Told>;
  isScheduled: boolean;
}

export class LedgerWriter {
  readonly #cell: string;
  readonly #epoch = crypto.randomUUID();
  readonly #ledger: (shard: number) => LedgerApi;
  readonly #shards: readonly Shard[];

  constructor(cell: string, shards: number, ledger: (shard: number) => LedgerApi) {
    this.#cell = cell;
    this.#ledger = ledger;
    this.#shards = Array.from({ length: shards }, (_, number) => ({
      number,
      commit: new GroupCommit(),
      isScheduled: false,
    }));
  }

  /**
   * Resolves when a row of the request is durable: false when it is another one, which the Ledger's log already held or which
   * came later in the same batch. Rejects with LedgerWriterFull when the row was not taken.
   */
  async write(row: UsageRow, orphan: boolean): Promise<boolean> {
    const shard = this.#shards[shardOf(row.request_id, this.#shards.length)];
    const durable = Promise.withResolvers<boolean>();
    if (!shard?.commit.add({ ticket: durable.resolve, row, orphan }))
      throw new LedgerWriterFull("too many rows wait for the ledger");
    this.#schedule(shard, GROUP_COMMIT_MS);
    return await durable.promise;
  }

  #schedule(shard: Shard, inMs: number): void {
    if (shard.isScheduled) return;
    shard.isScheduled = true;
    setTimeout(() => {
      shard.isScheduled = false;
      const batch = shard.commit.start();
      if (batch) void this.#send(shard, batch);
    }, inMs);
  }

  async #send(shard: Shard, { sequence, orphan, rows }: OutgoingBatch<Told>): Promise<void> {
    const { number, commit } = shard;
    // the last row of a request is from its end, an earlier one from its loss
    const last = new Map(rows.map((entry) => [entry.row.request_id, entry]));
    const sent = rows.filter((entry) => last.get(entry.row.request_id) === entry).map(({ row }) => row);
    const batch = { cell: this.#cell, epoch: `${this.#epoch}/${number}`, sequence, orphan, rows: sent };
    let known: readonly string[] | null = null;
    while (known === null) {
      try {
        known = await this.#ledger(number).append(batch);
      } catch {
        // The Ledger may or may not have the batch: sending the same sequence again, on a fresh stub, is safe in both
        // cases.
        await sleep(commit.failed());
      }
    }
    const before = new Set(known);
    for (const entry of commit.done()) {
      const { request_id: requestId } = entry.row;
      entry.ticket(last.get(requestId) === entry && !before.has(requestId));
    }
    if (!commit.idle) this.#schedule(shard, commit.waiting > 100 ? 0 : GROUP_COMMIT_MS);
  }
}
