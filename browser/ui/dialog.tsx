/** Windows over the page. What draws them is loaded when the first one opens. */
import { lazy, Suspense } from "react";
import type { ConfirmProps, DialogProps } from "./dialog-window.tsx";

const DialogWindow = lazy(async () => ({ default: (await import("./dialog-window.tsx")).DialogWindow }));
const ConfirmWindow = lazy(async () => ({ default: (await import("./dialog-window.tsx")).ConfirmWindow }));

/** A window over the page; Esc and a click beside it close it, and the focus goes back to where it was. */
export function Dialog(props: DialogProps) {
  return <Suspense fallback={null}>{props.isOpen && <DialogWindow {...props} />}</Suspense>;
}

/** Asks before something that cannot be taken back. */
export function Confirm(props: ConfirmProps) {
  return <Suspense fallback={null}>{props.isOpen && <ConfirmWindow {...props} />}</Suspense>;
}
