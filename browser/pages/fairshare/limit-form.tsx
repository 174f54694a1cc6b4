import { type FormEvent, type ReactNode, useState } from "react";
import type * as z from "zod";
import { useMeanwhile } from "../../forms/record/use-meanwhile.ts";
import type { useUndoableWrite } from "../../forms/use-undoable-write.ts";
import { commonText } from "../../messages/common.ts";
import { fairshareTexts } from "../../messages/en/fairshare.ts";
import { fieldTexts } from "../../messages/en/fields.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/fields.tsx";
import { formatCount } from "../../ui/format.ts";
import { Notice } from "../../ui/states.tsx";
import { useUnsaved } from "../../ui/unsaved.tsx";
import classes from "./fairshare-page.module.css";
import { typedNumber } from "./whole-number.ts";

const text = texts("fairshare", fairshareTexts);
const fieldText = texts("fields", fieldTexts);

/** A limit in words; null is none. */
export function limitText(limit: number | null): string {
  return limit === null ? text("limitNone") : formatCount(limit);
}

interface LimitFormProps {
  readonly label: string;
  readonly hint: string;
  /** What is in force; null: no limit. */
  readonly current: number | null;
  /** What is in force at the moment. */
  readonly readNow: () => Promise<number | null>;
  /** Validates `{[field]: value}`, as the API does. */
  readonly schema: z.ZodType<Readonly<Record<string, number | null>>>;
  readonly field: string;
  readonly write: ReturnType<typeof useUndoableWrite<number | null>>;
  /** What a valid number would change, in words. */
  readonly effectOf?: (limit: number) => ReactNode;
  readonly onDone?: (() => void) | undefined;
}

/** One number that limits requests; what was typed stays when it cannot be set. */
export function LimitForm({ label, hint, current, readNow, schema, field, write, effectOf, onDone }: LimitFormProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const [refused, setRefused] = useState<string | undefined>();
  useUnsaved(typed !== null && !write.isBusy);
  const meanwhile = useMeanwhile(readNow);
  const { moved } = meanwhile;
  const shown = typed ?? (current === null ? "" : String(current));
  const value = typedNumber(shown);
  const parsed = schema.safeParse({ [field]: value });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!parsed.success) {
      setRefused(parsed.error.issues[0]?.message ?? "");
      return;
    }
    const limit = parsed.data[field] ?? null;
    void meanwhile.check(current, (from) =>
      write.change(from, limit, () => {
        setTyped((now) => (now === shown ? null : now));
        meanwhile.end();
        onDone?.();
      }),
    );
  };
  const effect = parsed.success && typeof value === "number" && value !== current ? effectOf?.(value) : undefined;
  return (
    <form className={classes["limitForm"]} onSubmit={submit} noValidate>
      <TextField
        label={label}
        hint={`${text("limitNow", { value: limitText(current) })}. ${hint}`}
        error={refused ?? write.error?.message}
        inputMode="numeric"
        autoComplete="off"
        value={shown}
        onChange={(event) => {
          setTyped(event.target.value);
          meanwhile.begin(current);
          setRefused(undefined);
        }}
      />
      {effect !== undefined && <p>{effect}</p>}
      {moved !== null && (
        <Notice tone="warn">
          {fieldText("meanwhile", { before: limitText(moved.before), now: limitText(moved.now) })}
        </Notice>
      )}
      <div>
        <Button
          writes
          type="submit"
          tone="primary"
          isBusy={meanwhile.isReading || write.isBusy}
          disabled={value === current}
        >
          {commonText("save")}
        </Button>
      </div>
    </form>
  );
}
