import { AlertDialog } from "@base-ui/react/alert-dialog";
import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type ReactNode, useContext, useState } from "react";
import { Button, IconButton } from "./button.tsx";
import { classNames } from "./class-names.ts";
import classes from "./dialog.module.css";
import { UnsavedContext, type UnsavedScope, UnsavedTexts } from "./unsaved.tsx";

export interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  /** What the cross is called. */
  readonly closeLabel: string;
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
  isOpen,
  onClose,
  title,
  closeLabel,
  children,
  footer,
  place = "middle",
  isKept = false,
}: DialogProps) {
  const parent = useContext(UnsavedContext);
  const question = useContext(UnsavedTexts);
  const [scope] = useState<UnsavedScope>(() => ({ forms: new Set(), parent }));
  const [isAsking, setAsking] = useState(false);
  const close = (): void => {
    if (scope.forms.size > 0) setAsking(true);
    else onClose();
  };
  return (
    <BaseDialog.Root open={isOpen} onOpenChange={(open) => !open && close()} disablePointerDismissal={isKept}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={classes["backdrop"]} />
        <BaseDialog.Popup className={classNames(classes["popup"], classes[place])}>
          <header className={classes["header"]}>
            <BaseDialog.Title className={classes["title"]}>{title}</BaseDialog.Title>
            <BaseDialog.Close render={<IconButton label={closeLabel} />}>
              <X size={16} aria-hidden />
            </BaseDialog.Close>
          </header>
          <div className={classes["body"]}>
            <UnsavedContext value={scope}>{children}</UnsavedContext>
          </div>
          {footer !== undefined && <footer className={classes["footer"]}>{footer}</footer>}
          <ConfirmWindow
            isOpen={isAsking}
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
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

export interface ConfirmProps {
  readonly isOpen: boolean;
  readonly onCancel: () => void;
  readonly onConfirm: () => void;
  readonly title: ReactNode;
  /** What will happen, in words. */
  readonly children: ReactNode;
  readonly confirmLabel: string;
  readonly cancelLabel: string;
  readonly isBusy?: boolean;
}

/** Asks before something that cannot be taken back. */
export function ConfirmWindow({
  isOpen,
  onCancel,
  onConfirm,
  title,
  children,
  confirmLabel,
  cancelLabel,
  isBusy = false,
}: ConfirmProps) {
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && onCancel()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={classes["backdrop"]} />
        <AlertDialog.Popup className={classNames(classes["popup"], classes["middle"])}>
          <header className={classes["header"]}>
            <AlertDialog.Title className={classes["title"]}>{title}</AlertDialog.Title>
          </header>
          <AlertDialog.Description render={<div />} className={classes["body"]}>
            {children}
          </AlertDialog.Description>
          <footer className={classes["footer"]}>
            <AlertDialog.Close render={<Button />}>{cancelLabel}</AlertDialog.Close>
            <Button tone="danger" isBusy={isBusy} onClick={onConfirm}>
              {confirmLabel}
            </Button>
          </footer>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
