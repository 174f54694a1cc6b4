import type { ReactNode } from "react";
import classes from "./badge.module.css";
import { classNames } from "./class-names.ts";

export type Tone = "neutral" | "accent" | "good" | "warn" | "bad";

/** A short state. Its text says what its colour says. */
export function Badge({ tone = "neutral", children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return <span className={classNames(classes["badge"], classes[tone])}>{children}</span>;
}
