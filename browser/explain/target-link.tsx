/** A link to where a sentence leads. */
import { Link, type LinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { LinkTarget } from "./link-target.ts";

/** The text as a link; the text alone when it leads nowhere. */
export function TargetLink({ target, children }: { readonly target: LinkTarget | null; readonly children: ReactNode }) {
  return target === null ? children : <Link {...(target as LinkProps)}>{children}</Link>;
}
