/** Making a new record: its fields, validated by the schema that the server uses, and nothing typed is lost when it fails. */
import { type FormEvent, type ReactNode, useRef, useState } from "react";
import type * as z from "zod";
import { ApiError } from "../../data/api-error.ts";
import { fieldTexts } from "../../messages/en/fields.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Notice } from "../../ui/states.tsx";
import { useUnsaved } from "../../ui/unsaved.tsx";
import {
  bodyOf,
  type Draft,
  draftOf,
  emptiedFields,
  errorsOf,
  errorsWithout,
  type FieldErrors,
  type FieldValues,
  serverErrors,
  type Typed,
} from "./drafts.ts";
import { FormFields, type OwnControl } from "./field-control.tsx";
import type { FieldSpec } from "./field-specs.ts";
import classes from "./record-form.module.css";

const text = texts("fields", fieldTexts);

interface CreateFormProps<B> {
  readonly specs: readonly FieldSpec[];
  readonly schema: z.ZodType<B>;
  /** What the controls show at first. */
  readonly initial: FieldValues;
  readonly zone: string;
  readonly submitLabel: string | ((values: FieldValues) => string);
  /**
   * Makes it. `idempotencyKey` stays the same until something else is typed, so that a request whose answer was lost can be
   * sent again. False: nothing was made. Throws ApiError.
   */
  readonly onSubmit: (body: B, idempotencyKey: string) => Promise<unknown>;
  readonly offered?: Readonly<Record<string, readonly string[]>>;
  readonly controls?: Readonly<Record<string, OwnControl>>;
  /** Headings of parts of the form, by the first field of each. */
  readonly headings?: Readonly<Record<string, string>>;
  /** The first of the fields that are folded below its heading. */
  readonly foldFrom?: string;
  readonly children?: ReactNode;
  /** Stands above the button: what the values that would be sent mean. They are not validated yet. */
  readonly note?: (values: FieldValues) => ReactNode;
}

const NO_ERRORS: FieldErrors = {};

export function CreateForm<B>(props: CreateFormProps<B>) {
  const { specs, schema, initial, zone, submitLabel, onSubmit, offered, controls, headings, foldFrom, note, children } =
    props;
  const [draft, setDraft] = useState<Draft>(() => draftOf(specs, initial, zone));
  const [errors, setErrors] = useState<FieldErrors>(NO_ERRORS);
  const [isBusy, setBusy] = useState(false);
  const [isTyped, setTyped] = useState(false);
  useUnsaved(isTyped && !isBusy);
  const sent = useRef<string>(null);
  const names = specs.map((spec) => spec.name);
  const type = (field: string, typed: Typed): void => {
    sent.current = null;
    setTyped(true);
    setDraft({ ...draft, [field]: typed });
    setErrors((before) => errorsWithout(before, field));
  };
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const parsed = schema.safeParse(bodyOf(specs, initial, draft, zone));
    const emptied = emptiedFields(specs, initial, draft, zone).map((field) => [field, text("needsValueNew")] as const);
    if (!parsed.success || emptied.length > 0) {
      setErrors({ ...errorsOf(parsed.error?.issues ?? [], names), ...Object.fromEntries(emptied) });
      return;
    }
    setBusy(true);
    sent.current ??= idempotencyKey();
    try {
      if ((await onSubmit(parsed.data, sent.current)) !== false) setTyped(false);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setErrors(serverErrors(error.param, error.said, names));
    } finally {
      setBusy(false);
    }
  };
  const values = bodyOf(specs, initial, draft, zone);
  const general = errors[""];
  return (
    <form className={classes["form"]} onSubmit={(event) => void submit(event)} noValidate>
      <FormFields
        specs={specs}
        draft={draft}
        errors={errors}
        onType={type}
        zone={zone}
        offered={offered}
        controls={controls}
        headings={headings}
        foldFrom={foldFrom}
      />
      {children}
      {note?.(values)}
      {general !== undefined && <Notice tone="bad">{general}</Notice>}
      <div className={classes["footer"]}>
        <Button writes type="submit" tone="primary" isBusy={isBusy}>
          {typeof submitLabel === "string" ? submitLabel : submitLabel(values)}
        </Button>
      </div>
    </form>
  );
}

/** Of 128 bits of chance; `crypto.randomUUID` is only there under https. */
function idempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
