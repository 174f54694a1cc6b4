import { useBlocker } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { fieldsOf, textOf } from "../data/untyped.ts";
import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import { Confirm } from "../ui/dialog.tsx";
import { hasUnsaved, UnsavedTexts } from "../ui/unsaved.tsx";

const text = texts("shell", shellTexts);
const question = {
  title: text("unsavedTitle"),
  text: text("unsavedText"),
  discard: text("unsavedDiscard"),
  keep: text("unsavedKeep"),
};

/** The page, which asks before another page, another tab, the back button or a reload takes away what is typed and not saved. */
export function AskingBeforeLoss({ children }: { readonly children: ReactNode }) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next, action }) =>
      hasUnsaved() && (action === "BACK" || action === "FORWARD" || placeOf(current) !== placeOf(next)),
    enableBeforeUnload: hasUnsaved,
    withResolver: true,
  });
  return (
    <UnsavedTexts value={question}>
      {children}
      <Confirm
        isOpen={blocker.status === "blocked"}
        onCancel={() => blocker.reset?.()}
        onConfirm={() => blocker.proceed?.()}
        title={question.title}
        confirmLabel={question.discard}
        cancelLabel={question.keep}
      >
        {question.text}
      </Confirm>
    </UnsavedTexts>
  );
}

/** The page and its tab: what else an address says leaves the forms where they are. */
function placeOf({ pathname, search }: { readonly pathname: string; readonly search: object }): string {
  return `${pathname} ${textOf(fieldsOf(search)["tab"]) ?? ""}`;
}
