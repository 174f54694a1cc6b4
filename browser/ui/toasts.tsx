import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import { useEffect } from "react";
import { IconButton } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { toastManager, toastsAreReady } from "./toast-manager.ts";
import classes from "./toasts.module.css";

/** Where toasts appear; once on a page. */
export function Toasts({ closeLabel }: { readonly closeLabel: string }) {
  // After the effect of the provider, which listens from then on.
  useEffect(toastsAreReady, []);
  return (
    <Toast.Provider toastManager={toastManager}>
      <Toast.Portal>
        <Toast.Viewport className={classes["viewport"]}>
          <Shown closeLabel={closeLabel} />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function Shown({ closeLabel }: { readonly closeLabel: string }) {
  const { toasts } = Toast.useToastManager();
  return toasts.map((one) => (
    <Toast.Root key={one.id} toast={one} className={classNames(classes["toast"], classes[one.type ?? "good"])}>
      <Toast.Content className={classes["content"]}>
        <Toast.Title className={classes["title"]} />
        <Toast.Description className={classes["detail"]} />
        <Toast.Action className={classes["action"]} />
      </Toast.Content>
      <Toast.Close render={<IconButton label={closeLabel} />}>
        <X size={16} aria-hidden />
      </Toast.Close>
    </Toast.Root>
  ));
}
