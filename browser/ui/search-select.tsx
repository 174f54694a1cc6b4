import { X } from "lucide-react";
import { type KeyboardEvent, useId, useState } from "react";
import { classNames } from "./class-names.ts";
import fieldClasses from "./fields.module.css";
import { Field } from "./fields.tsx";
import classes from "./search-select.module.css";

interface FoundChoice {
  readonly value: string;
  readonly label: string;
  /** What tells equal labels apart. */
  readonly note?: string;
}

interface SearchSelectProps {
  readonly label: string;
  readonly placeholder?: string;
  /** How what is chosen is called; undefined: nothing is chosen. */
  readonly chosen: string | undefined;
  /** What the typed text has found; null: it is being looked for. */
  readonly found: readonly FoundChoice[] | null;
  /** The text as it is typed; empty when nobody is choosing. */
  readonly onType: (text: string) => void;
  /** Undefined: nothing is to be chosen. */
  readonly onChoose: (value: string | undefined) => void;
  /** What is wrong; absent: nothing is. */
  readonly error?: string | undefined;
  readonly texts: { readonly clear: string; readonly nothing: string; readonly searching: string };
}

/** One of very many, found by typing a part of its name (WAI-ARIA: combobox with a list). */
export function SearchSelect({ label, placeholder, chosen, found, onType, onChoose, error, texts }: SearchSelectProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const [at, setAt] = useState(0);
  const listId = useId();
  const isOpen = typed !== null;
  const choices = found ?? [];
  const type = (text: string | null): void => {
    setTyped(text);
    setAt(0);
    onType(text ?? "");
  };
  const choose = (value: string | undefined): void => {
    type(null);
    onChoose(value);
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      if (isOpen) setAt(Math.min(choices.length - 1, Math.max(0, at + step)));
      else type("");
    } else if (event.key === "Enter" && isOpen) {
      event.preventDefault();
      const choice = choices[at];
      if (choice !== undefined) choose(choice.value);
      else if (typed === "") choose(undefined);
    } else if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      type(null);
    }
  };
  return (
    <Field label={label} error={error}>
      {(control) => (
        <div className={classes["box"]}>
          <input
            {...control}
            type="text"
            role="combobox"
            autoComplete="off"
            aria-expanded={isOpen}
            aria-controls={listId}
            aria-autocomplete="list"
            aria-activedescendant={isOpen && choices[at] !== undefined ? `${listId}-${at}` : undefined}
            className={classNames(fieldClasses["control"], classes["input"])}
            placeholder={placeholder}
            value={typed ?? chosen ?? ""}
            title={chosen}
            onChange={(event) => type(event.target.value)}
            onClick={() => !isOpen && type("")}
            onBlur={() => isOpen && type(null)}
            onKeyDown={onKey}
          />
          {chosen !== undefined && !isOpen && (
            <button
              type="button"
              className={classes["clear"]}
              aria-label={`${texts.clear}: ${label}`}
              onClick={() => choose(undefined)}
            >
              <X size={14} aria-hidden />
            </button>
          )}
          <div id={listId} role="listbox" aria-label={label} hidden={!isOpen} className={classes["list"]}>
            {choices.map(({ value, label: name, note }, index) => (
              // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus and names the active option
              // biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the input
              <div
                key={value}
                id={`${listId}-${index}`}
                role="option"
                aria-selected={index === at}
                className={classes["option"]}
                // before the input loses the focus
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => choose(value)}
              >
                <bdi>{name}</bdi>
                {note !== undefined && <small>{note}</small>}
              </div>
            ))}
            {choices.length === 0 && (
              <div className={classes["note"]} role="presentation">
                {found === null ? texts.searching : texts.nothing}
              </div>
            )}
          </div>
        </div>
      )}
    </Field>
  );
}
