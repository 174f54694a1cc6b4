/**
 * What is typed and not saved. Forms say so, and code that is about to remove a form asks first: a dialog about its own forms,
 * the router (shell/asking-before-loss.tsx) about all of the page.
 */
import { createContext, useContext, useLayoutEffect } from "react";

/** The forms within a part of the page that have something unsaved. */
export interface UnsavedScope {
  readonly forms: Set<symbol>;
  /** The part that this one lies in. */
  readonly parent: UnsavedScope | null;
}

const PAGE: UnsavedScope = { forms: new Set(), parent: null };

/** The part of the page that a form is in. */
export const UnsavedContext = createContext<UnsavedScope>(PAGE);

/** The words of the question; who draws the page gives them. */
export const UnsavedTexts = createContext({ title: "", text: "", discard: "", keep: "" });

/** True while anything on the page is unsaved. */
export function hasUnsaved(): boolean {
  return PAGE.forms.size > 0;
}

/** Says that something typed is not saved, for as long as that is so and the form is on the page. */
export function useUnsaved(isUnsaved: boolean): void {
  const scope = useContext(UnsavedContext);
  useLayoutEffect(() => {
    if (!isUnsaved) return;
    const form = Symbol();
    for (let at: UnsavedScope | null = scope; at !== null; at = at.parent) at.forms.add(form);
    return () => {
      for (let at: UnsavedScope | null = scope; at !== null; at = at.parent) at.forms.delete(form);
    };
  }, [isUnsaved, scope]);
}
