import { useEffect, useRef, useState } from "react";
import { TextField } from "../ui/fields.tsx";

const TYPED_AFTER_MS = 250;

interface SearchFieldProps {
  readonly label: string;
  /** What is searched for now, from the address. */
  readonly value: string;
  /** Called with what was typed, once typing has stopped for a moment. */
  readonly onSearch: (text: string) => void;
}

/** The filter of a page, to which `/` leads. */
export function SearchField({ label, value, onSearch }: SearchFieldProps) {
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  const latest = useRef(onSearch);
  useEffect(() => {
    latest.current = onSearch;
  });
  useEffect(() => {
    // The address has changed by other means: Back, or a button that clears.
    if (value === sent.current) return;
    sent.current = value;
    setTyped(value);
  }, [value]);
  useEffect(() => {
    if (typed.trim() === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = typed.trim();
      latest.current(typed.trim());
    }, TYPED_AFTER_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <TextField
      label={label}
      type="search"
      data-page-filter
      autoComplete="off"
      dir="auto"
      maxLength={200}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
    />
  );
}
