import { type ReactNode, useState } from "react";
import type { ReadPath } from "../../data/reads.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { type Answered, useAnnouncedWrite } from "./use-announced-write.ts";

interface DeleteButtonProps {
  readonly label: string;
  /** The button that changes nothing; absent: "Cancel". */
  readonly cancelLabel?: string;
  /** The question, such as "Delete the key web?". */
  readonly title: string;
  readonly send: () => Answered;
  readonly touches: readonly ReadPath[];
  /** The read of what is deleted, where it has one. */
  readonly ends?: ReadPath;
  /** That it is gone, in words. */
  readonly done: string;
  /** That it is still there; why is added. */
  readonly failed: string;
  readonly onDeleted?: () => void;
  /** What goes with it. */
  readonly children: ReactNode;
}

/** Deletes something for good after a question, which stays open when it fails. */
export function DeleteButton({
  label,
  cancelLabel,
  title,
  send,
  touches,
  ends,
  done,
  failed,
  onDeleted,
  children,
}: DeleteButtonProps) {
  const [isAsked, setAsked] = useState(false);
  const write = useAnnouncedWrite<null>({
    send,
    touches,
    ...(ends === undefined ? {} : { ends }),
    done: () => done,
    failed: () => failed,
    onDone: () => {
      setAsked(false);
      onDeleted?.();
    },
  });
  return (
    <>
      <Button writes tone="danger" onClick={() => setAsked(true)}>
        {label}
      </Button>
      <Confirm
        isOpen={isAsked}
        onCancel={() => setAsked(false)}
        onConfirm={() => write.run(null)}
        title={title}
        confirmLabel={label}
        {...(cancelLabel === undefined ? {} : { cancelLabel })}
        isBusy={write.isBusy}
      >
        {children}
      </Confirm>
    </>
  );
}
