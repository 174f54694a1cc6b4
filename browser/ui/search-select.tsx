import { X } from "lucide-react";
import { type KeyboardEvent, useId, useState } from "react";
import { classNames } from "./class-names.ts";
import fieldClasses from "./fields.module.css";
import { Field } from "./fields.tsx";
import { activeOption, type Option, OptionList, useOptionPosition } from "./option-list.tsx";
import classes from "./search-select.module.css";

interface SearchSelectProps {
  readonly label: string;
  readonly placeholder?: string;
  /** How what is chosen is called; undefined: nothing is chosen. */
  readonly chosen: string | undefined;
  /** What the typed text has found; null: it is being looked for. */
  readonly found: readonly Option[] | null;
  /** The text as it is typed; null: nobody is choosing. */
  readonly onType: (text: string | null) => void;
  /** Undefined: nothing is to be chosen. */
  readonly onChoose: (value: string | undefined) => void;
  /** What is wrong; absent: nothing is. */
  readonly error?: string | undefined;
  readonly texts: { readonly clear: string; readonly nothing: string; readonly searching: string };
}

/** One of very many, found by typing a part of its name (WAI-ARIA: combobox with a list). */
export function SearchSelect({ label, placeholder, chosen, found, onType, onChoose, error, texts }: SearchSelectProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const listId = useId();
  const isOpen = typed !== null;
  const choices = found ?? [];
  const { at, setAt, move } = useOptionPosition(choices.length);
  const type = (text: string | null): void => {
    setTyped(text);
    setAt(0);
    onType(text);
  };
  const choose = (value: string | undefined): void => {
    type(null);
    onChoose(value);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (!isOpen && event.key.startsWith("Arrow")) {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      event.preventDefault();
      type("");
    } else if (isOpen && move(event)) {
      return;
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
            aria-activedescendant={isOpen ? activeOption(listId, choices, at) : undefined}
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
          <OptionList
            id={listId}
            label={label}
            options={choices}
            at={at}
            onPoint={setAt}
            onChoose={choose}
            isHidden={!isOpen}
            className={classes["list"]}
          >
            {choices.length > 0 ? undefined : found === null ? texts.searching : texts.nothing}
          </OptionList>
        </div>
      )}
    </Field>
  );
}
