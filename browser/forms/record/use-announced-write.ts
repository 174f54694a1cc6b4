/** A write that tells how it went at the corner of the page, and offers to take it back where it has an inverse. */

import { ApiError, sentence } from "../../data/api-error.ts";
import type { ReadPath } from "../../data/reads.ts";
import { warningsOf } from "../../data/untyped.ts";
import { useWrite } from "../../data/writes.ts";
import { commonText } from "../../messages/common.ts";
import { fieldTexts } from "../../messages/en/fields.ts";
import { texts } from "../../messages/texts.ts";
import { toast } from "../../ui/toast.ts";

const text = texts("fields", fieldTexts);

/** What openapi-fetch resolves to, of any path. */
export type Answered = Promise<{ readonly data?: unknown; readonly error?: unknown; readonly response: Response }>;

interface AnnouncedWriteOptions<V> {
  readonly send: (variables: V) => Answered;
  readonly touches: readonly ReadPath[];
  /** The read of what is deleted, which is not asked again once it is. */
  readonly ends?: ReadPath;
  /** What has happened, in words. */
  readonly done: (variables: V) => string;
  /** That it has not happened, in words; why is added. */
  readonly failed: (variables: V) => string;
  /** Absent: a failure is shown by the caller, at the field that it names. */
  readonly onFailed?: (error: ApiError, variables: V) => void;
  readonly onDone?: (variables: V) => void;
  /** What takes it back, as variables of the same write, from its answer; null: nothing does. */
  readonly inverse?: (variables: V, answer: unknown) => { readonly variables: V; readonly done: string } | null;
}

/** The write; `isBusy` while it, or what takes it back, is under way and what they touched is not read again. */
export function useAnnouncedWrite<V>({
  send,
  touches,
  ends,
  done,
  failed,
  onFailed,
  onDone,
  inverse,
}: AnnouncedWriteOptions<V>): { readonly run: (variables: V) => void; readonly isBusy: boolean } {
  const undo = useWrite<unknown, { readonly variables: V; readonly done: string }>({
    send: async ({ variables }) => await send(variables),
    touches,
    onDone: (written, back) => announce(back.done, written),
    onFailed: (error, back) => complain(failed(back.variables), error),
  });
  const write = useWrite<unknown, V>({
    send,
    touches,
    ...(ends === undefined ? {} : { ends }),
    onDone: (written, variables) => {
      const back = inverse?.(variables, written.value) ?? null;
      announce(
        done(variables),
        written,
        back === null ? undefined : { label: text("undo"), onPress: () => undo.mutate(back) },
      );
      onDone?.(variables);
    },
    onFailed: (error, variables) => {
      if (onFailed === undefined) complain(failed(variables), error);
      else onFailed(error, variables);
    },
  });
  return { run: write.mutate, isBusy: write.isPending || undo.isPending };
}

/** Tells what was written, what the server warns of, and that it is still on its way where it is. */
export function announce(
  title: string,
  { isPending, value }: { readonly isPending: boolean; readonly value: unknown },
  action?: { label: string; onPress: () => void },
): void {
  const told = [...(isPending ? [commonText("pending")] : []), ...warningsOf(value).map(sentence)];
  toast({
    title,
    tone: told.length > 0 ? "warn" : "good",
    ...(told.length > 0 ? { detail: told.join(" ") } : {}),
    ...(action === undefined ? {} : { action }),
  });
}

/** Tells that something failed, with what the server said. */
export function complain(title: string, error: unknown): void {
  const detail = error instanceof ApiError ? error.said : undefined;
  toast({ title, tone: "bad", ...(detail === undefined ? {} : { detail }) });
}
