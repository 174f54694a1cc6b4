import { Check, Copy as CopyIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { IconButton } from "./button.tsx";
import classes from "./copy.module.css";

const SHOWN_MS = 1500;

interface CopyProps {
  readonly text: string;
  readonly label: string;
  readonly doneLabel: string;
  readonly onCopied?: (() => void) | undefined;
}

/** Puts a text on the clipboard, and says that it has. */
export function CopyButton({ text, label, doneLabel, onCopied }: CopyProps) {
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    if (!isDone) return;
    const timer = setTimeout(() => setDone(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isDone]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      onCopied?.();
    } catch {
      setDone(false); // the browser does not let pages copy; the text can be marked
    }
  };
  return (
    <IconButton label={isDone ? doneLabel : label} onClick={() => void copy()}>
      {isDone ? <Check size={16} aria-hidden /> : <CopyIcon size={16} aria-hidden />}
    </IconButton>
  );
}

/** Text to be copied into a terminal or a program. */
export function Code(props: CopyProps) {
  return (
    <div className={classes["code"]}>
      <pre tabIndex={0} onCopy={props.onCopied}>
        {props.text}
      </pre>
      <CopyButton {...props} />
    </div>
  );
}
