import type { ReactNode } from "react";
import classes from "./badge.module.css";
import { classNames } from "./class-names.ts";
import { StateIcon } from "./state-icon.tsx";

export type Tone = "neutral" | "accent" | "good" | "warn" | "bad";

/** A short state. Its text says what its colour and its icon say. */
export function Badge({ tone = "neutral", children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return (
    <span className={classNames(classes["badge"], classes[tone])}>
      <StateIcon tone={tone} />
      {children}
    </span>
  );
}
