import { useBlocker } from "@tanstack/react-router";
import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import { Confirm } from "../ui/dialog.tsx";
import { hasUnsaved } from "../ui/unsaved.tsx";

const text = texts("shell", shellTexts);

/** Asks before another page, another tab, the back button or a reload takes away what is typed and not saved. */
export function UnsavedQuestion() {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next, action }) =>
      hasUnsaved() && (action === "BACK" || action === "FORWARD" || placeOf(current) !== placeOf(next)),
    enableBeforeUnload: hasUnsaved,
    withResolver: true,
  });
  return (
    <Confirm
      isOpen={blocker.status === "blocked"}
      onCancel={() => blocker.reset?.()}
      onConfirm={() => blocker.proceed?.()}
      title={text("unsavedTitle")}
      confirmLabel={text("unsavedDiscard")}
      cancelLabel={text("unsavedKeep")}
    >
      {text("unsavedText")}
    </Confirm>
  );
}

/** The page and its tab: what else an address says leaves the forms where they are. */
function placeOf({ pathname, search }: { readonly pathname: string; readonly search: object }): string {
  return `${pathname} ${"tab" in search ? search.tab : ""}`;
}
