/** A write of a value that is taken back by writing the value from before. */

import type { ReadPath } from "../data/reads.ts";
import { useWrite } from "../data/writes.ts";
import { commonText } from "../messages/common.ts";
import { toast } from "../ui/toast.ts";

interface UndoableOptions<V> {
  /** Sends the request that sets a value: `api.PUT(...)` and its like. */
  readonly send: (
    value: V,
  ) => Promise<{ readonly data?: unknown; readonly error?: unknown; readonly response: Response }>;
  /** Paths of reads that show the value. */
  readonly touches: readonly ReadPath[];
  /** What happened, and to what, once the first value has become the second. */
  readonly describe: (from: V, to: V) => string;
}

interface Change<V> {
  readonly from: V;
  readonly to: V;
  readonly isUndo: boolean;
  readonly onDone?: (() => void) | undefined;
}

/**
 * `change(from, to)` writes a value and says so in a toast, with a way back. A failure stays in `error`, for the field that the
 * value was typed into; a failed way back is told in a toast.
 */
export function useUndoableWrite<V>({ send, touches, describe }: UndoableOptions<V>) {
  const write = useWrite<unknown, Change<V>>({
    send: async ({ to }) => await send(to),
    touches,
    onDone: ({ isPending }, { from, to, isUndo, onDone }) => {
      toast({
        title: describe(from, to),
        ...(isPending ? { detail: commonText("pending"), tone: "warn" } : {}),
        ...(isUndo
          ? {}
          : {
              action: {
                label: commonText("undo"),
                onPress: () => write.mutate({ from: to, to: from, isUndo: true }),
              },
            }),
      });
      onDone?.();
    },
    onFailed: ({ said }, { from, to, isUndo }) => {
      if (isUndo)
        toast({
          title: commonText("undoFailed", { what: describe(to, from) }),
          detail: said,
          tone: "bad",
        });
    },
  });
  return {
    change: (from: V, to: V, onDone?: () => void) => write.mutate({ from, to, isUndo: false, onDone }),
    isBusy: write.isPending,
    error: write.error,
  };
}
