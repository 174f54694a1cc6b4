/**
 * A window over the page: everything else is inert meanwhile, but for what is marked `data-over`, such as toasts. The focus
 * starts at its first control, and goes back to where it was (WAI-ARIA, modal dialog pattern).
 */
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { createPortal } from "react-dom";

const FOCUSABLE = ["a[href]", "button", "input", "select", "textarea", "summary", "[tabindex]"]
  .map((kind) => `${kind}:not(:disabled, [tabindex="-1"], [type="hidden"])`)
  .join(", ");

interface ModalProps {
  /** `alertdialog`: a question, which a click beside it does not close. */
  readonly role?: "dialog" | "alertdialog";
  readonly label?: string;
  /** Id of what names it, and of what describes it. */
  readonly labelledBy?: string;
  readonly describedBy?: string;
  readonly className: string | undefined;
  readonly backdropClassName: string | undefined;
  /** Esc, or a click beside it. */
  readonly onDismiss: () => void;
  /** A click beside it does not dismiss it. */
  readonly isKept?: boolean;
  readonly children: ReactNode;
}

/** It is open as long as it is drawn. */
export function Modal(props: ModalProps) {
  const { role = "dialog", label, labelledBy, describedBy, className, backdropClassName, children } = props;
  const box = useRef<HTMLDivElement>(null);
  const backdrop = useRef<HTMLDivElement>(null);
  const popup = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  useLayoutEffect(() => {
    latest.current = props;
  });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const before = document.activeElement;
    open(element);
    if (popup.current?.contains(document.activeElement) === false)
      (popup.current.querySelector<HTMLElement>(FOCUSABLE) ?? popup.current).focus({ preventScroll: true });
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.isComposing || event.defaultPrevented || windows.at(-1) !== element) return;
      event.preventDefault();
      latest.current.onDismiss();
    };
    const onClick = ({ target }: MouseEvent): void => {
      const { role: kind, isKept = kind === "alertdialog", onDismiss } = latest.current;
      if (target === backdrop.current && !isKept) onDismiss();
    };
    element.addEventListener("click", onClick);
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onKey);
      close(element);
      // once all windows that end together are gone
      queueMicrotask(() => {
        const isNowhere = document.activeElement === null || document.activeElement === document.body;
        if (isNowhere && before instanceof HTMLElement) before.focus({ preventScroll: true });
      });
    };
  }, []);
  return createPortal(
    <div ref={box}>
      <div ref={backdrop} className={backdropClassName} />
      {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles support it */}
      <div
        ref={popup}
        role={role}
        aria-modal
        tabIndex={-1}
        aria-label={label}
        aria-labelledby={labelledBy}
        aria-describedby={describedBy}
        className={className}
      >
        {children}
      </div>
    </div>,
    document.body,
  );
}

/** The windows that are open, the one on top last. */
const windows: Element[] = [];

function open(element: Element): void {
  const { style, clientWidth } = document.documentElement;
  if (windows.length === 0) {
    // The page must not move when its scroll bar goes.
    style.scrollbarGutter = innerWidth > clientWidth ? "stable" : "";
    style.overflow = "hidden";
  }
  windows.push(element);
  leaveTopAlone();
}

function close(element: Element): void {
  windows.splice(windows.indexOf(element), 1);
  leaveTopAlone();
  if (windows.length > 0) return;
  document.documentElement.style.scrollbarGutter = "";
  document.documentElement.style.overflow = "";
}

function leaveTopAlone(): void {
  const top = windows.at(-1);
  for (const child of document.body.children)
    if (child instanceof HTMLElement && !child.hasAttribute("data-over"))
      child.inert = top !== undefined && child !== top;
}
