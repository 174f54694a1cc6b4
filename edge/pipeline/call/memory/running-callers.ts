/**
 * The records of the callers whose calls an isolate runs, and which of them have changed: one question to the Cell for all calls,
 * in the context of the call that asks next (docs/rules/keys.md#running-requests). It decides nothing about a caller.
 */
import type { RevItem } from "../../../../shared/wire/internal.ts";
import type { Ports } from "../../../ports.ts";

/** Less than two looks of a call (watch-caller.ts), so that every second one asks. */
const ASK_EVERY_MS = 1_500;
/** A call that gets no answer leaves the question to others for this long: a platform limits the calls of a request. */
const REST_MS = 10_000;

/** The records by which a running call was served. */
interface RunningCaller {
  revs: readonly RevItem[];
  /** The Cell knows a newer one. */
  isOld: boolean;
  /** When it last asked without success, epoch ms. */
  failedMs: number;
}

export class RunningCallers {
  readonly #running = new Set<RunningCaller>();
  #askedMs = Number.NEGATIVE_INFINITY;

  add(caller: RunningCaller): void {
    this.#running.add(caller);
  }

  delete(caller: RunningCaller): void {
    this.#running.delete(caller);
  }

  /** Asks the Cell for changes, unless a call has just asked. Never rejects: while the Cell is unavailable nothing is known. */
  async ask(
    asking: RunningCaller,
    { clock, directory, admission }: Pick<Ports, "clock" | "directory" | "admission">,
  ): Promise<void> {
    const nowMs = clock();
    // A clock that was set back cannot show when that was.
    const isWithin = (ms: number, thenMs: number): boolean => Math.abs(nowMs - thenMs) < ms;
    if (isWithin(ASK_EVERY_MS, this.#askedMs) || isWithin(REST_MS, asking.failedMs)) return;
    this.#askedMs = nowMs;
    const oldest = new Map<string, RevItem>();
    for (const item of this.#items())
      if (item.rev < (oldest.get(nameOf(item))?.rev ?? Infinity)) oldest.set(nameOf(item), item);
    const changed = await admission.view.changedAmong([...oldest.values()]).catch(() => null);
    if (changed === null) asking.failedMs = nowMs;
    if (changed === null || changed.length === 0) return;
    directory.forget(changed);
    const newest = new Map(changed.map((item) => [nameOf(item), item.rev]));
    for (const caller of this.#running)
      caller.isOld ||= caller.revs.some((item) => item.rev < (newest.get(nameOf(item)) ?? 0));
  }

  *#items(): Iterable<RevItem> {
    for (const { revs } of this.#running) yield* revs;
  }
}

const nameOf = ({ kind, id }: RevItem): string => `${kind} ${id}`;
