import type { ComponentProps, ReactNode } from "react";
import classes from "./button.module.css";
import { classNames } from "./class-names.ts";
import { useReadOnly } from "./read-only.ts";

interface ButtonProps extends ComponentProps<"button"> {
  /** `primary` once a view at most; `danger` for what takes something away. */
  readonly tone?: "primary" | "plain" | "quiet" | "danger";
  readonly icon?: ReactNode;
  /** True while what it began is under way: it cannot be pressed again. */
  readonly isBusy?: boolean;
  /** It changes something, or costs something: who can only read has no such button. */
  readonly writes?: boolean;
}

/** A button with a text; it submits a form only with `type="submit"`. */
export function Button({
  tone = "plain",
  icon,
  isBusy = false,
  writes = false,
  className,
  children,
  disabled,
  ...rest
}: ButtonProps) {
  const isReadOnly = useReadOnly();
  if (writes && isReadOnly) return null;
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled === true || isBusy}
      aria-busy={isBusy || undefined}
      className={classNames(classes["button"], classes[tone], className)}
    >
      {icon}
      {children}
    </button>
  );
}

/** A button that is a picture; its name is read out and shown on hover. */
export function IconButton({
  label,
  writes = false,
  children,
  className,
  ...rest
}: Omit<ComponentProps<"button">, "aria-label"> & { readonly label: string } & Pick<ButtonProps, "writes">) {
  const isReadOnly = useReadOnly();
  if (writes && isReadOnly) return null;
  return (
    <button type="button" {...rest} aria-label={label} title={label} className={classNames(classes["icon"], className)}>
      {children}
    </button>
  );
}
