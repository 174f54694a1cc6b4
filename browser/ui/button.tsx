import type { ComponentProps, ReactNode } from "react";
import classes from "./button.module.css";
import { classNames } from "./class-names.ts";

interface ButtonProps extends ComponentProps<"button"> {
  /** `primary` once a view at most; `danger` for what takes something away. */
  readonly tone?: "primary" | "plain" | "quiet" | "danger";
  readonly icon?: ReactNode;
  /** True while what it began is under way: it cannot be pressed again. */
  readonly isBusy?: boolean;
}

/** A button with a text; it submits a form only with `type="submit"`. */
export function Button({ tone = "plain", icon, isBusy = false, className, children, disabled, ...rest }: ButtonProps) {
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
  children,
  className,
  ...rest
}: Omit<ComponentProps<"button">, "aria-label"> & { readonly label: string }) {
  return (
    <button type="button" {...rest} aria-label={label} title={label} className={classNames(classes["icon"], className)}>
      {children}
    </button>
  );
}
