import { X } from "lucide-react";
import { type ReactNode, useContext, useId, useState } from "react";
import { commonText } from "../messages/common.ts";
import { Button, IconButton } from "./button.tsx";
import { classNames } from "./class-names.ts";
import classes from "./dialog.module.css";
import { Modal } from "./modal.tsx";
import { UnsavedContext, type UnsavedScope, UnsavedTexts } from "./unsaved.tsx";

export interface DialogWindowProps {
  readonly onClose: () => void;
  readonly title: ReactNode;
  /** What the cross is called. */
  readonly children: ReactNode;
  /** Buttons, the one that continues at the right. */
  readonly footer?: ReactNode;
  /** `side`: at the right edge, over the whole height, for details of a row. */
  readonly place?: "middle" | "side";
  /** A click beside it does not close it: it shows what cannot be shown again. */
  readonly isKept?: boolean;
}

/** A window over the page. Esc and a click beside it close it, after a question when a form in it has something unsaved. */
export function DialogWindow({
  onClose,
  title,
  children,
  footer,
  place = "middle",
  isKept = false,
}: DialogWindowProps) {
  const parent = useContext(UnsavedContext);
  const question = useContext(UnsavedTexts);
  const [scope] = useState<UnsavedScope>(() => ({ forms: new Set(), parent }));
  const [isAsking, setAsking] = useState(false);
  const titleId = useId();
  const close = (): void => {
    if (scope.forms.size > 0) setAsking(true);
    else onClose();
  };
  return (
    <Modal
      labelledBy={titleId}
      className={classNames(classes["popup"], classes[place])}
      backdropClassName={classes["backdrop"]}
      isKept={isKept}
      onDismiss={close}
    >
      <header className={classes["header"]}>
        <h2 id={titleId} className={classes["title"]}>
          {title}
        </h2>
        <IconButton label={commonText("close")} onClick={close}>
          <X size={16} aria-hidden />
        </IconButton>
      </header>
      <div className={classes["body"]}>
        <UnsavedContext value={scope}>{children}</UnsavedContext>
      </div>
      {footer !== undefined && <footer className={classes["footer"]}>{footer}</footer>}
      {isAsking && (
        <ConfirmWindow
          onCancel={() => setAsking(false)}
          onConfirm={() => {
            setAsking(false);
            onClose();
          }}
          title={question.title}
          confirmLabel={question.discard}
          cancelLabel={question.keep}
        >
          {question.text}
        </ConfirmWindow>
      )}
    </Modal>
  );
}

export interface ConfirmWindowProps {
  readonly onCancel: () => void;
  readonly onConfirm: () => void;
  readonly title: ReactNode;
  /** What will happen, in words. */
  readonly children: ReactNode;
  readonly confirmLabel: string;
  /** Absent: "Cancel". */
  readonly cancelLabel?: string;
  readonly isBusy?: boolean;
}

/** Asks before something that cannot be taken back. */
export function ConfirmWindow({
  onCancel,
  onConfirm,
  title,
  children,
  confirmLabel,
  cancelLabel = commonText("cancel"),
  isBusy = false,
}: ConfirmWindowProps) {
  const titleId = useId();
  const bodyId = useId();
  return (
    <Modal
      role="alertdialog"
      labelledBy={titleId}
      describedBy={bodyId}
      className={classNames(classes["popup"], classes["middle"])}
      backdropClassName={classes["backdrop"]}
      onDismiss={onCancel}
    >
      <header className={classes["header"]}>
        <h2 id={titleId} className={classes["title"]}>
          {title}
        </h2>
      </header>
      <div id={bodyId} className={classes["body"]}>
        {children}
      </div>
      <footer className={classes["footer"]}>
        <Button onClick={onCancel}>{cancelLabel}</Button>
        <Button tone="danger" isBusy={isBusy} onClick={onConfirm}>
          {confirmLabel}
        </Button>
      </footer>
    </Modal>
  );
}
