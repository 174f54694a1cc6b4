import { X } from "lucide-react";
import { type FocusEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { commonText } from "../messages/common.ts";
import { IconButton } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { closeToast, type ShownToast, useShownToasts } from "./toast.ts";
import classes from "./toasts.module.css";

const SEEN_MS = 6000;

interface ToastsProps {
  /** What the place is called, and the cross of each toast. */
  readonly label: string;
}

/**
 * Where toasts appear; once on a page. They stay while the pointer or the focus is among them, and while nobody looks at the
 * window. F6 moves the focus to them.
 */
export function Toasts({ label }: ToastsProps) {
  const toasts = useShownToasts();
  const place = useRef<HTMLElement>(null);
  const before = useRef<Element | null>(null);
  const [holds, setHolds] = useState({ pointer: false, focus: false, window: !document.hasFocus() });
  const hold = (held: Partial<typeof holds>): void => setHolds((now) => ({ ...now, ...held }));
  const isEmpty = toasts.length === 0;

  useEffect(() => {
    const onWindow = (): void => setHolds((now) => ({ ...now, window: !document.hasFocus() }));
    window.addEventListener("focus", onWindow);
    window.addEventListener("blur", onWindow);
    return () => {
      window.removeEventListener("focus", onWindow);
      window.removeEventListener("blur", onWindow);
    };
  }, []);
  useEffect(() => {
    // what held them may have gone with the last one, without a word of its leaving
    if (isEmpty) setHolds((now) => ({ ...now, pointer: false, focus: false }));
    const onKey = (event: globalThis.KeyboardEvent): void => {
      if (isEmpty || event.key !== "F6") return;
      event.preventDefault();
      place.current?.focus({ preventScroll: true });
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [isEmpty]);

  const onFocus = ({ target, relatedTarget, currentTarget }: FocusEvent): void => {
    if (relatedTarget instanceof Element && !currentTarget.contains(relatedTarget)) before.current = relatedTarget;
    // a click among them leaves the focus there, and must not hold them for good
    if (target.matches(":focus-visible")) hold({ focus: true });
  };
  const close = (id: number): void => {
    const hadFocus = place.current?.contains(document.activeElement) === true;
    closeToast(id);
    if (hadFocus && before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
  };
  return createPortal(
    <section
      ref={place}
      data-over=""
      tabIndex={-1}
      aria-label={label}
      aria-live="polite"
      className={classes["viewport"]}
      onMouseEnter={() => hold({ pointer: true })}
      onMouseLeave={() => hold({ pointer: false })}
      onFocus={onFocus}
      onBlur={() => hold({ focus: false })}
    >
      {toasts.map((one) => (
        <OneToast
          key={one.id}
          toast={one}
          isHeld={holds.pointer || holds.focus || holds.window}
          onClose={() => close(one.id)}
        />
      ))}
    </section>,
    document.body,
  );
}

interface OneToastProps {
  readonly toast: ShownToast;
  readonly isHeld: boolean;
  readonly onClose: () => void;
}

function OneToast({ toast, isHeld, onClose }: OneToastProps) {
  const { id, title, detail, tone = "good", action } = toast;
  useEffect(() => {
    if (isHeld) return;
    const timer = setTimeout(closeToast, tone === "bad" ? 2 * SEEN_MS : SEEN_MS, id);
    return () => clearTimeout(timer);
  }, [id, tone, isHeld]);
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    onClose();
  };
  return (
    <article aria-label={title} className={classNames(classes["toast"], classes[tone])} onKeyDown={onKey}>
      <div className={classes["content"]}>
        <div role={tone === "bad" ? "alert" : undefined}>
          <h2 className={classes["title"]}>{title}</h2>
          {detail !== undefined && <p className={classes["detail"]}>{detail}</p>}
        </div>
        {action !== undefined && (
          <button type="button" className={classes["action"]} onClick={action.onPress}>
            {action.label}
          </button>
        )}
      </div>
      <IconButton label={commonText("close")} onClick={onClose}>
        <X size={16} aria-hidden />
      </IconButton>
    </article>
  );
}
