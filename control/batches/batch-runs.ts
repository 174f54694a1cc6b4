/**
 * Runs batches, on the replica that holds the lease of the job (docs/rules/batches.md#execution): reads new ones, sends their lines
 * within windows, stores what they come to, and ends them. What a process leaves under way, the next one finds out.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { and, asc, eq, inArray, isNull, lt } from "drizzle-orm";
import { storeKeys } from "../../shared/records.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { Bucket } from "../kernel/bucket/bucket.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { HotStore } from "../kernel/hot-store/hot-store.ts";
import type { Logger } from "../kernel/log.ts";
import { retentionSettings } from "../kernel/settings/plain-settings.ts";
import { failureLevel } from "../kernel/store-watch.ts";
import { TenantTurns } from "../kernel/tenant-turns.ts";
import { largeInOneLine } from "./answer-text.ts";
import { classifyResult } from "./classify-result.ts";
import { storeAnswer } from "./files/answers.ts";
import { deleteOldFiles } from "./files/file-store.ts";
import { finishBatch, overBatch } from "./finish-batch.ts";
import { LargeAnswers } from "./large-answers.ts";
import { LineMemory } from "./line-memory.ts";
import type { LineResult, LineSender } from "./line-sender.ts";
import {
  type ClaimedLine,
  claimLines,
  endLines,
  type LineEnd,
  nextEnds,
  sentLines,
  waitingModels,
} from "./line-store.ts";
import { LineWindows } from "./line-windows.ts";
import { type BatchRow, batches } from "./tables.ts";
import { validateBatch } from "./validate-batch.ts";

interface BatchRunsOptions {
  /** As `system`. */
  readonly ctx: VerbContext;
  readonly sender: LineSender;
  readonly store: Pick<HotStore, "put">;
  /** Where contents of files are; null: in the database. */
  readonly bucket: Bucket | null;
  readonly usageRetentionDays: number;
  readonly log: Logger;
}

/** A batch whose lines are sent. */
interface OpenBatch {
  readonly row: BatchRow;
  readonly keyHash: string;
  /** With lines that wait, as far as is known. */
  readonly models: Set<string>;
}

/** The lease of the job lasts 6 s. */
const OWNED_MS = 5000;
const ASK_EVERY_MS = 1000;
/** A request may not have come to its cell yet when it is asked for. */
const GONE_TWICE = 2;
/** Runs of the job from one look for lines of others to the next: the look reads all open lines. */
const LOOKS_EVERY = 10;
/** After it took over: the second look finds what the first one did not know. */
const FIRST_LOOKS = 3;
const CLAIMED_AT_ONCE = 16;
/** Models of a batch whose lines are claimed in one turn. */
const MODELS_A_TURN = 4;
const AGAIN_AFTER_MS = 500;
const PRUNE_EVERY_MS = 60_000;
/** Of each run of the job, for the results of all batches that end: what is left follows in the next run. */
const FINISHES_MS = 1000;
/** Of a tenant's turn in that; a part takes as long as it takes. */
const FINISH_TURN_MS = 100;
/** A batch that could not be read or ended is left alone for so long. */
const BATCH_PAUSE_MS = 30_000;

export class BatchRuns {
  readonly #options: BatchRunsOptions;
  readonly #windows = new LineWindows(() => performance.now());
  readonly #ending = new AbortController();
  #open: readonly OpenBatch[] = [];
  #ownedUntilMs = 0;
  /** Runs of the job since this process has it. */
  #runs = 0;
  #prunedAtMs = Number.NEGATIVE_INFINITY;
  /** Turns that began: each begins with another tenant and batch. */
  #turns = 0;
  readonly #memory = new LineMemory();
  readonly #answers: LargeAnswers;
  #filling = false;
  #validating = false;
  /** Batches whose file was not read yet, as of the last run of the job. */
  #unread: readonly BatchRow[] = [];
  readonly #readTurns = new TenantTurns();
  readonly #finishTurns = new TenantTurns();
  /** Until when batches are left alone, by their ids. */
  readonly #pausedUntilMs = new Map<string, number>();
  #saving = false;
  /** What lines came to that is not stored yet. */
  readonly #ends = new Set<LineEnd>();
  /** Requests of lines that this process sends or looks after, until what they came to is stored. */
  readonly #known = new Set<string>();
  /** Those that the last run of the job did not know. */
  #unknown = new Set<string>();

  constructor(options: BatchRunsOptions) {
    this.#options = options;
    this.#answers = new LargeAnswers({
      inOneLine: largeInOneLine,
      store: storeAnswer.bind(null, options.ctx.db),
      ending: this.#ending.signal,
      onFailed: ({ batchId, n }, error) =>
        this.#failed({ event: "batch_lines_not_stored", batch: batchId, line: n }, error),
    });
  }

  /** Sends nothing more; lines under way go on, and their answers are kept. */
  end(): void {
    this.#ending.abort();
  }

  /** One run of the job. */
  async tick(): Promise<{ readonly batches_ended: number; readonly files_deleted: number }> {
    this.#runs = this.#isOwner ? this.#runs + 1 : 0;
    this.#ownedUntilMs = performance.now() + OWNED_MS;
    const { ctx } = this.#options;
    const { db } = ctx;
    if (this.#runs < FIRST_LOOKS || this.#unknown.size > 0 || this.#runs % LOOKS_EVERY === 0) await this.#adopt();
    const open: OpenBatch[] = [];
    const over: BatchRow[] = [];
    const rows = await db.select().from(batches).where(isNull(batches.ended_at)).orderBy(asc(batches.created_at));
    for (const row of rows) {
      if (row.status === "validating") continue;
      await this.#apart(row, async () => {
        const isOpen = row.status === "in_progress" && row.expires_at > ctx.now();
        const models = this.#open.find((batch) => batch.row.id === row.id)?.models;
        // it has lines that wait: to count them again every second takes long when there are many
        if (isOpen && models !== undefined && models.size > 0) return void open.push(await this.#opened(row, models));
        // what is left of its lines is counted when it has its turn
        const ending = row.status === "finalizing" ? row : await overBatch(db, row, ctx.now());
        if (ending !== null) over.push(ending);
        else if (isOpen) open.push(await this.#opened(row, new Set(await waitingModels(db, row.id))));
      });
    }
    this.#open = open;
    this.#windows.sweep();
    void this.#fill();
    this.#unread = rows.filter(({ status }) => status === "validating");
    void this.#validateAll();
    return { batches_ended: await this.#finishAll(over), files_deleted: await this.#prune() };
  }

  /** Writes results in turns of the tenants. Returns how many batches have ended. */
  async #finishAll(over: readonly BatchRow[]): Promise<number> {
    const { ctx, bucket } = this.#options;
    const untilMs = performance.now() + FINISHES_MS;
    const left = new Map(over.map((row) => [row.id, row]));
    let ended = 0;
    while (performance.now() < untilMs) {
      const row = this.#finishTurns.next([...left.values()]);
      if (row === null) break;
      left.delete(row.id);
      const turnUntilMs = performance.now() + FINISH_TURN_MS;
      const mayGoOn = (): boolean => performance.now() < turnUntilMs;
      await this.#apart(row, async () => {
        if ((await finishBatch({ db: ctx.db, bucket }, row, ctx.now(), mayGoOn)) === null) left.set(row.id, row);
        else ended += 1;
      });
    }
    return ended;
  }

  /** Files are read beside the runs of the job, one at a time in turns of the tenants: lines of other batches keep running. */
  async #validateAll(): Promise<void> {
    if (this.#validating) return;
    this.#validating = true;
    const { ctx, bucket } = this.#options;
    for (;;) {
      const row = this.#readTurns.next(this.#unread);
      if (row === null) break;
      this.#unread = this.#unread.filter(({ id }) => id !== row.id);
      await this.#apart(row, async () => {
        if (this.#isOwner)
          await validateBatch({ db: ctx.db, bucket }, row, { now: ctx.now, goesOn: () => this.#isOwner });
      });
    }
    this.#validating = false;
  }

  /** What fails of one batch does not keep others from going on. */
  async #apart({ id }: BatchRow, work: () => Promise<void>): Promise<void> {
    if ((this.#pausedUntilMs.get(id) ?? 0) > performance.now()) return;
    this.#pausedUntilMs.delete(id);
    try {
      await work();
    } catch (error) {
      // an outage of the database affects every batch, and each continues after it
      if (failureLevel(error) === "warn") this.#pausedUntilMs.set(id, performance.now() + BATCH_PAUSE_MS);
      this.#failed({ event: "batch_not_run", batch: id }, error);
    }
  }

  async #opened(row: BatchRow, models: Set<string>): Promise<OpenBatch> {
    const { db } = this.#options.ctx;
    const [key] = await db.select({ hash: apiKeys.key_hash }).from(apiKeys).where(eq(apiKeys.id, row.key_id));
    // a key that was deleted has no hash, and the lines fail like any call of it
    return { row, keyHash: key?.hash ?? "", models };
  }

  get #isOwner(): boolean {
    return performance.now() < this.#ownedUntilMs && !this.#ending.signal.aborted;
  }

  /** Sends lines while windows have room, in turns of the tenants and of their batches. */
  async #fill(): Promise<void> {
    if (this.#filling) return;
    this.#filling = true;
    try {
      for (let sent = 1; sent > 0 && this.#isOwner; ) {
        sent = 0;
        const turn = this.#turns++;
        const ofTenants = [...Map.groupBy(this.#open, ({ row }) => row.tenant_id).values()];
        for (const own of startingAt(ofTenants, turn)) sent += await this.#sendOne(startingAt(own, turn));
      }
    } catch (error) {
      this.#failed({ event: "batch_lines_not_read" }, error);
    } finally {
      this.#filling = false;
    }
  }

  /** Sends lines of the first batch that may send any. */
  async #sendOne(own: readonly OpenBatch[]): Promise<number> {
    for (const batch of own) {
      let sent = 0;
      for (const cell of this.#options.sender.cells) sent += await this.#send(batch, cell);
      if (sent > 0) return sent;
    }
    return 0;
  }

  async #send(batch: OpenBatch, cell: string): Promise<number> {
    const { ctx } = this.#options;
    const { id: batchId, tenant_id: tenantId } = batch.row;
    let sent = 0;
    let claims = 0;
    for (const model of batch.models) {
      const queue = { tenantId, batchId, cell, model };
      const room = Math.min(this.#windows.room(queue), this.#memory.room(tenantId, model), CLAIMED_AT_ONCE);
      if (room === 0) continue;
      if (claims === MODELS_A_TURN || !this.#isOwner) break;
      claims += 1;
      const lines = await claimLines(ctx.db, queue, { lines: room, bytes: this.#windows.bytes(queue) });
      if (lines.length === 0) batch.models.delete(model);
      for (const line of lines) {
        this.#windows.sent(queue, Buffer.byteLength(line.body));
        this.#known.add(line.requestId);
        void this.#run(batch, line).finally(this.#memory.taken(tenantId, model, line.body.length));
      }
      sent += lines.length;
    }
    return sent;
  }

  async #run(batch: OpenBatch, line: ClaimedLine): Promise<void> {
    const { row, keyHash } = batch;
    const { cell, model, body } = line;
    const queue = { tenantId: row.tenant_id, batchId: row.id, cell, model };
    const bytes = Buffer.byteLength(body);
    let result: LineResult | null = null;
    try {
      const call = { keyHash, path: row.endpoint, body, untilMs: row.expires_at.getTime() };
      result = await this.#options.sender
        .send(line, call, this.#ending.signal)
        .catch(async () => await this.#whatBecame(line));
    } catch (error) {
      // Who takes the batch over asks again.
      this.#windows.ended(queue, bytes, null);
      this.#failed({ event: "batch_line_left", batch: row.id, line: line.n }, error);
      return;
    }
    this.#windows.ended(queue, bytes, result?.waitedMs ?? null);
    this.#memory.answered(model, result?.text.length ?? 0);
    const end = classifyResult(line, result);
    if (end.state === "waiting") {
      batch.models.add(model);
      if (result !== null) this.#windows.failed(queue, result.retryAfterMs);
    }
    await this.#save(end);
  }

  /** What a line came to that has no answer; null: it is over without one. Throws when this process does not run batches any more. */
  async #whatBecame(line: ClaimedLine): Promise<LineResult | null> {
    for (let gone = 0; gone < GONE_TWICE; ) {
      await sleep(ASK_EVERY_MS, undefined, { signal: this.#ending.signal });
      const became = await this.#options.sender.ask(line).catch(() => "unknown" as const);
      if (typeof became === "object") return became;
      gone = became === "gone" ? gone + 1 : 0;
    }
    return null;
  }

  /**
   * Looks after lines that are said to be sent, and that this process does not know at two runs of the job: another process has sent
   * them, or the answer to their claim was lost.
   */
  async #adopt(): Promise<void> {
    const unknown = new Set<string>();
    for (const line of await sentLines(this.#options.ctx.db)) {
      const id = line.requestId;
      if (this.#known.has(id)) continue;
      unknown.add(id);
      if (!this.#unknown.has(id)) continue;
      this.#known.add(id);
      void this.#whatBecame(line)
        .then(async (result) => await this.#save(classifyResult(line, result)))
        .catch((error: unknown) =>
          this.#failed({ event: "batch_line_left", batch: line.batchId, line: line.n }, error),
        );
    }
    this.#unknown = unknown;
  }

  /** Returns when a large answer is stored, so that its memory counts until then; small ones are stored together. */
  async #save(end: LineEnd): Promise<void> {
    const { batchId: batch, n: line } = end;
    try {
      this.#ends.add(await this.#answers.apart(end));
    } catch (error) {
      // who takes the batch over asks again
      this.#failed({ event: "batch_line_left", batch, line }, error);
      return;
    }
    if (!this.#saving) void this.#saveAll();
  }

  async #saveAll(): Promise<void> {
    const { ctx, store } = this.#options;
    this.#saving = true;
    while (this.#ends.size > 0) {
      const ends = nextEnds(this.#ends);
      try {
        await endLines(ctx.db, ends);
      } catch (error) {
        this.#failed({ event: "batch_lines_not_stored", lines: ends.length }, error);
        if (this.#ending.signal.aborted) break;
        await sleep(AGAIN_AFTER_MS);
        continue;
      }
      for (const end of ends) this.#ends.delete(end);
      const ids = ends.map(({ requestId }) => requestId);
      for (const id of ids) this.#known.delete(id);
      const kept = ids.map((id) => ({ hotKey: storeKeys.lineAnswer(id), text: null }));
      await store.put(kept).catch(() => undefined);
      void this.#fill();
    }
    this.#saving = false;
  }

  /** Deletes files and batches that are older than usage rows are kept. */
  async #prune(): Promise<number> {
    if (performance.now() < this.#prunedAtMs + PRUNE_EVERY_MS) return 0;
    this.#prunedAtMs = performance.now();
    const { ctx, usageRetentionDays } = this.#options;
    const now = ctx.now();
    const { days } = await retentionSettings(usageRetentionDays).read(ctx);
    const before = days > 0 ? new Date(now.getTime() - days * 86_400_000) : null;
    if (before !== null)
      await ctx.db
        .delete(batches)
        .where(
          and(lt(batches.ended_at, before), inArray(batches.status, ["failed", "completed", "expired", "cancelled"])),
        );
    return await deleteOldFiles(ctx.db, now, before);
  }

  #failed(line: object, error: unknown): void {
    if (this.#ending.signal.aborted) return;
    this.#options.log[failureLevel(error)]({ ...line, reason: rootCause(error) });
  }
}

/** A list from another place on, and then its start. */
function startingAt<T>(list: readonly T[], turn: number): readonly T[] {
  const at = turn % Math.max(1, list.length);
  return [...list.slice(at), ...list.slice(0, at)];
}
