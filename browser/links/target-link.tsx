import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { LinkTarget } from "../explain/link-target.ts";
import { pageTexts } from "../messages/en/pages.ts";
import { texts } from "../messages/texts.ts";
import { classNames } from "../ui/class-names.ts";
import classes from "./target-link.module.css";

const pageText = texts("pages", pageTexts);

type PageName = Exclude<FirstPart<LinkTarget["to"]>, `$${string}`>;
type FirstPart<P extends string> = P extends `/${infer First}/${string}`
  ? First
  : P extends `/${infer Only}`
    ? Only
    : never;

interface TargetLinkProps {
  readonly target: LinkTarget;
  readonly children: ReactNode;
  readonly className?: string | undefined;
  /** Read out in place of the text, where that says too little alone. */
  readonly label?: string;
  /** Looks like a button, at the end of what it is about. */
  readonly isButton?: boolean;
}

/** A link to the view that explains something, or where it can be changed. A page takes of its parameters what it knows. */
export function TargetLink({ target, children, className, label, isButton = false }: TargetLinkProps) {
  return (
    <Link
      to={target.to as string}
      params={target.params}
      search={target.search}
      aria-label={label}
      className={classNames(className, isButton && classes["button"])}
    >
      {children}
    </Link>
  );
}

/** The page that a target is on, or is part of, by its name in the navigation. */
export function targetName({ to }: LinkTarget): string {
  return pageText(to.split("/")[1] as PageName);
}
