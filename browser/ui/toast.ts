/** Says what happened, at the corner of the page. What shows it (toasts.tsx) is loaded apart from the pages. */
import { useSyncExternalStore } from "react";

interface ToastText {
  /** What happened, and to what. */
  readonly title: string;
  readonly detail?: string | undefined;
  readonly tone?: "good" | "warn" | "bad";
  /** Something to do about it, such as taking it back. */
  readonly action?: { readonly label: string; readonly onPress: () => void } | undefined;
}

export interface ShownToast extends ToastText {
  readonly id: number;
}

/** The newest first. */
let shown: readonly ShownToast[] = [];
let count = 0;
const listeners = new Set<() => void>();

function show(next: readonly ShownToast[]): void {
  shown = next;
  for (const listener of listeners) listener();
}

/** Shows a toast; it is read out at once when something failed. */
export function toast(said: ToastText): void {
  count += 1;
  show([{ ...said, id: count }, ...shown]);
}

export function closeToast(id: number): void {
  show(shown.filter((one) => one.id !== id));
}

/** The toasts that are shown. */
export function useShownToasts(): readonly ShownToast[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => shown,
  );
}
