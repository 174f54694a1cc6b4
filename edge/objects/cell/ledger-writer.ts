/**
 * Sends a Cell's rows to its Ledger shards: group commit, one batch in flight per shard, the same batch again until it
 * is acknowledged. A row's promise resolves when the Ledger has it on disk (docs/rules/settlement-and-rows.md#custody).
 */
import { sleep } from "../../../shared/sleep.ts";
import type { UsageRow } from "../../../shared/usage-row.ts";
import { GROUP_COMMIT_MS, GroupCommit, type OutgoingBatch } from "../../domain/ledger/group-commit.ts";
import { shardOf } from "../../domain/ledger/row-line.ts";
import type { LedgerApi } from "../../domain/ledger/rpc.ts";

/** Too many rows wait for the Ledger: the sender keeps the row. */
class LedgerWriterFull extends Error {
  override readonly name = "LedgerWriterFull";
}

interface Waiter {
  readonly requestId: string;
  readonly resolve: (isNew: boolean) => void;
}

export class LedgerWriter {
  readonly #cell: string;
  readonly #epoch = crypto.randomUUID();
  readonly #ledger: (shard: number) => LedgerApi;
  readonly #shards: GroupCommit[];
  readonly #scheduled: boolean[];
  readonly #waiters = new Map<number, Waiter>();
  #nextTicket = 1;

  constructor(cell: string, shards: number, ledger: (shard: number) => LedgerApi) {
    this.#cell = cell;
    this.#ledger = ledger;
    this.#shards = Array.from({ length: shards }, () => new GroupCommit());
    this.#scheduled = this.#shards.map(() => false);
  }

  /**
   * Resolves when a row of the request is durable: false when it is another one, which the Ledger's log already held or which
   * came later in the same batch. Rejects with LedgerWriterFull when the row was not taken.
   */
  async write(row: UsageRow, orphan: boolean): Promise<boolean> {
    const shard = shardOf(row.request_id, this.#shards.length);
    const ticket = this.#nextTicket;
    this.#nextTicket += 1;
    if (!this.#shards[shard]?.add({ ticket, row, orphan }))
      throw new LedgerWriterFull("too many rows wait for the ledger");
    const durable = Promise.withResolvers<boolean>();
    this.#waiters.set(ticket, { requestId: row.request_id, resolve: durable.resolve });
    this.#schedule(shard, GROUP_COMMIT_MS);
    return await durable.promise;
  }

  #schedule(shard: number, inMs: number): void {
    if (this.#scheduled[shard] === true) return;
    this.#scheduled[shard] = true;
    setTimeout(() => {
      this.#scheduled[shard] = false;
      const batch = this.#shards[shard]?.start();
      if (batch) void this.#send(shard, batch);
    }, inMs);
  }

  async #send(shard: number, batch: OutgoingBatch): Promise<void> {
    const commit = this.#shards[shard];
    if (commit === undefined) return;
    // the last row of a request is of its end, an earlier one of its loss
    const last = new Map(batch.rows.map(({ row, ticket }) => [row.request_id, ticket]));
    const sent = batch.rows.filter(({ row, ticket }) => last.get(row.request_id) === ticket);
    let known: ReadonlySet<string>;
    for (;;) {
      try {
        const before = await this.#ledger(shard).append({
          cell: this.#cell,
          epoch: `${this.#epoch}/${shard}`,
          sequence: batch.sequence,
          orphan: batch.orphan,
          rows: sent.map((entry) => entry.row),
        });
        known = new Set(before);
        break;
      } catch {
        // The Ledger may or may not have the batch: sending the same sequence again, on a fresh stub, is safe in both
        // cases.
        const waitMs = commit.failed();
        await sleep(waitMs);
      }
    }
    for (const entry of commit.done()) {
      const waiter = this.#waiters.get(entry.ticket);
      waiter?.resolve(last.get(waiter.requestId) === entry.ticket && !known.has(waiter.requestId));
      this.#waiters.delete(entry.ticket);
    }
    if (!commit.idle) this.#schedule(shard, commit.waiting > 100 ? 0 : GROUP_COMMIT_MS);
  }
}
