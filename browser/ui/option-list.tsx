import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import classes from "./option-list.module.css";

export interface Option {
  readonly value: string;
  readonly label: string;
  /** What tells equal labels apart, or says what kind of thing it is. */
  readonly note?: string | undefined;
}

interface OptionListProps {
  readonly id: string;
  readonly label: string;
  readonly options: readonly Option[];
  /** Position of the option that Enter takes. */
  readonly at: number;
  readonly onPoint: (at: number) => void;
  readonly onChoose: (value: string) => void;
  readonly isHidden?: boolean;
  readonly className?: string | undefined;
  /** Said in place of options. */
  readonly children?: ReactNode;
}

/** The list of a combobox (WAI-ARIA): the input keeps the focus and names the active option, see `activeOption`. */
export function OptionList(props: OptionListProps) {
  const { id, label, options, at, onPoint, onChoose, isHidden = false, className, children } = props;
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is active may be another option at the same place
  useEffect(() => {
    // Newer browsers answer with a promise, which must not become what ends the effect.
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at, options]);
  return (
    <div ref={list} id={id} role="listbox" aria-label={label} hidden={isHidden} className={className}>
      {options.map(({ value, label: name, note }, index) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus and names the active option
        // biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the input
        <div
          key={value}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          className={classes["option"]}
          onMouseMove={() => index !== at && onPoint(index)}
          // before the input loses the focus
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(value)}
        >
          <bdi>{name}</bdi>
          {note !== undefined && <small>{note}</small>}
        </div>
      ))}
      {children !== undefined && (
        <div className={classes["note"]} role="presentation">
          {children}
        </div>
      )}
    </div>
  );
}

/** For `aria-activedescendant` of the input. */
export function activeOption(id: string, options: readonly Option[], at: number): string | undefined {
  return options[at] === undefined ? undefined : `${id}-${at}`;
}

/** The position that arrow keys move, which stays within `count` options. `move` says whether the key was one of them. */
export function useOptionPosition(count: number) {
  const [wanted, setAt] = useState(0);
  const last = Math.max(0, count - 1);
  const at = Math.min(wanted, last);
  const move = (event: KeyboardEvent): boolean => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return false;
    event.preventDefault();
    setAt(Math.min(last, Math.max(0, at + step)));
    return true;
  };
  return { at, setAt, move };
}
