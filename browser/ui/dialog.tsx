/** Windows over the page. What draws them is loaded when the first one opens. */
import { lazy, Suspense } from "react";
import type { ConfirmWindowProps, DialogWindowProps } from "./dialog-window.tsx";

const DialogWindow = lazy(async () => ({ default: (await import("./dialog-window.tsx")).DialogWindow }));
const ConfirmWindow = lazy(async () => ({ default: (await import("./dialog-window.tsx")).ConfirmWindow }));

interface Opens {
  readonly isOpen: boolean;
}

/** A window over the page; Esc and a click beside it close it, and the focus goes back to where it was. */
export function Dialog({ isOpen, ...props }: DialogWindowProps & Opens) {
  return <Suspense fallback={null}>{isOpen && <DialogWindow {...props} />}</Suspense>;
}

/** Asks before something that cannot be taken back. */
export function Confirm({ isOpen, ...props }: ConfirmWindowProps & Opens) {
  return <Suspense fallback={null}>{isOpen && <ConfirmWindow {...props} />}</Suspense>;
}
