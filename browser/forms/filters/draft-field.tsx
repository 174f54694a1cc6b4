import { type KeyboardEvent, useRef, useState } from "react";
import { TextField } from "../../ui/fields.tsx";

interface DraftFieldProps {
  readonly label: string;
  readonly placeholder?: string;
  readonly value: string | undefined;
  /** By default a text. */
  readonly type?: "month";
  readonly inputMode?: "numeric";
  /** `/` leads to it. */
  readonly isFirst?: boolean;
  readonly onDone: (value: string | undefined) => void;
}

/** A text that counts when it is finished: by Enter, or by leaving the field otherwise than with Escape. */
export function DraftField({
  label,
  placeholder,
  value = "",
  type,
  inputMode,
  isFirst = false,
  onDone,
}: DraftFieldProps) {
  const [draft, setDraft] = useState<string | null>(null);
  // The blur that Escape causes comes before the next rendering, and still sees what was typed.
  const isDropped = useRef(false);
  const done = (): void => {
    const typed = isDropped.current ? undefined : draft?.trim();
    isDropped.current = false;
    setDraft(null);
    if (typed !== undefined && typed !== value) onDone(typed === "" ? undefined : typed);
  };
  const onKey = (event: KeyboardEvent<HTMLInputElement>): void => {
    if (event.key === "Enter") done();
    else if (event.key === "Escape") {
      isDropped.current = true;
      event.currentTarget.blur();
    }
  };
  return (
    <TextField
      label={label}
      type={type ?? "text"}
      autoComplete="off"
      spellCheck={false}
      placeholder={placeholder}
      inputMode={inputMode}
      value={draft ?? value}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={done}
      onKeyDown={onKey}
      {...(isFirst ? { "data-page-filter": "" } : {})}
    />
  );
}
