/**
 * Editing of some fields of a record: validation by the schema that the server uses, errors at their fields, nothing typed is
 * lost when saving fails, and what somebody else has saved meanwhile is shown before it is overwritten
 * (docs/rules/console.md#forms).
 */
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import type * as z from "zod";
import type { ReadPath } from "../../data/reads.ts";
import { fieldsOf, type IfMatch, ifMatch } from "../../data/untyped.ts";
import { fieldTexts } from "../../messages/en/fields.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Facts } from "../../ui/layout.tsx";
import { useReadOnly } from "../../ui/read-only.ts";
import { Notice } from "../../ui/states.tsx";
import { useUnsaved } from "../../ui/unsaved.tsx";
import { ChangeList } from "./change-list.tsx";
import { ConflictNotice } from "./conflict-notice.tsx";
import { changesBetween, rebased, unlessChanged } from "./conflicts.ts";
import {
  bodyOf,
  changedBody,
  type Draft,
  draftOf,
  emptiedFields,
  errorsOf,
  errorsWithout,
  type FieldErrors,
  type FieldValues,
  serverErrors,
  type Typed,
  touchedFields,
  undoBody,
} from "./drafts.ts";
import { FormFields, type OwnControl } from "./field-control.tsx";
import type { FieldSpec } from "./field-specs.ts";
import { fieldLabel, valueText } from "./field-words.ts";
import classes from "./record-form.module.css";
import { type Answered, complain, useAnnouncedWrite } from "./use-announced-write.ts";

const text = texts("fields", fieldTexts);

interface RecordFormProps {
  /** What is edited, such as "Budget", and of whom; for messages. */
  readonly what: string;
  readonly name: string;
  readonly specs: readonly FieldSpec[];
  /** Validates the body before it is sent. */
  readonly schema: z.ZodType;
  /** As it was read last. */
  readonly record: FieldValues;
  /** By whose clock times are typed and shown. */
  readonly zone: string;
  /** Whether a body names every field of the form, or only those that were changed and those that the record lacks. */
  readonly sends: "all" | "changed";
  /** `now`: the record as it was read or written last; `header` names its revision. */
  readonly send: (body: FieldValues, header: IfMatch, now: FieldValues) => Answered;
  /** Reads the record again, to see whether somebody else has changed it. */
  readonly readNow: () => Promise<Revision>;
  /** The record in the answer to a write, as `readNow` has it. Absent: the answer itself. */
  readonly recordIn?: (answer: unknown) => FieldValues;
  readonly touches: readonly ReadPath[];
  /**
   * The body that takes a saved one back, from what the record was before; null: undo is not offered. Absent: the fields of
   * the body as they were.
   */
  readonly undoOf?: (body: FieldValues, base: FieldValues) => FieldValues | null;
  /** Called when there begins to be something typed that is not saved, and when there is not any more. */
  readonly onEdit?: (isEdited: boolean) => void;
  /** Values are shown, and cannot be changed: those that the record has. */
  readonly isReadOnly?: boolean;
  /** Values that are offered while typing, by field. */
  readonly offered?: Readonly<Record<string, readonly string[]>>;
  readonly controls?: Readonly<Record<string, OwnControl>>;
  /** Headings of parts of the form, by the first field of each. */
  readonly headings?: Readonly<Record<string, string>>;
  /** Stands above the button: what the change means, from the record and the values that would be saved. */
  readonly note?: (values: FieldValues) => ReactNode;
}

/** A record with its revision; null: it is gone. */
export type Revision = FieldValues & { readonly rev: number | null };

interface Write {
  readonly body: FieldValues;
  readonly now: () => FieldValues | Promise<FieldValues>;
}

interface Edit {
  /** The record as it was when editing began. */
  readonly base: FieldValues;
  readonly draft: Draft;
}

const NO_ERRORS: FieldErrors = {};

export function RecordForm(props: RecordFormProps) {
  const {
    what,
    name,
    specs,
    schema,
    record,
    zone,
    sends,
    send,
    readNow,
    touches,
    note,
    onEdit,
    undoOf = undoBody,
    recordIn = fieldsOf,
  } = props;
  const [edit, setEdit] = useState<Edit | null>(null);
  const [errors, setErrors] = useState<FieldErrors>(NO_ERRORS);
  const [isReading, setReading] = useState(false);
  const queries = useQueryClient();
  const cannotWrite = useReadOnly();
  const isEdited = edit !== null;
  useEffect(() => onEdit?.(isEdited), [onEdit, isEdited]);
  useUnsaved(isEdited);
  const names = specs.map((spec) => spec.name);
  const write = useAnnouncedWrite<Write>({
    send: async ({ body, now }) => {
      const read = await now();
      return await send(body, ifMatch(read), read);
    },
    touches,
    done: () => text("saved", { what, name }),
    failed: () => text("undoFailed", { what, name }),
    onFailed: (error) => setErrors(serverErrors(error.param, error.said, names)),
    onDone: () => {
      setEdit(null);
      setErrors(NO_ERRORS);
    },
    inverse: ({ body }, answer) => {
      // Nobody here knows a secret from before.
      const isSecretSent = specs.some((spec) => spec.kind === "secret" && Object.hasOwn(body, spec.name));
      const before = isSecretSent ? null : undoOf(body, edit?.base ?? record);
      if (before === null) return null;
      const own = Object.keys({ ...body, ...before });
      const now = async () => unlessChanged(own, recordIn(answer), await readNow());
      return { variables: { body: before, now }, done: text("undone", { what, name }) };
    },
  });
  if (props.isReadOnly === true || cannotWrite) {
    const shown = names.filter((field) => Object.hasOwn(record, field));
    return <Facts facts={shown.map((field) => [fieldLabel(field), valueText(field, record[field], zone)])} />;
  }

  const base = edit?.base ?? record;
  const draft = edit?.draft ?? draftOf(specs, record, zone);
  const values = bodyOf(specs, base, draft, zone);
  const conflicts = edit === null ? [] : changesBetween(names, base, record);
  const type = (field: string, typed: Typed): void => {
    const next = { ...draft, [field]: typed };
    setEdit(
      touchedFields(specs, base, next, zone).length === 0 && conflicts.length === 0 ? null : { base, draft: next },
    );
    setErrors((before) => errorsWithout(before, field));
  };
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (edit === null) return;
    const body = sends === "all" ? values : changedBody(specs, base, draft, zone);
    if (touchedFields(specs, base, draft, zone).length === 0 && (sends === "all" || Object.keys(body).length === 0)) {
      setEdit(null); // what was typed is what somebody else has saved meanwhile
      return;
    }
    const emptied = emptiedFields(specs, base, draft, zone).map((field) => [field, text("needsValue")] as const);
    const parsed = schema.safeParse(body);
    if (!parsed.success || emptied.length > 0) {
      setErrors({ ...errorsOf(parsed.error?.issues ?? [], names), ...Object.fromEntries(emptied) });
      return;
    }
    setReading(true);
    try {
      const now = await readNow();
      if (changesBetween(names, base, now).length === 0)
        write.run({ body: parsed.data as FieldValues, now: () => now });
      // the page's own reads may be older than this one: the conflict is between what it shows and what was typed
      else await Promise.all(touches.map(async (path) => await queries.invalidateQueries({ queryKey: [path] })));
    } catch (error) {
      complain(text("saveFailed", { what }), error);
    } finally {
      setReading(false);
    }
  };
  const general = errors[""];
  return (
    <form className={classes["form"]} onSubmit={(event) => void submit(event)} noValidate>
      {conflicts.length > 0 && (
        <ConflictNotice
          changes={conflicts}
          yours={values}
          zone={zone}
          onKeep={() => setEdit({ base: record, draft: rebased(specs, draft, base, record, zone) })}
          onTake={() => setEdit(null)}
        />
      )}
      <FormFields
        specs={specs}
        draft={draft}
        errors={errors}
        onType={type}
        zone={zone}
        offered={props.offered}
        controls={props.controls}
        headings={props.headings}
      />
      {note?.(values)}
      {general !== undefined && <Notice tone="bad">{general}</Notice>}
      <div className={classes["footer"]}>
        {edit !== null && <ChangeList specs={specs} base={base} draft={draft} values={values} zone={zone} />}
        {edit !== null && (
          <>
            <span className={classes["unsaved"]}>{text("unsaved")}</span>
            <Button
              onClick={() => {
                setEdit(null);
                setErrors(NO_ERRORS);
              }}
            >
              {text("discard")}
            </Button>
          </>
        )}
        <Button
          type="submit"
          tone={edit === null ? "plain" : "primary"}
          disabled={edit === null || conflicts.length > 0}
          isBusy={isReading || write.isBusy}
        >
          {text("save")}
        </Button>
      </div>
    </form>
  );
}
