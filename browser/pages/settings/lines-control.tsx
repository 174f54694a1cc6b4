import { useState } from "react";
import { fieldHint, fieldLabel } from "../../forms/record/field-words.ts";
import { TextArea } from "../../ui/fields.tsx";

interface LinesControlProps<T> {
  /** The field. */
  readonly name: string;
  readonly typed: unknown;
  readonly error: string | undefined;
  readonly onType: (value: T) => void;
  readonly toLines: (value: T) => readonly string[];
  /** From lines without blanks around them; empty ones are left out. */
  readonly fromLines: (lines: readonly string[]) => T;
}

/** A value that is typed as lines of text. What is typed stays as it is until the value is set from elsewhere. */
export function LinesControl<T>({ name, typed, error, onType, toLines, fromLines }: LinesControlProps<T>) {
  const [shown, setShown] = useState("");
  const valueFrom = (lines: string): T =>
    fromLines(
      lines
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== ""),
    );
  const isOwn = JSON.stringify(valueFrom(shown)) === JSON.stringify(typed);
  const hint = fieldHint(name);
  return (
    <TextArea
      label={fieldLabel(name)}
      {...(hint === undefined ? {} : { hint })}
      error={error}
      spellCheck={false}
      value={isOwn ? shown : toLines(typed as T).join("\n")}
      onChange={(event) => {
        setShown(event.target.value);
        onType(valueFrom(event.target.value));
      }}
    />
  );
}
