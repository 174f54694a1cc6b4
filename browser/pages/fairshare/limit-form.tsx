import "../../forms/record/no-code-from-texts.ts";
import { type FormEvent, type ReactNode, useState } from "react";
import type * as z from "zod";
import type { useUndoableWrite } from "../../forms/use-undoable-write.ts";
import { fairshareTexts } from "../../messages/en/fairshare.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/fields.tsx";
import { formatCount } from "../../ui/format.ts";
import classes from "./fairshare-page.module.css";
import { typedNumber } from "./whole-number.ts";

const text = texts("fairshare", fairshareTexts);

/** A limit in words; null is none. */
export function limitText(limit: number | null): string {
  return limit === null ? text("limitNone") : formatCount(limit);
}

interface LimitFormProps {
  readonly label: string;
  readonly hint: string;
  /** What is in force; null: no limit. */
  readonly current: number | null;
  /** Judges `{[field]: value}`, as the API does. */
  readonly schema: z.ZodType<Readonly<Record<string, number | null>>>;
  readonly field: string;
  readonly write: ReturnType<typeof useUndoableWrite<number | null>>;
  /** What a valid number would change, in words. */
  readonly effectOf?: (limit: number) => ReactNode;
}

/** One number that limits requests; what was typed stays when it cannot be set. */
export function LimitForm({ label, hint, current, schema, field, write, effectOf }: LimitFormProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const [refused, setRefused] = useState<string | undefined>();
  const shown = typed ?? (current === null ? "" : String(current));
  const value = typedNumber(shown);
  const judged = schema.safeParse({ [field]: value });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!judged.success) {
      setRefused(judged.error.issues[0]?.message ?? "");
      return;
    }
    const limit = judged.data[field] ?? null;
    write.change(current, limit, () => setTyped((now) => (now === shown ? null : now)));
  };
  const effect = judged.success && typeof value === "number" && value !== current ? effectOf?.(value) : undefined;
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
          setRefused(undefined);
        }}
      />
      {effect !== undefined && <p>{effect}</p>}
      <div>
        <Button type="submit" tone="primary" isBusy={write.isBusy} disabled={value === current}>
          {text("set")}
        </Button>
      </div>
    </form>
  );
}
