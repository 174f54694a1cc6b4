/**
 * Guards a value that is typed over the one in force (docs/rules/console.md#forms): the value is read again before it is
 * replaced, and when somebody else has set it since typing began, that is told first; the next submission replaces it.
 */
import { useState } from "react";
import { fieldTexts } from "../../messages/en/fields.ts";
import { texts } from "../../messages/texts.ts";
import { complain } from "./use-announced-write.ts";

const text = texts("fields", fieldTexts);

/** `moved`: what somebody else has made of the value, until it is replaced or given up. */
export function useMeanwhile<V>(readNow: () => Promise<V>) {
  const [base, setBase] = useState<{ readonly value: V } | null>(null);
  const [moved, setMoved] = useState<{ readonly before: V; readonly now: V } | null>(null);
  const [isReading, setReading] = useState(false);
  return {
    moved,
    isReading,
    /** Typing begins, over this value. */
    begin: (value: V): void => setBase((before) => before ?? { value }),
    /** Nothing is typed any more. */
    end: (): void => {
      setBase(null);
      setMoved(null);
    },
    /** Calls `replace` with the value in force, unless it is another one than the person has seen. */
    check: async (shown: V, replace: (now: V) => void): Promise<void> => {
      setReading(true);
      try {
        const before = base === null ? shown : base.value;
        const now = await readNow();
        setBase({ value: now });
        setMoved(now === before ? null : { before, now });
        if (now === before) replace(now);
      } catch (error) {
        complain(text("notReadAgain"), error);
      } finally {
        setReading(false);
      }
    },
  };
}
