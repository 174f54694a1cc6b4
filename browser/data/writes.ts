/** Writes through the Management API: what they touched is read again, and whether they have reached every cell is known. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { answerValue } from "./api.ts";
import type { ApiError } from "./api-error.ts";
import type { ReadPath } from "./reads.ts";

interface Written<T> {
  readonly value: T;
  /** True: stored, and still on its way to the cells (docs/rules/freshness.md#write-path). */
  readonly isPending: boolean;
}

interface WriteOptions<T, V> {
  /** Sends the request: `api.POST(...)` and its like. */
  readonly send: (
    variables: V,
  ) => Promise<{ readonly data?: T; readonly error?: unknown; readonly response: Response }>;
  /** Paths of reads that show what is changed. */
  readonly touches: readonly ReadPath[];
  /** The read of what is deleted: once that is done, the page that is being left does not ask for it, or for what is under it. */
  readonly ends?: ReadPath;
  readonly onDone?: (written: Written<T>, variables: V) => void;
  readonly onFailed?: (error: ApiError, variables: V) => void;
}

/** A write; never retried automatically, because it may have been done. */
export function useWrite<T, V = void>({ send, touches, ends, onDone, onFailed }: WriteOptions<T, V>) {
  const queries = useQueryClient();
  return useMutation<Written<T>, ApiError, V>({
    mutationFn: async (variables) => {
      const answered = await send(variables);
      return { value: answerValue(answered), isPending: answered.response.headers.get("x-gateway-sync") === "pending" };
    },
    retry: false,
    onSuccess: (written, variables) => onDone?.(written, variables),
    onError: (error, variables) => onFailed?.(error, variables),
    // A write that failed may have been stored all the same.
    onSettled: async (written) => {
      const isEnded = (path: ReadPath): boolean =>
        written !== undefined && ends !== undefined && `${path}/`.startsWith(`${ends}/`);
      await Promise.all(
        touches.map(
          async (path) =>
            await queries.invalidateQueries({ queryKey: [path], refetchType: isEnded(path) ? "none" : "active" }),
        ),
      );
    },
  });
}
