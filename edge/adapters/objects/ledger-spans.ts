/**
 * Sends the spans of traced requests to the Ledger, which keeps them until the analytics store has them
 * (docs/rules/storage-layouts.md#spans). Sending never delays a request and never makes it fail; spans that cannot be
 * sent are lost, and only a log line reports them.
 */

import { rootCause } from "../../../shared/text/root-cause.ts";
import { shardOf } from "../../domain/ledger/row-line.ts";
import type { LedgerApi } from "../../domain/ledger/rpc.ts";
import type { SpanRecord } from "../../domain/trace/trace.ts";
import type { Log, Spans } from "../../ports.ts";

interface LedgerSpansOptions {
  /** A fresh stub of one of the cell's Ledgers. */
  readonly ledger: (shard: number) => Pick<LedgerApi, "spans">;
  readonly shards: number;
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly log: Log;
}

export class LedgerSpans implements Spans {
  readonly #options: LedgerSpansOptions;

  constructor(options: LedgerSpansOptions) {
    this.#options = options;
  }

  send(requestId: string, spans: readonly SpanRecord[]): void {
    const { ledger, shards, keepAlive, log } = this.#options;
    const send = async (): Promise<void> => await ledger(shardOf(requestId, shards)).spans(requestId, spans);
    keepAlive(
      send()
        .catch(send)
        .catch((error: unknown) => log.event("spans_lost", { request_id: requestId, reason: rootCause(error) })),
    );
  }
}
